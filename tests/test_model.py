from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from losslesscheck.errors import InputError
from losslesscheck.model import Model

HALF = Fraction(1, 2)


def test_float_rows_are_the_dyadic_rationals_that_they_are() -> None:
    row = np.array([0.1, 0.9])
    exact = Model(row[None, :]).exact(())
    assert sum(exact) == 1
    assert exact[0] / exact[1] == Fraction(0.1) / Fraction(0.9)


def test_table_gives_every_context_its_own_row() -> None:
    rows = [[Fraction(i, 10), 1 - Fraction(i, 10)] for i in range(7)]
    model = Model.table(rows)
    contexts = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    assert [model.exact(c)[0] for c in contexts] == [Fraction(i, 10) for i in range(7)]


def test_index_works_on_lanes() -> None:
    model = Model.table([[HALF, HALF]] * 7)
    lanes = (np.array([0, 1, 1]), np.array([1, 0, 1]))
    assert model.index(lanes).tolist() == [model.index((a, b)) for a, b in [(0, 1), (1, 0), (1, 1)]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0.5, 0.5], [0.5, np.nan]], r"target\[1, 1\] = nan is not a number"),
        ([[1.5, -0.5]], r"target\[0, 1\] = -0.5 is negative"),
        ([[np.inf, 0.0]], r"target\[0, 0\] = inf is infinite"),
        ([[0.5, 0.25]], r"target\[0\] sums to 0.75, not to 1"),
        ([[]], r"non-empty array of shape"),
    ],
    ids=["nan", "negative", "infinite", "sum", "empty"],
)
def test_bad_float_rows_are_named(rows: list[list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Model(np.array(rows), name="target")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[HALF, HALF], [HALF, Fraction(1, 3)]], r"draft\[1\] sums to 5/6, not to 1"),
        ([[Fraction(3, 2), -HALF]], r"draft\[0, 1\] = -1/2 is negative"),
        ([[HALF, HALF], [Fraction(1)]], r"draft\[1\] has 1 entries, draft\[0\] has 2"),
    ],
    ids=["sum", "negative", "length"],
)
def test_bad_exact_rows_are_named(rows: list[list[Fraction]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Model(rows, name="draft")
