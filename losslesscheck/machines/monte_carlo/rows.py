"""Distinct vectors that lanes choose among, and what has been computed of them.

Most lanes share their vectors: all of them, if the model has one row for a context. Every operation
is therefore done on distinct rows, never lane by lane, and remembered on its operand, so that the
replays of a rule and the batches of a run do not repeat it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import RuleError
from losslesscheck.machines.monte_carlo.sampler import Table

FloatArray = npt.NDArray[np.float64]

REMEMBERED = 256
"""How many results a matrix remembers; beyond that they are computed anew."""

NEGLIGIBLE = 1e-9
"""An entry below zero by no more than this is rounding."""

NOISE = 1e-14
"""A difference of two vectors this small against its operands is rounding, and is taken as zero.

Without it the residual of a draft that equals its target would keep a mass of 1e-17 and be drawn
from, where in exact arithmetic it is 0/0.
"""


class Rows:
    """A matrix of shape [R, V].

    Attributes:
        lasting: it lives as long as the run, so results that involve it may be remembered on others
            that do.
    """

    def __init__(self, matrix: FloatArray, lasting: bool = False) -> None:
        self.matrix = matrix
        self.lasting = lasting
        self.count, self.vocabulary = matrix.shape
        self._memory: dict[Hashable, Any] = {}

    def remember(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """``compute()``, which is called once for every ``key``."""
        if key in self._memory:
            return self._memory[key]
        value = compute()
        if len(self._memory) >= REMEMBERED:
            return value
        # Threads may compute the same value at the same time; all of them go on with the first.
        return self._memory.setdefault(key, value)

    def derive(self, key: Hashable, compute: Callable[[FloatArray], FloatArray]) -> Rows:
        """The rows of ``compute(matrix)``, remembered under ``key``."""
        lasting = self.lasting and len(self._memory) < REMEMBERED
        rows: Rows = self.remember(key, lambda: Rows(compute(self.matrix), lasting))
        return rows

    def row(self, number: int) -> Rows:
        """One row, as rows of their own."""
        if self.count == 1:
            return self
        # Models may have more rows than results are remembered, and all of them are asked for again.
        key = ("row", number)
        if key not in self._memory:
            self._memory.setdefault(key, Rows(self.matrix[number : number + 1], self.lasting))
        found: Rows = self._memory[key]
        return found

    @property
    def sums(self) -> FloatArray:
        """The sum of every row, shape [R]."""
        sums: FloatArray = self.remember("sums", lambda: self.matrix.sum(axis=1))
        return sums

    @property
    def table(self) -> Table:
        """The table to draw from."""
        table: Table = self.remember("table", lambda: Table(self.matrix))
        return table

    @property
    def sound(self) -> npt.NDArray[np.bool_]:
        """Which rows are distributions up to rounding, shape [R]."""

        def check() -> npt.NDArray[np.bool_]:
            negative = self.matrix.min(axis=1) < -NEGLIGIBLE
            good: npt.NDArray[np.bool_] = (np.abs(self.sums - 1) <= 1e-6) & ~negative
            return good

        sound: npt.NDArray[np.bool_] = self.remember("sound", check)
        return sound

    def refuse(self, number: int) -> None:
        """Raises ``RuleError`` for a draw from row ``number``, saying what is wrong with it."""
        row = self.matrix[number]
        shown = ", ".join(f"{value:.4g}" for value in row[:6])
        why = (
            f"entry {int(row.argmin())} is {row.min():.6g}"
            if row.min() < -NEGLIGIBLE
            else f"it sums to {self.sums[number]:.9g}"
        )
        raise RuleError(
            f"the rule draws from ({shown}{', …' if len(row) > 6 else ''}), which is no distribution: {why}"
        )


def relu(matrix: FloatArray) -> FloatArray:
    """max(0, a) of every entry."""
    return np.maximum(matrix, 0.0)


def normalised(matrix: FloatArray) -> FloatArray:
    """Every row divided by its sum; rows without mass are left as they are.

    Raises:
        RuleError: if an entry is negative beyond rounding.
    """
    if (matrix < -NEGLIGIBLE).any():
        raise RuleError(f"the rule normalises a vector with a negative entry, {matrix.min():.3g}")
    sums = matrix.sum(axis=1, keepdims=True)
    scaled: FloatArray = matrix / np.where(sums == 0, 1.0, sums)
    return scaled


def difference(a: FloatArray, b: FloatArray) -> FloatArray:
    """a − b, with differences that are mere rounding set to zero (see ``NOISE``)."""
    result: FloatArray = a - b
    result[np.abs(result) <= NOISE * np.maximum(np.abs(a), np.abs(b))] = 0.0
    return result


def largest(matrix: FloatArray, count: int) -> npt.NDArray[np.intp]:
    """The tokens with the ``count`` largest entries of every row, ties by lower index: [R, count]."""
    if count == 1:
        first: npt.NDArray[np.intp] = np.argmax(matrix, axis=1)[:, None]
        return first
    order: npt.NDArray[np.intp] = np.argsort(-matrix, axis=1, kind="stable")
    return order[:, :count]
