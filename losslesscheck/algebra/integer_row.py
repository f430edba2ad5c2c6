"""Exact rows over large vocabularies: integers over one common denominator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError

Integers = npt.NDArray[np.object_]
"""An array of Python integers of any size."""

MANTISSA = 53


@dataclass(frozen=True, eq=False)
class IntegerRow:
    """A number for every token, ``numerators[t] / denominator``, not in lowest terms.

    Attributes:
        numerators: shape [V].
        denominator: positive.

    >>> row = IntegerRow.from_floats([0.5, 0.25, 0.25])
    >>> row[1], row.total
    (Fraction(1, 4), Fraction(1, 1))
    """

    numerators: Integers
    denominator: int

    @classmethod
    def from_floats(cls, row: npt.ArrayLike, name: str = "row") -> IntegerRow:
        """The floats (or integers) as the exact numbers that they are, divided by their exact sum.

        Raises:
            InputError: for an empty row, an entry that is NaN, infinite or negative, or no mass.
        """
        values = np.asarray(row)
        if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "fiu" or values.itemsize > 8:
            raise InputError(
                f"{name}: expected a row of V floats, got {values.dtype} of shape {values.shape}"
            )
        if values.dtype.kind == "f":
            values = values.astype(np.float64)
            for what, bad in (("not a number", np.isnan(values)), ("infinite", np.isinf(values))):
                if bad.any():
                    token = int(np.argmax(bad))
                    raise InputError(f"{name}[{token}] = {values[token]} is {what}")
        if (values < 0).any():
            token = int(np.argmax(values < 0))
            raise InputError(f"{name}[{token}] = {values[token]} is negative")
        numerators = _dyadic(values) if values.dtype.kind == "f" else values.astype(object)
        total = int(numerators.sum())
        if total == 0:
            raise InputError(f"{name}: all its {values.size} entries are zero")
        return cls(numerators, total)

    @classmethod
    def from_fractions(cls, row: Sequence[Fraction], name: str = "row") -> IntegerRow:
        """Fractions that are a distribution.

        Raises:
            InputError: if one is negative or they do not sum to one.
        """
        denominator = lcm(*(value.denominator for value in row))
        numerators = [value.numerator * (denominator // value.denominator) for value in row]
        for token, value in enumerate(row):
            if value < 0:
                raise InputError(f"{name}[{token}] = {value} is negative")
        if sum(numerators) != denominator:
            raise InputError(f"{name} sums to {Fraction(sum(numerators), denominator)}, not to 1")
        return cls(integers(numerators), denominator)

    def __len__(self) -> int:
        return len(self.numerators)

    def __getitem__(self, token: int) -> Fraction:
        return Fraction(int(self.numerators[token]), self.denominator)

    @property
    def total(self) -> Fraction:
        """The sum over the vocabulary."""
        return Fraction(int(self.numerators.sum()), self.denominator)

    def differences(self, other: IntegerRow) -> tuple[Integers, int]:
        """self − other, as numerators and their common denominator."""
        common = lcm(self.denominator, other.denominator)
        return (
            self.numerators * (common // self.denominator) - other.numerators * (common // other.denominator),
            common,
        )


def integers(values: Sequence[Any]) -> Integers:
    """The values as an array of Python integers."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _dyadic(values: npt.NDArray[np.float64]) -> Integers:
    """Integers in the proportions of the floats, exactly: every float is an integer times 2^k."""
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, MANTISSA).astype(np.int64)
    exponent = exponent.astype(np.int64) - MANTISSA
    trailing = np.frexp((mantissa & -mantissa).astype(np.float64))[1].astype(np.int64) - 1
    positive = mantissa != 0
    trailing[~positive] = 0
    exponent = exponent + trailing
    lowest = int(exponent[positive].min()) if positive.any() else 0
    shift = np.where(positive, exponent - lowest, 0)
    shifted: Integers = (mantissa >> trailing).astype(object) << shift.astype(object)
    return shifted
