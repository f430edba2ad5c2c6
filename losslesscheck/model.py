"""Language models as the checks need them: rows of next-token distributions and which one applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError

FloatArray = npt.NDArray[np.float64]


class Model:
    """A next-token distribution for every context.

    Args:
        rows: the distinct distributions, shape [R, V]: a float array, or a list of lists of
            ``Fraction``. Exact rows must sum to one, float rows to within 1e-5 (they are then
            divided by their sum).
        index: which row a context selects; called with a tuple of token indices, or with a tuple
            of equally long integer arrays (one entry a lane), and must work on both.
        name: how errors call the model (``target``, ``draft``).

    Raises:
        InputError: naming the entry that is NaN, infinite or negative, or the row whose sum is off.
    """

    def __init__(
        self,
        rows: npt.ArrayLike | Sequence[Sequence[Fraction]],
        index: Callable[[tuple[Any, ...]], Any] = lambda context: 0,
        name: str = "model",
    ) -> None:
        self.index = index
        self.name = name
        if not isinstance(rows, np.ndarray) and isinstance(rows[0][0], Fraction):  # type: ignore[index]
            self._exact: list[list[Fraction]] | None = [list(row) for row in rows]  # type: ignore[union-attr, arg-type]
            self.count, self.vocabulary = len(self._exact), len(self._exact[0])
            _check_exact(self._exact, name)
        else:
            self._exact = None
            self._floats = checked_rows(np.asarray(rows, dtype=np.float64), name)
            self.count, self.vocabulary = self._floats.shape

    @cached_property
    def floats(self) -> FloatArray:
        """All rows, float64, shape [R, V]."""
        if self._exact is None:
            scaled: FloatArray = self._floats / self._floats.sum(axis=1, keepdims=True)
            return scaled
        return np.array([[float(value) for value in row] for row in self._exact])

    def exact(self, context: tuple[int, ...]) -> list[Fraction]:
        """The row at a context, as exact fractions that sum to one."""
        number = int(self.index(context))
        if self._exact is None:
            row = [Fraction(value) for value in self._floats[number].tolist()]
            total = sum(row)
            return [value / total for value in row]
        return self._exact[number]

    @classmethod
    def constant(cls, row: Sequence[Fraction] | npt.ArrayLike, name: str = "model") -> Model:
        """The same distribution after every context."""
        return cls(cast(Any, [row]), name=name)

    @classmethod
    def table(cls, rows: Sequence[Sequence[Fraction]], name: str = "model") -> Model:
        """One row for every context up to some length, in order of length, then lexicographic.

        ``rows`` has 1 + V + V² + … entries.
        """
        vocabulary = len(rows[0])

        def index(context: tuple[Any, ...]) -> Any:
            number: Any = 0
            for token in context:
                number = number * vocabulary + token + 1
            return number

        return cls(rows, index, name)

    @classmethod
    def positions(cls, rows: npt.ArrayLike | Sequence[Sequence[Fraction]], name: str = "model") -> Model:
        """A distribution for every position, whatever the tokens before it; the last row goes on."""
        count = len(rows)  # type: ignore[arg-type]
        return cls(rows, lambda context: min(len(context), count - 1), name)


def checked_rows(rows: FloatArray, name: str) -> FloatArray:
    """Float rows [R, V] that are distributions up to rounding.

    Raises:
        InputError: naming array, index and value of the first bad entry or sum.
    """
    if rows.ndim != 2 or rows.size == 0:
        raise InputError(f"{name}: expected a non-empty array of shape [rows, V], got {rows.shape}")
    for what, bad in (("not a number", np.isnan(rows)), ("infinite", np.isinf(rows)), ("negative", rows < 0)):
        if bad.any():
            row, token = map(int, np.argwhere(bad)[0])
            raise InputError(f"{name}[{row}, {token}] = {rows[row, token]} is {what}")
    sums = rows.sum(axis=1)
    off = np.abs(sums - 1) > 1e-5
    if off.any():
        row = int(np.argmax(off))
        raise InputError(f"{name}[{row}] sums to {sums[row]:.6g}, not to 1")
    return rows


def _check_exact(rows: list[list[Fraction]], name: str) -> None:
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InputError(f"{name}[{number}] has {len(row)} entries, {name}[0] has {len(rows[0])}")
        for token, value in enumerate(row):
            if value < 0:
                raise InputError(f"{name}[{number}, {token}] = {value} is negative")
        if (total := sum(row)) != 1:
            raise InputError(f"{name}[{number}] sums to {total}, not to 1")
