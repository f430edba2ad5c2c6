"""Exact rows from floats."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from losslesscheck.algebra.integer_row import IntegerRow
from losslesscheck.errors import InputError


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_are_the_dyadic_rationals_that_they_are(dtype: Any) -> None:
    values = np.random.default_rng(3).exponential(size=200).astype(dtype)
    values[::7] = 0
    values[5] = np.finfo(dtype).smallest_subnormal
    values[6] = np.finfo(dtype).max / 4
    row = IntegerRow.from_floats(values)
    exact = [Fraction(value) for value in values.tolist()]
    assert [row[t] for t in range(len(row))] == [value / sum(exact) for value in exact]
    assert row.total == 1


def test_integers_are_weights() -> None:
    row = IntegerRow.from_floats(np.array([1, 0, 3]))
    assert [row[t] for t in range(3)] == [Fraction(1, 4), 0, Fraction(3, 4)]


def test_numerators_are_no_larger_than_need_be() -> None:
    assert IntegerRow.from_floats([0.5, 0.25, 0.25]).numerators.tolist() == [2, 1, 1]


def test_fractions_keep_their_values() -> None:
    chance = random.Random(1)
    weights = [chance.randint(0, 30) for _ in range(9)]
    exact = [Fraction(weight, sum(weights)) for weight in weights]
    row = IntegerRow.from_fractions(exact)
    assert [row[t] for t in range(9)] == exact


def test_differences_have_a_common_denominator() -> None:
    a = IntegerRow.from_fractions([Fraction(1, 2), Fraction(1, 2)])
    b = IntegerRow.from_fractions([Fraction(1, 3), Fraction(2, 3)])
    differences, denominator = a.differences(b)
    assert [Fraction(d, denominator) for d in differences] == [Fraction(1, 6), Fraction(-1, 6)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, float("nan")], r"p\[1\] = nan is not a number"),
        ([0.5, float("inf")], r"p\[1\] = inf is infinite"),
        ([1.5, -0.5], r"p\[1\] = -0.5 is negative"),
        ([0.0, 0.0], "p: all its 2 entries are zero"),
        ([], "p: expected a row of V floats"),
        ([[1.0]], "p: expected a row of V floats"),
        (["a"], "p: expected a row of V floats"),
        (np.array([1.0], dtype=np.complex128), "p: expected a row of V floats"),
    ],
)
def test_bad_rows_are_named(row: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        IntegerRow.from_floats(row, "p")
