"""Numbers, vectors and tokens as the any-vocabulary machine hands them to a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NoReturn

from losslesscheck.algebra.field import Rational
from losslesscheck.errors import Undecided
from losslesscheck.machines.any_vocabulary.decisions import Entries


class Number:
    """A rational function; comparing it asks the machine for the branch."""

    __slots__ = ("m", "value")

    def __init__(self, m: Any, value: Rational) -> None:
        self.m, self.value = m, value

    def _with(self, other: Any, operation: Callable[[Rational, Rational], Rational]) -> Any:
        b = rational(self.m, other)
        return NotImplemented if b is None else Number(self.m, operation(self.value, b))

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: b - a)

    def __neg__(self) -> Number:
        return Number(self.m, -self.value)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, self.m.divide)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: self.m.divide(b, a))

    def _compare(self, other: Any, ask: Callable[[Rational, Rational], bool]) -> Any:
        b = rational(self.m, other)
        return NotImplemented if b is None else ask(self.value, b)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: self.m.less(a, b, strict=True))

    def __le__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: self.m.less(a, b, strict=False))

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: self.m.less(b, a, strict=True))

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, lambda a, b: self.m.less(b, a, strict=False))

    def __eq__(self, other: object) -> Any:
        equal = self._compare(other, self.m.equal)
        if equal is NotImplemented and other is not None:
            raise Undecided(f"the rule compares {self} with {other!r}, which is no number")
        return equal

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return not self.m.equal(self.value, self.m.field.zero)

    def __str__(self) -> str:
        return str(self.value)


def rational(m: Any, number: Any) -> Rational | None:
    """The number as an element of the machine's field; ``None`` if it is none."""
    if isinstance(number, Number):
        return number.value
    if isinstance(number, (int, Fraction)):
        constant: Rational = m.field.constant(number)
        return constant
    return None


class Token:
    """A token; different names are different tokens."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Token):
            return self.name == other.name
        if isinstance(other, Tried):
            raise Undecided("the rule asks whether a token was tried before")
        if other is None:
            return False
        raise Undecided(f"the rule compares a token with {other!r}: it names a token of the vocabulary")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise Undecided("the rule asks for the truth value of a token: it depends on its index")

    def _order(self, other: object) -> NoReturn:
        raise Undecided("the rule uses the order of tokens")

    __lt__ = __le__ = __gt__ = __ge__ = _order

    def __repr__(self) -> str:
        return f"token {self.name}"


class Tried:
    """Stands for tokens tried before, of which nothing is known."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        raise Undecided("the rule compares the tokens tried before")

    __hash__ = None  # type: ignore[assignment]


class History:
    """The tokens tried before, as many as there may be: they can be handed on, not counted."""

    def __init__(self, parts: int) -> None:
        self._parts = tuple(Tried(f"h{i}") for i in range(parts))

    def __iter__(self) -> Iterator[Tried]:
        return iter(self._parts)

    def __add__(self, other: tuple[Token, ...]) -> tuple[Tried | Token, ...]:
        return (*self._parts, *other)

    def _refuse(self, *arguments: object) -> NoReturn:
        raise Undecided("the rule looks into the tokens tried before")

    __bool__ = __contains__ = __getitem__ = __eq__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class Vector:
    """A vector over an unknown vocabulary."""

    __slots__ = ("entries", "m")

    def __init__(self, m: Any, entries: Entries) -> None:
        self.m, self.entries = m, entries

    def __getitem__(self, token: Any) -> Number:
        if not isinstance(token, Token):
            raise Undecided(f"the rule asks for the entry at {token!r}: it names a token of the vocabulary")
        return Number(self.m, self.entries.entry(self.m.coordinates, token.name))

    def _with(self, other: Any, operation: Callable[[Rational, Rational], Rational]) -> Any:
        if not isinstance(other, Vector):
            return NotImplemented
        return Vector(self.m, self.entries.combine(other.entries, self.m.coordinates, operation))

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, factor: Any) -> Any:
        f = rational(self.m, factor)
        return NotImplemented if f is None else Vector(self.m, self.entries.map(lambda a: a * f))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        if (d := rational(self.m, divisor)) is None:
            return NotImplemented
        inverse = self.m.divide(self.m.field.one, d)
        return Vector(self.m, self.entries.map(lambda a: a * inverse))

    def _refuse(self, *arguments: object) -> NoReturn:
        raise Undecided("the rule goes through a vector entry by entry, or compares vectors")

    __bool__ = __contains__ = __iter__ = __eq__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def key(self) -> str:
        """A text that is the same for the same formulas."""
        at = "".join(f"; {t}: {v}" for t, v in sorted(self.entries.at.items()))
        return f"{self.entries.smooth}{at}"
