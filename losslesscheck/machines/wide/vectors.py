"""The vectors of the wide machine: one rational coefficient times an array of integers."""

from __future__ import annotations

from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from losslesscheck.algebra.integer_row import IntegerRow, Integers
from losslesscheck.errors import RuleError, Undecided
from losslesscheck.machines.wide.numbers import WideNumber, WideToken, aligned, once, scaled

if TYPE_CHECKING:
    from losslesscheck.machines.wide.machine import Wide


class WideVector:
    """A function of the token that does not depend on what was drawn: ``coefficient · integers``."""

    def __init__(self, m: Wide, coefficient: fmpq, integers: Integers) -> None:
        self.m, self.coefficient, self.integers = m, coefficient, integers

    @cached_property
    def total(self) -> fmpq:
        return self.coefficient * int(self.integers.sum())

    @cached_property
    def negative(self) -> bool:
        """Whether an entry is negative."""
        integers = self.integers if self.coefficient >= 0 else -self.integers
        return bool((integers < 0).any())

    def row(self) -> IntegerRow:
        """The vector with its denominator as an integer."""
        return IntegerRow(scaled(self.integers, int(self.coefficient.p)), int(self.coefficient.q))

    def check(self) -> None:
        """Raises ``RuleError`` unless the vector is a distribution."""
        if self.negative:
            raise RuleError("the rule draws from a vector with negative entries, which is no distribution")
        if self.total != 1:
            raise RuleError(f"the rule draws from a vector that sums to {float_text(self.total)}, not to 1")

    @once
    def __getitem__(self, token: Any) -> Any:
        if isinstance(token, WideToken):
            return WideNumber(self.m, token, self.coefficient, self.integers)
        return self.coefficient * int(self.integers[index(token)])

    @once
    def __add__(self, other: WideVector) -> WideVector:
        i, j, common = aligned(self.coefficient, other.coefficient)
        return WideVector(self.m, common, scaled(self.integers, i) + scaled(other.integers, j))

    @once
    def __sub__(self, other: WideVector) -> WideVector:
        i, j, common = aligned(self.coefficient, other.coefficient)
        return WideVector(self.m, common, scaled(self.integers, i) - scaled(other.integers, j))

    @once
    def minimum(self, other: WideVector) -> WideVector:
        i, j, common = aligned(self.coefficient, other.coefficient)
        return WideVector(self.m, common, np.minimum(scaled(self.integers, i), scaled(other.integers, j)))

    @once
    def positive_part(self) -> WideVector:
        if not self.negative:
            return self
        if self.coefficient < 0:
            return WideVector(self.m, -self.coefficient, np.maximum(-self.integers, 0))
        return WideVector(self.m, self.coefficient, np.maximum(self.integers, 0))

    def times(self, factor: fmpq) -> WideVector:
        """The vector times a number that depends on no token."""
        return WideVector(self.m, self.coefficient * factor, self.integers)

    @once
    def __mul__(self, factor: Any) -> WideVector:
        _refuse_token(factor)
        return self.times(factor)

    __rmul__ = __mul__

    @once
    def __truediv__(self, divisor: Any) -> WideVector:
        _refuse_token(divisor)
        return WideVector(self.m, self.coefficient / divisor, self.integers)

    @once
    def without(self, *tokens: Any) -> WideVector:
        if not tokens:
            return self
        integers = self.integers.copy()
        for token in tokens:
            _refuse_token(token)
            integers[index(token)] = 0
        return WideVector(self.m, self.coefficient, integers)


def float_text(value: fmpq) -> str:
    """A rational for a message: itself if it is short, else rounded."""
    text = str(value)
    return text if len(text) < 24 else f"{int(value.p) / int(value.q):.12g}"


def _refuse_token(value: Any) -> None:
    if isinstance(value, (WideToken, WideNumber)):
        raise Undecided("a vector depends on the token that was drawn")
