"""The values of the formula reading: sympy expressions, vectors as functions of a token's symbol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy

from losslesscheck.errors import Undecided

if TYPE_CHECKING:
    from losslesscheck.machines.formula import Formula


class Number:
    """A sympy expression whose comparisons decide a branch."""

    def __init__(self, m: Formula, value: Any) -> None:
        self.m, self.value = m, sympy.sympify(value)

    def _of(self, value: Any) -> Number:
        return Number(self.m, value)

    def __add__(self, other: Any) -> Number:
        return self._of(self.value + plain(other))

    def __sub__(self, other: Any) -> Number:
        return self._of(self.value - plain(other))

    def __rsub__(self, other: Any) -> Number:
        return self._of(plain(other) - self.value)

    def __mul__(self, other: Any) -> Any:
        return other * self if isinstance(other, Vector) else self._of(self.value * plain(other))

    def __truediv__(self, other: Any) -> Number:
        return self._of(self.value / plain(other))

    def __rtruediv__(self, other: Any) -> Number:
        return self._of(plain(other) / self.value)

    __radd__ = __add__
    __rmul__ = __mul__

    def __le__(self, other: Any) -> bool:
        return self.m.compare(self.value, plain(other))

    def __ge__(self, other: Any) -> bool:
        return self.m.compare(plain(other), self.value)

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __gt__(self, other: Any) -> bool:
        return not self <= other


def plain(value: Any) -> Any:
    """The sympy expression of a number."""
    return value.value if isinstance(value, Number) else sympy.sympify(value)


@dataclass(frozen=True)
class Vector:
    """A function of the token: ``at(symbol)``, and its sum over the vocabulary."""

    m: Formula
    at: Callable[[Any], Any]
    total: Any

    def __getitem__(self, token: Token) -> Number:
        return Number(self.m, self.at(token.symbol))

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.m, lambda z: self.at(z) + other.at(z), self.total + other.total)

    def __sub__(self, other: Vector) -> Vector:
        return Vector(self.m, lambda z: self.at(z) - other.at(z), self.total - other.total)

    def __mul__(self, factor: Any) -> Vector:
        c = plain(factor)
        return Vector(self.m, lambda z: self.at(z) * c, self.total * c)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Vector:
        c = plain(divisor)
        return Vector(self.m, lambda z: self.at(z) / c, self.total / c)


class Token:
    """A token, drawn (and summed over) or given; equality decides a branch."""

    def __init__(self, m: Formula, symbol: Any) -> None:
        self.m, self.symbol = m, symbol

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token) and self.m.meet(self.symbol, other.symbol)

    __hash__ = object.__hash__

    def __lt__(self, other: Token) -> bool:
        raise Undecided("it depends on the order of the tokens, which no sum expresses")


class Coin:
    """A uniform coin between two expressions; its comparisons narrow it."""

    def __init__(self, m: Formula) -> None:
        self.m, self.low, self.high = m, sympy.Integer(0), sympy.Integer(1)

    def __lt__(self, threshold: Any) -> bool:
        m, bound = self.m, plain(threshold)
        if not m.known(bound, self.low):
            bound = sympy.Max(self.low, bound)
        if not m.known(self.high, bound):
            bound = sympy.Min(self.high, bound)
        if m.choose():
            self.high = bound
            return True
        self.low = bound
        return False

    __le__ = __lt__
