"""The numbers of the wide machine: exact, for every token that a draw can give at once.

A number that depends on a drawn token is one rational coefficient times an array of integers,
divided by a second array where the rule divided by a probability. The second array goes away as soon
as the number meets the probability that it was divided by, which is told by identity. So no greatest
common divisor of single entries is ever taken.

Every operation answers the same operands with the same object: a rule that is run along several
paths repeats nothing, and the identity that divisions rely on is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import gcd
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt
from flint import fmpq

from losslesscheck.algebra.integer_row import Integers
from losslesscheck.errors import Undecided

if TYPE_CHECKING:
    from losslesscheck.machines.wide.machine import Wide


def once(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a method answer the same operands with the same object."""

    @wraps(operation)
    def remembered(self: Any, *operands: Any) -> Any:
        names = tuple(a if isinstance(a, (int, fmpq, str)) else (id(a),) for a in operands)
        key = (operation.__name__, id(self), names)
        known = self.m.known
        if key not in known:
            known[key] = (operation(self, *operands), self, operands)  # operands kept: ids stay theirs
        return known[key][0]

    return remembered


def aligned(a: fmpq, b: fmpq) -> tuple[int, int, fmpq]:
    """Integers i, j and g > 0 with a = i·g, b = j·g."""
    common = fmpq(gcd(int(a.p * b.q), int(b.p * a.q)), a.q * b.q)
    if common == 0:
        return 0, 0, fmpq(1)
    return int((a / common).p), int((b / common).p), common


def scaled(array: Integers, factor: int) -> Integers:
    """The array times the factor; the same array for a factor of one."""
    return array if factor == 1 else array * factor


class WideToken:
    """A drawn token: all tokens at once, each with its own probability."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, m: Wide) -> None:
        self.m = m

    def __eq__(self, other: object) -> bool:
        return self is other or self._decide("==", other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return self._decide("<", other)

    def __le__(self, other: Any) -> bool:
        return self._decide("<=", other)

    def __gt__(self, other: Any) -> bool:
        return self._decide(">", other)

    def __ge__(self, other: Any) -> bool:
        return self._decide(">=", other)

    def __bool__(self) -> bool:
        """Token 0 counts as false, as it does where tokens are plain integers."""
        return self != 0

    def _decide(self, comparison: str, other: Any) -> bool:
        if isinstance(other, WideToken):
            raise Undecided("the rule compares two drawn tokens")
        if comparison == "==" and not isinstance(other, int):
            return False
        tokens = np.arange(self.m.vocabulary)
        return self.m.split(self, COMPARISONS[comparison](tokens, index(other)))

    def __index__(self) -> NoReturn:
        raise Undecided("the rule uses a drawn token as a Python number")


COMPARISONS: dict[str, Callable[[Any, Any], npt.NDArray[np.bool_]]] = {
    "==": np.equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


class WideNumber:
    """A number that depends on one drawn token: ``coefficient · integers / divisors``.

    ``divisors`` is positive wherever the token has positive probability; ``None`` stands for ones.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        m: Wide,
        token: WideToken,
        coefficient: fmpq,
        integers: Integers,
        divisors: Integers | None = None,
    ) -> None:
        self.m, self.token, self.coefficient = m, token, coefficient
        self.integers, self.divisors = integers, divisors

    def _new(self, coefficient: fmpq, integers: Integers, divisors: Integers | None) -> WideNumber:
        return WideNumber(self.m, self.token, coefficient, integers, divisors)

    def common(self, other: Any) -> tuple[Any, Any, fmpq, Integers | None]:
        """Integers a, b, g > 0 and divisors d with self = g·a/d and other = g·b/d."""
        if not isinstance(other, WideNumber):
            i, j, common = aligned(self.coefficient, fmpq(other))
            scalar = j if self.divisors is None else scaled(self.divisors, j)
            return scaled(self.integers, i), scalar, common, self.divisors
        self._same_token(other)
        a, b, divisors = self.integers, other.integers, self.divisors
        if self.divisors is not other.divisors:
            if other.divisors is not None:
                a = a * other.divisors
            if self.divisors is not None:
                b = b * self.divisors
            divisors = _product(self.divisors, other.divisors)
        i, j, common = aligned(self.coefficient, other.coefficient)
        return scaled(a, i), scaled(b, j), common, divisors

    def _same_token(self, other: WideNumber) -> None:
        if self.token is not other.token:
            raise Undecided("a number depends on two drawn tokens at once")

    @once
    def __add__(self, other: Any) -> Any:
        if not isinstance(other, WideNumber) and other == 0:
            return self
        a, b, common, divisors = self.common(other)
        return self._new(common, a + b, divisors)

    __radd__ = __add__

    @once
    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, WideNumber) and other == 0:
            return self
        a, b, common, divisors = self.common(other)
        return self._new(common, a - b, divisors)

    @once
    def __rsub__(self, other: Any) -> Any:
        a, b, common, divisors = self.common(other)
        return self._new(common, b - a, divisors)

    @once
    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, WideNumber):
            return self if other == 1 else self._new(self.coefficient * other, self.integers, self.divisors)
        self._same_token(other)
        coefficient = self.coefficient * other.coefficient
        if self.divisors is not None and self.divisors is other.integers:
            return self._new(coefficient, self.integers, other.divisors)
        if other.divisors is not None and other.divisors is self.integers:
            return self._new(coefficient, other.integers, self.divisors)
        integers = self._times(self.integers, other.integers)
        return self._new(coefficient, integers, _product(self.divisors, other.divisors))

    def _times(self, a: Integers, b: Integers) -> Integers:
        if a is self.m.ones or b is self.m.ones:
            return b if a is self.m.ones else a
        product: Integers = a * b
        return product

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, WideNumber):
            self._same_token(other)
            other.m.require_nonzero(other)
            return self._quotient(other)
        return self if other == 1 else self * (1 / fmpq(other))

    def __rtruediv__(self, other: Any) -> Any:
        self.m.require_nonzero(self)
        return self._reciprocal() * other

    @once
    def _quotient(self, other: WideNumber) -> Any:
        if self.integers is other.integers and self.divisors is other.divisors:
            return self.coefficient / other.coefficient
        if self.divisors is not None and self.divisors is other.divisors:
            top = self._new(self.coefficient, self.integers, None)
            return top * self._new(other.coefficient, other.integers, None)._reciprocal()
        return self * other._reciprocal()

    @once
    def _reciprocal(self) -> WideNumber:
        over, integers = self.divisors, self.integers
        if (integers < 0).any():
            signs = np.where(integers < 0, -1, 1).astype(object)
            integers = integers * signs
            over = signs if over is None else over * signs
        ones = self.m.ones if over is None else over
        return self._new(1 / self.coefficient, ones, integers)

    @once
    def minimum(self, other: Any) -> WideNumber:
        a, b, common, divisors = self.common(other)
        return self._new(common, np.minimum(a, b), divisors)

    @once
    def positive_part(self) -> WideNumber:
        integers = self.integers if self.coefficient >= 0 else -self.integers
        if not (integers < 0).any():
            return self
        return self._new(abs(self.coefficient), np.maximum(integers, 0), self.divisors)

    def __lt__(self, other: Any) -> bool:
        return self.m.split(self.token, self.compare(other, "<"))

    def __le__(self, other: Any) -> bool:
        return self.m.split(self.token, self.compare(other, "<="))

    def __gt__(self, other: Any) -> bool:
        return self.m.split(self.token, self.compare(other, ">"))

    def __ge__(self, other: Any) -> bool:
        return self.m.split(self.token, self.compare(other, ">="))

    def __eq__(self, other: object) -> bool:
        return self.m.split(self.token, self.compare(other, "=="))

    def __ne__(self, other: object) -> bool:
        return not self == other

    @once
    def compare(self, other: Any, comparison: str) -> npt.NDArray[np.bool_]:
        """Token by token, where the token has positive probability."""
        a, b, _, _ = self.common(other)
        return COMPARISONS[comparison](a, b).astype(bool)

    def __bool__(self) -> bool:
        return self != 0

    def __float__(self) -> NoReturn:
        raise Undecided("the rule uses a number that depends on a drawn token as a Python float")


def _product(a: Integers | None, b: Integers | None) -> Integers | None:
    if a is None or b is None:
        return b if a is None else a
    product: Integers = a * b
    return product
