"""Weak signs of rational functions of distributions, and opaque minima.

min(f, 0) is a new symbol, an *atom*, of which nothing is known but atom ≤ 0, f − atom ≥ 0 and, for
f = a − b with a, b ≥ 0, that b + atom ≥ 0. An identity that holds with atoms free holds for the true
minima.

What the signs are taken from also holds where every distribution is in the interior of the simplex and
every atom a little below its true value. No divisor is zero on all of that set if the vocabulary is large
enough, and every true point is a limit of it: in a small vocabulary, let there be more tokens, of little
probability. Laws, weights and masses are continuous there, which is why the obligations of a proof suffice
at the points where a divisor is zero.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flint import fmpq_mpoly

from losslesscheck.algebra.field import Rational
from losslesscheck.errors import Undecided
from losslesscheck.machines.any_vocabulary.coordinates import PLACE, Coordinates, is_drawn, used

Exponents = tuple[int, ...]
Fact = tuple[fmpq_mpoly, list[tuple[Exponents, Any]]]

DEPTH = 3
"""How many known inequalities a sign may be combined from."""

STEPS = 100
"""How many combinations are tried for a sign."""


@dataclass(frozen=True, slots=True)
class Atom:
    """The symbol for min(of, 0), a vector if ``vector`` (``of`` is then at the placeholder)."""

    name: str
    of: Rational
    vector: bool


class Signs:
    """What is known of the signs of the symbols of ``coordinates``."""

    def __init__(self, coordinates: Coordinates) -> None:
        self.coordinates = coordinates
        self.field = coordinates.field
        self.atoms: dict[str, Atom] = {}
        self._facts: dict[str, fmpq_mpoly] = {}
        self._known: dict[tuple[str, int], int] = {}
        self._factors: dict[str, tuple[int, int]] = {}
        self._steps = 0
        self._monomials: dict[Exponents, int] = {}

    def sign(self, f: Rational) -> int:
        """1 if f ≥ 0 wherever it is defined, −1 if f ≤ 0, 0 if neither is known (1 for zero)."""
        if f.is_zero():
            return 1
        key = (str(f), len(self._facts))
        if key not in self._known:
            self._known[key] = self._polynomial(f.numerator) * self._polynomial(f.denominator)
        return self._known[key]

    def nonnegative(self, f: Rational) -> bool:
        return self.sign(f) == 1

    def know(self, f: Rational) -> None:
        """Takes in that f ≥ 0."""
        sign = self._polynomial(f.denominator)
        if sign and not f.is_constant() and not self.sign(f):
            self._take(f.numerator * sign)

    def _take(self, polynomial: fmpq_mpoly) -> None:
        self._facts[str(polynomial)] = polynomial
        if PLACE in self.coordinates.tokens(polynomial):
            summed = self.coordinates.total(self.field.polynomial(polynomial)).numerator
            self._facts[str(summed)] = summed

    def minimum(self, a: Rational, b: Rational) -> Rational:
        """The smaller of two numbers."""
        smaller = b + self.negative_part(a - b)
        if self.nonnegative(a) and self.nonnegative(b):
            self.know(smaller)
        return smaller

    def positive_part(self, f: Rational) -> Rational:
        """max(f, 0)."""
        return f - self.negative_part(f)

    def negative_part(self, f: Rational) -> Rational:
        """min(f, 0): f or 0 where the sign is known, otherwise through an atom.

        Raises:
            Undecided: if the sign of the denominator is not known.
        """
        if sign := self.sign(f):
            return self.field.zero if sign > 0 else f
        return self.field.once("negative part", (f,), lambda: self._negative_part(f))

    def _negative_part(self, f: Rational) -> Rational:
        down = self._polynomial(f.denominator)
        if not down:
            raise Undecided(f"the sign of {f.text(f.denominator)} is not known")
        outside, inside = self.field.polynomial(f.denominator * down).inverse(), self.field.one
        content, factors = (f.numerator * down).factor()
        for factor, power in factors:
            base = self.field.polynomial(factor)
            sign = 1 if power % 2 == 0 else self._polynomial(factor)
            for _ in range(power):
                if sign:
                    outside = outside * base
                else:
                    inside = inside * base
            if sign < 0:
                outside, content = -outside, -content
        variable = self._variable(inside)
        key = (
            inside.numerator
            if variable is None
            else self.coordinates.renamed(inside.numerator, variable, PLACE)
        )
        lead = key.leading_coefficient()
        atom = self._atom(self.field.polynomial(key / lead), variable is not None)
        symbol = (
            self.field.symbol(atom.name) if variable is None else self.coordinates.entry(atom.name, variable)
        )
        scale = content * lead
        if scale < 0:  # min(−f, 0) = min(f, 0) − f
            symbol = symbol - self.field.polynomial(inside.numerator / lead)
        return symbol * outside * self.field.constant(abs(scale))

    def _variable(self, f: Rational) -> str | None:
        """The token that an atom is a function of; the others stay in its definition."""
        tokens = {t for t in self.coordinates.tokens(f.numerator) if t == PLACE or is_drawn(t)}
        if PLACE in tokens:
            return PLACE
        return tokens.pop() if len(tokens) == 1 else None

    def _atom(self, of: Rational, vector: bool) -> Atom:
        key = str(of)
        if key not in self.atoms:
            name = f"nu{len(self.atoms)}"
            self.atoms[key] = Atom(name, of, vector)
            hidden = frozenset(t for t in self.coordinates.all_tokens(of) if is_drawn(t))
            if vector:
                symbol = self.coordinates.vector(name, sign=-1, hidden=hidden)
            else:
                symbol = self.coordinates.scalar(name, -1, hidden)
            self._take((of - symbol).numerator)
            # f = P − N with P, N ≥ 0 term by term, so that min(f, 0) ≥ −N.
            terms = of.numerator.to_dict().items()
            negative = {e: abs(value) for e, value in terms if value * self._monomial(e) < 0}
            negative = {e: value * self._monomial(e) for e, value in negative.items()}
            self._take(self.field.context.from_dict(negative) + symbol.numerator)
        return self.atoms[key]

    def _polynomial(self, polynomial: fmpq_mpoly) -> int:
        if (whole := self._termwise(polynomial)) or polynomial.is_constant():
            return whole
        content, factors = polynomial.factor()
        sign = 1 if content > 0 else -1
        for factor, power in factors:
            if power % 2:
                sign *= self._factor(factor)
        return sign

    def _factor(self, factor: fmpq_mpoly) -> int:
        if sign := self._termwise(factor):
            return sign
        key = str(factor)
        sign, facts_then = self._factors.get(key, (0, -1))
        if not sign and facts_then < len(self._facts):
            sign = self._search(factor)
            self._factors[key] = sign, len(self._facts)
        return sign

    def _search(self, factor: fmpq_mpoly) -> int:
        # Of a fact only the negative terms can cancel a negative term.
        facts = [
            (fact, [(e, c) for e, c in fact.to_dict().items() if c * self._monomial(e) < 0])
            for fact in self._instances(factor)
        ]
        self._steps = 0
        for depth in range(1, DEPTH + 1):
            for sign in (1, -1):
                if self._combined(factor * sign, facts, depth):
                    return sign
        return 0

    def _monomial(self, exponents: Exponents) -> int:
        """The weak sign of a monomial."""
        sign = self._monomials.get(exponents)
        if sign is None:
            sign = 1
            for i, exponent in enumerate(exponents[: len(self.coordinates.signs)]):
                if exponent % 2:
                    sign *= self.coordinates.signs[i]
            self._monomials[exponents] = sign
        return sign

    def _termwise(self, polynomial: fmpq_mpoly) -> int:
        positive = {c * self._monomial(e) > 0 for e, c in polynomial.to_dict().items()}
        return (1 if positive.pop() else -1) if len(positive) == 1 else 0

    def _combined(self, polynomial: fmpq_mpoly, facts: list[Fact], depth: int) -> bool:
        """Whether it is a sum of non-negative terms and at most ``depth`` multiples of facts."""
        bad = next(((e, c) for e, c in polynomial.to_dict().items() if c * self._monomial(e) < 0), None)
        if bad is None:
            return True
        self._steps += 1
        if depth == 0 or self._steps > STEPS:
            return False
        exponents, need = bad
        for fact, negative in facts:
            for e, c in negative:
                if any(map(operator.gt, e, exponents)):
                    continue
                rest = tuple(map(operator.sub, exponents, e))
                factor = need / c
                if factor * self._monomial(rest) > 0 and self._combined(
                    polynomial - self.field.context.from_dict({rest: factor}) * fact, facts, depth - 1
                ):
                    return True
        return False

    def _instances(self, polynomial: fmpq_mpoly) -> Iterator[fmpq_mpoly]:
        """The known inequalities, at the tokens of ``polynomial``."""
        c = self.coordinates
        tokens = sorted(c.tokens(polynomial))
        present = {c.place[i] for i in used(polynomial) if i in c.place}
        for vector in sorted(c.distributions & {vector for vector, _ in present}):
            # Tokens are distinct, but the placeholder may be any of them: it goes by itself.
            here = [t for t in tokens if t != PLACE and (vector, t) in present]
            for group in (here, [PLACE] if (vector, PLACE) in present else []):
                if group:
                    entries = sum((c.entry(vector, t) for t in group), self.field.zero)
                    yield (self.field.one - entries).numerator
        for fact in list(self._facts.values()):
            if PLACE in c.tokens(fact):
                yield from (c.renamed(fact, PLACE, t) for t in tokens)
            else:
                yield fact
