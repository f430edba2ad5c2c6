"""The field of rational functions Q(s₁, …, sₙ), in lowest terms, on python-flint's polynomials.

Values are hash-consed by operation: the same operation on the same objects returns the same object.
A rule that is replayed along many paths recomputes the same expressions; here that costs a look-up,
and two expressions that were derived alike can be compared by identity.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx


class FieldFull(BaseException):
    """All generators have names; start again with a field of more."""


class Field:
    """Rational functions in up to ``capacity`` symbols, which get their names as they are asked for.

    Attributes:
        names: the symbols so far, in order; later generators are spare.
        on_divide: called with every divisor, before the division.
        on_compare: called with (a, b, strict) for a < b or a <= b; returns the truth value.
    """

    def __init__(self, capacity: int) -> None:
        self.context = fmpq_mpoly_ctx.get(tuple(f"s{i}" for i in range(capacity)), Ordering.degrevlex)
        self.capacity = capacity
        self.names: list[str] = []
        self.on_divide: Callable[[Rational], None] = lambda divisor: None
        self.on_compare: Callable[[Rational, Rational, bool], bool] = _cannot_compare
        self._index: dict[str, int] = {}
        self._generators = self.context.gens()
        self._known: dict[tuple[Any, ...], Rational] = {}
        self._operands: list[Any] = []  # keeps operands alive, so that their ids stay unique
        self._one = self.context.constant(1)
        self.zero = self.constant(0)
        self.one = self.constant(1)

    def symbol(self, name: str) -> Rational:
        """The symbol of that name, made if need be.

        Raises:
            FieldFull: if no generator is left for a new name.
        """
        if name not in self._index:
            if len(self.names) == self.capacity:
                raise FieldFull
            self._index[name] = len(self.names)
            self.names.append(name)
        return self._intern(self._generators[self._index[name]], self._one, ("symbol", name))

    def index(self, name: str) -> int:
        """The number of the generator called ``name``."""
        return self._index[name]

    def constant(self, value: Fraction | int | fmpq) -> Rational:
        """A rational number as an element of the field."""
        if not isinstance(value, fmpq):
            value = fmpq(value.numerator, value.denominator)
        return self._intern(self.context.constant(value), self._one, ("constant", str(value)))

    def polynomial(self, numerator: fmpq_mpoly) -> Rational:
        """A polynomial of this field's context as an element of the field (not hash-consed)."""
        return Rational(self, numerator, self._one)

    def quotient(self, numerator: fmpq_mpoly, denominator: fmpq_mpoly) -> Rational:
        """numerator / denominator in lowest terms, the denominator's leading coefficient one."""
        if numerator.is_zero():
            return self.zero
        if not denominator.is_constant():
            common = numerator.gcd(denominator)
            if not common.is_one():
                numerator, denominator = divide(numerator, common), divide(denominator, common)
        return self._monic(numerator, denominator)

    def _monic(self, numerator: fmpq_mpoly, denominator: fmpq_mpoly) -> Rational:
        lead = denominator.leading_coefficient()
        if lead != 1:
            numerator, denominator = numerator / lead, denominator / lead
        return Rational(self, numerator, denominator)

    def _intern(self, numerator: fmpq_mpoly, denominator: fmpq_mpoly, key: tuple[Any, ...]) -> Rational:
        if key not in self._known:
            self._known[key] = Rational(self, numerator, denominator)
        return self._known[key]

    def once(self, operation: str, operands: tuple[Any, ...], compute: Callable[[], Rational]) -> Rational:
        """The result of ``operation`` on these very objects, computed the first time only."""
        key = (operation, *map(id, operands))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = compute()
            self._operands.append(operands)
        return found


class Rational:
    """An element of a ``Field``: ``numerator`` / ``denominator``, both ``fmpq_mpoly``, coprime."""

    __slots__ = ("denominator", "field", "numerator")

    def __init__(self, field: Field, numerator: fmpq_mpoly, denominator: fmpq_mpoly) -> None:
        self.field, self.numerator, self.denominator = field, numerator, denominator

    def is_zero(self) -> bool:
        return bool(self.numerator.is_zero())

    def is_constant(self) -> bool:
        return bool(self.numerator.is_constant() and self.denominator.is_constant())

    def same(self, other: Rational) -> bool:
        """Equality as rational functions."""
        return bool(self.numerator == other.numerator and self.denominator == other.denominator)

    def _coerce(self, other: Any) -> Rational | None:
        if isinstance(other, Rational):
            return other
        if isinstance(other, (int, Fraction, fmpq)):
            return self.field.constant(other)
        return None

    def __add__(self, other: Any) -> Rational:
        if (b := self._coerce(other)) is None:
            return NotImplemented
        return self.field.once("+", (self, b), lambda: self._add(b))

    def _add(self, b: Rational) -> Rational:
        if self.denominator == b.denominator:
            return self.field.quotient(self.numerator + b.numerator, self.denominator)
        return self.field.quotient(
            self.numerator * b.denominator + b.numerator * self.denominator,
            self.denominator * b.denominator,
        )

    __radd__ = __add__

    def __neg__(self) -> Rational:
        return self.field.once("-", (self,), lambda: Rational(self.field, -self.numerator, self.denominator))

    def __sub__(self, other: Any) -> Rational:
        if (b := self._coerce(other)) is None:
            return NotImplemented
        return self + (-b)

    def __rsub__(self, other: Any) -> Rational:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Rational:
        if (b := self._coerce(other)) is None:
            return NotImplemented
        return self.field.once("*", (self, b), lambda: self._multiply(b))

    def _multiply(self, b: Rational) -> Rational:
        if self.is_zero() or b.is_zero():
            return self.field.zero
        up_a, down_a, up_b, down_b = self.numerator, self.denominator, b.numerator, b.denominator
        if not down_b.is_constant() and not (common := up_a.gcd(down_b)).is_one():
            up_a, down_b = divide(up_a, common), divide(down_b, common)
        if not down_a.is_constant() and not (common := up_b.gcd(down_a)).is_one():
            up_b, down_a = divide(up_b, common), divide(down_a, common)
        return self.field._monic(up_a * up_b, down_a * down_b)

    __rmul__ = __mul__

    def inverse(self) -> Rational:
        """1 / self, without telling ``on_divide``."""
        if self.is_zero():
            raise ZeroDivisionError
        return self.field.once(
            "inverse", (self,), lambda: self.field._monic(self.denominator, self.numerator)
        )

    def __truediv__(self, other: Any) -> Rational:
        if (b := self._coerce(other)) is None:
            return NotImplemented
        if not b.is_constant():
            self.field.on_divide(b)
        return self * b.inverse()

    def __rtruediv__(self, other: Any) -> Rational:
        if (a := self._coerce(other)) is None:
            return NotImplemented
        quotient: Rational = a / self
        return quotient

    def __eq__(self, other: object) -> bool:
        """Identity; equality of numbers is no part of a rule's vocabulary, and would be a silent lie."""
        if self is other:
            return True
        if self._coerce(other) is None:
            return NotImplemented
        raise TypeError("numbers are compared with < and <=, not with ==")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("a number is no truth value; compare it with < or <=")

    def __lt__(self, other: Any) -> bool:
        return self._compare(self, other, True)

    def __le__(self, other: Any) -> bool:
        return self._compare(self, other, False)

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, self, True)

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, self, False)

    def _compare(self, a: Any, b: Any, strict: bool) -> bool:
        left, right = self._coerce(a), self._coerce(b)
        if left is None or right is None:
            raise TypeError(f"cannot compare {a!r} with {b!r}")
        difference = left - right
        if difference.is_constant():
            value = difference.numerator.leading_coefficient() if not difference.is_zero() else fmpq(0)
            return bool(value < 0 or (value == 0 and not strict))
        return self.field.on_compare(left, right, strict)

    def __str__(self) -> str:
        up = self.text(self.numerator)
        return up if self.denominator.is_one() else f"({up})/({self.text(self.denominator)})"

    def __repr__(self) -> str:
        return f"Rational({self})"

    def text(self, polynomial: fmpq_mpoly) -> str:
        """A polynomial of this field with the symbols' names: ``2*a*b**2 - 1/3``."""
        terms = []
        for exponents, coefficient in polynomial.to_dict().items():
            factors = [
                self.field.names[i] + (f"**{e}" if e > 1 else "") for i, e in enumerate(exponents) if e
            ]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            terms.append(("-" if coefficient < 0 else "+", "*".join(factors)))
        if not terms:
            return "0"
        first, rest = terms[0], terms[1:]
        return ("-" if first[0] == "-" else "") + first[1] + "".join(f" {s} {t}" for s, t in rest)


def divide(a: fmpq_mpoly, b: fmpq_mpoly) -> fmpq_mpoly:
    """The exact quotient of polynomials."""
    quotient, _ = divmod(a, b)
    return quotient


def _cannot_compare(a: Rational, b: Rational, strict: bool) -> bool:
    raise TypeError(f"cannot compare {a} with {b}")
