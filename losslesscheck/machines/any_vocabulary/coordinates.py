"""Vectors over a vocabulary that is not fixed: entries and sums as symbols of a field.

A vector is a formula for its entry at a placeholder token ``y``; its entry at another token is the same
formula with that token in the placeholder's stead. A sum over the vocabulary becomes one symbol per
monomial, with the sum of a distribution equal to one, so that nothing depends on the number of tokens.
A symbol may also depend on tokens in a way that no formula shows (the target's distribution after
a drawn token, say); it must then not be carried out of a sum over that token.
"""

from __future__ import annotations

from typing import Final

from flint import fmpq_mpoly

from losslesscheck.algebra.field import Field, Rational
from losslesscheck.errors import Undecided

PLACE: Final = "y"
"""The placeholder token."""

SIZE: Final = "V"
"""The number of tokens."""


def is_drawn(token: str) -> bool:
    """Whether a token is one that a rule drew, which is summed over, and not a fixed one."""
    return token.startswith("x")


class Coordinates:
    """The symbols of one proof.

    Attributes:
        field: the rational functions in them.
        signs: the symbol's weak sign, 1 for ≥ 0 and −1 for ≤ 0, by its number in the field.
        place: (vector, token) of the symbols that are entries, by number.
        hidden: vector or scalar → the drawn tokens that it depends on unseen.
        distributions: the vectors that sum to one.
        sums: the symbol of a sum → what is summed, at the placeholder.
    """

    def __init__(self, capacity: int) -> None:
        self.field = Field(capacity)
        self.signs: list[int] = []
        self.place: dict[int, tuple[str, str]] = {}
        self.hidden: dict[str, frozenset[str]] = {}
        self.distributions: set[str] = set()
        self.sums: dict[str, str] = {}
        self._vector_signs: dict[str, int] = {}
        self._sum_names: dict[str, str] = {}

    def vector(
        self, name: str, *, sign: int = 1, distribution: bool = False, hidden: frozenset[str] = frozenset()
    ) -> Rational:
        """A new vector whose entries have a weak sign; returns its entry at the placeholder."""
        self._vector_signs[name] = sign
        self.hidden[name] = hidden
        if distribution:
            self.distributions.add(name)
        return self.entry(name, PLACE)

    def scalar(self, name: str, sign: int, hidden: frozenset[str] = frozenset()) -> Rational:
        """The symbol of a number with a weak sign."""
        known = len(self.field.names)
        symbol = self.field.symbol(name)
        if len(self.field.names) > known:
            self.signs.append(sign)
            self.hidden[name] = hidden
        return symbol

    def entry(self, vector: str, token: str) -> Rational:
        """The symbol ``vector[token]``."""
        known = len(self.field.names)
        symbol = self.field.symbol(f"{vector}[{token}]")
        if len(self.field.names) > known:
            self.signs.append(self._vector_signs[vector])
            self.place[known] = (vector, token)
        return symbol

    def tokens(self, polynomial: fmpq_mpoly) -> set[str]:
        """The tokens whose entries occur."""
        return {self.place[i][1] for i in used(polynomial) if i in self.place}

    def unseen(self, f: Rational) -> set[str]:
        """The drawn tokens that symbols of ``f`` depend on unseen."""
        return {token for name in self.vectors(f) for token in self.hidden[name]}

    def vectors(self, f: Rational) -> set[str]:
        """The vectors and scalars whose symbols occur in ``f``."""
        return {
            self.place[i][0] if i in self.place else self.field.names[i]
            for i in used(f.numerator) | used(f.denominator)
        }

    def all_tokens(self, f: Rational) -> set[str]:
        """The tokens that ``f`` depends on, seen or unseen."""
        return self.tokens(f.numerator) | self.tokens(f.denominator) | self.unseen(f)

    def rename(self, f: Rational, old: str, new: str) -> Rational:
        """``f`` with the token ``new`` in place of ``old``.

        Raises:
            Undecided: if ``f`` depends on ``old`` unseen, or divides by zero at ``new``.
        """
        if old == new or old not in self.all_tokens(f):
            return f
        return self.field.once(f"{old} -> {new}", (f,), lambda: self._rename(f, old, new))

    def _rename(self, f: Rational, old: str, new: str) -> Rational:
        self._require_seen(f, old)
        denominator = self.renamed(f.denominator, old, new)
        if denominator.is_zero():
            raise Undecided(f"{f} is undefined where {old} is {new}")
        return self.field.quotient(self.renamed(f.numerator, old, new), denominator)

    def renamed(self, polynomial: fmpq_mpoly, old: str, new: str) -> fmpq_mpoly:
        """A polynomial with the token ``new`` in place of ``old``."""
        if old == new:
            return polynomial
        moves = {
            i: self.field.index(self._made(self.place[i][0], new))
            for i in used(polynomial)
            if i in self.place and self.place[i][1] == old
        }
        if not moves:
            return polynomial
        terms: dict[tuple[int, ...], object] = {}
        for exponents, coefficient in polynomial.to_dict().items():
            moved = list(exponents)
            for i, j in moves.items():
                moved[j] += moved[i]
                moved[i] = 0
            key = tuple(moved)
            terms[key] = terms[key] + coefficient if key in terms else coefficient
        return self.field.context.from_dict(terms)

    def _made(self, vector: str, token: str) -> str:
        self.entry(vector, token)
        return f"{vector}[{token}]"

    def _require_seen(self, f: Rational, token: str) -> None:
        if token in self.unseen(f):
            raise Undecided(f"a sum over the drawn token {token} of what depends on it in an unknown way")

    def total(self, f: Rational, token: str = PLACE) -> Rational:
        """Σ f over all values of ``token``.

        Raises:
            Undecided: if a divisor depends on the token, or ``f`` depends on it unseen.
        """
        return self.field.once(f"total {token}", (f,), lambda: self._total(f, token))

    def _total(self, f: Rational, token: str) -> Rational:
        self._require_seen(f, token)
        if token in self.tokens(f.denominator):
            raise Undecided(f"a sum over the token {token} of {f}, which divides by what depends on it")
        here = [i for i in used(f.numerator) if self.place.get(i, ("", ""))[1] == token]
        parts: dict[tuple[int, ...], dict[tuple[int, ...], object]] = {}
        for exponents, coefficient in f.numerator.to_dict().items():
            rest = list(exponents)
            for i in here:
                rest[i] = 0
            parts.setdefault(tuple(exponents[i] for i in here), {})[tuple(rest)] = coefficient
        result = self.field.zero
        for powers, terms in parts.items():
            factors = {self.place[i][0]: power for i, power in zip(here, powers, strict=True) if power}
            outside = self.field.polynomial(self.field.context.from_dict(terms))
            result = result + self._sum(factors) * outside
        return result * self.field.polynomial(f.denominator).inverse()

    def _sum(self, factors: dict[str, int]) -> Rational:
        """The symbol for the sum of a monomial, given as vector → exponent."""
        if not factors:
            return self.scalar(SIZE, 1)
        if list(factors.values()) == [1] and next(iter(factors)) in self.distributions:
            return self.field.one
        text = "*".join(
            f"{vector}[{PLACE}]" + (f"**{power}" if power > 1 else "")
            for vector, power in sorted(factors.items())
        )
        if text not in self._sum_names:
            self._sum_names[text] = f"S{len(self.sums)}"
            self.sums[self._sum_names[text]] = text
        sign, hidden = 1, frozenset[str]()
        for vector, power in factors.items():
            sign *= self._vector_signs[vector] ** power
            hidden |= self.hidden[vector]
        return self.scalar(self._sum_names[text], sign, hidden)


def used(polynomial: fmpq_mpoly) -> set[int]:
    """The numbers of the symbols that occur."""
    return {i for i, degree in enumerate(polynomial.degrees()) if degree > 0}
