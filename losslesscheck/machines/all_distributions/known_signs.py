"""What is known of the signs of polynomials: facts, and what follows from them.

Signs are known by construction (probabilities, ν ≤ 0, ν ≤ d, min(a, b) ≥ 0 where a and b are) or
follow from such facts linearly. They hold not only where every ν = min(d, 0), but on the *relaxed domain*:
all points (symbols, atoms) that satisfy the facts. Its interior is not empty, and every true point is a
limit of it: choose the symbols inside the simplices, then each ν in its turn between the lower bounds
that the facts set and min(d, 0). That interval is open and not empty, since a lower bound on ν is
recorded only if it says P > 0 for a P in which ν is the last atom and which is non-negative, and not
identically zero, both at ν = d and at ν = 0. The proof in ``all_distributions`` rests on this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq_mpoly

from losslesscheck.algebra.field import Field, Rational, divide
from losslesscheck.machines.all_distributions.entailment import Condition, Linear, Nonlinear

SAMPLES = 64
"""Points at which a polynomial is tried before anything is proved about its sign."""

FACTORED = 60
"""Terms of the largest polynomial that is factored, or handed to z3, for its sign."""


@dataclass(frozen=True, slots=True)
class Atom:
    """ν = min(definition, 0); ``index`` is the generator's."""

    name: str
    index: int
    definition: fmpq_mpoly


class Signs:
    """Facts about polynomials in up to ``capacity`` generators.

    Attributes:
        field: the rational functions in them.
        atoms: in the order in which they were made.
        generators: generator → 1 if it is non-negative, −1 if non-positive.
        linear, nonlinear: what decides whether facts imply a sign.
    """

    def __init__(self, capacity: int) -> None:
        self.field = Field(capacity)
        self.atoms: list[Atom] = []
        self.generators: dict[int, int] = {}
        self.linear = Linear(self.generators)
        self.nonlinear = Nonlinear(self.atoms)
        self._known: dict[str, int] = {}  # canonical polynomial → its sign
        self._unknown: dict[str, int] = {}  # canonical polynomial → how many facts there were
        self._facts = 0
        self._points = np.zeros((SAMPLES, capacity))  # true points: every atom is min(d, 0)
        self._samples: dict[str, Any] = {}
        self._factors: dict[str, list[tuple[fmpq_mpoly, int]]] = {}

    def generator(self, index: int, sign: int, samples: Any) -> None:
        """Makes a generator known: its sign, and its values at the sampled points."""
        self.generators[index] = sign
        self._known[str(self.field.context.gens()[index])] = sign
        self._points[:, index] = samples

    def sampled_values(self, polynomial: fmpq_mpoly) -> Any:
        """The polynomial's value at every sampled point."""
        return self._terms(polynomial).sum(axis=1)

    def know(self, polynomial: fmpq_mpoly, strict: bool = False) -> None:
        """Records that a polynomial is non-negative on the relaxed domain (``strict``: positive)."""
        if polynomial.is_constant():
            return
        text, flipped = canonical(polynomial)
        if text not in self._known or strict:
            self._known[text] = -1 if flipped else 1
            self._facts += 1
            if len(polynomial) <= FACTORED:
                self.linear.add(polynomial, strict)

    def sign(self, polynomial: fmpq_mpoly) -> int:
        """1 if the polynomial is known to be ≥ 0 on the relaxed domain, −1 if ≤ 0, else 0.

        A zero polynomial counts as ≥ 0.
        """
        if polynomial.is_constant():
            return -1 if not polynomial.is_zero() and polynomial.leading_coefficient() < 0 else 1
        text, flipped = canonical(polynomial)
        turn = -1 if flipped else 1
        if text in self._known:
            return turn * self._known[text]
        if self._unknown.get(text) == self._facts:
            return 0
        found = self._find_sign(polynomial)
        if found:
            self._known[text] = turn * found
        else:
            self._unknown[text] = self._facts
        return found

    def _find_sign(self, polynomial: fmpq_mpoly) -> int:
        likely = self._sampled_sign(polynomial)
        if likely == 0:
            return 0
        signed = polynomial if likely > 0 else -polynomial
        if self.linear.all_terms_nonnegative(signed):
            return likely
        if len(polynomial) > FACTORED:
            return 0
        factors = self.factors(polynomial)
        if len(factors) > 1 or factors[0][1] > 1:
            product = -1 if polynomial.leading_coefficient() < 0 else 1
            for factor, exponent in factors:
                if exponent % 2:
                    product *= self.sign(factor)
            if product:
                return product
        if self.implies([], signed) or self._minimum_bound(signed):
            return likely
        if self.nonlinear.symbols_only(polynomial) and self.nonlinear.refuted([Condition(signed, "<")]):
            return likely
        return 0

    def _sampled_sign(self, polynomial: fmpq_mpoly) -> int:
        """The sign that the polynomial has at some true points, 0 if it has both."""
        signs = self._sampled(polynomial)
        some_below, some_above = (signs < 0).any(), (signs > 0).any()
        return 0 if some_below and some_above else -1 if some_below else 1

    def _sampled(self, polynomial: fmpq_mpoly) -> Any:
        """The polynomial's sign at every sampled point, 0 where it is too close to zero."""
        text = str(polynomial)
        if text not in self._samples:
            terms = self._terms(polynomial)
            values, tolerance = terms.sum(axis=1), 1e-9 * np.abs(terms).sum(axis=1)
            self._samples[text] = np.where(np.abs(values) <= tolerance, 0, np.sign(values))
        return self._samples[text]

    def _terms(self, polynomial: fmpq_mpoly) -> Any:
        """Every term's value at every sampled point, shape [SAMPLES, terms]."""
        exponents = np.array(polynomial.monoms(), dtype=np.int64).reshape(
            len(polynomial), self.field.capacity
        )
        coefficients = np.array([float(int(c.p)) / float(int(c.q)) for c in polynomial.coeffs()])
        terms = np.ones((SAMPLES, len(coefficients)))
        for column in np.flatnonzero(exponents.any(axis=0)):
            terms *= self._points[:, column, None] ** exponents[None, :, column]
        return terms * coefficients

    def implies(self, conditions: Sequence[Condition], polynomial: fmpq_mpoly, strict: bool = False) -> bool:
        """Whether polynomial ≥ 0 (``strict``: > 0) follows linearly from facts and conditions."""
        if polynomial.is_zero() and not strict:
            return True
        contradicted = self._sampled(polynomial) < int(strict and polynomial.is_zero())
        for condition in conditions:
            signs = self._sampled(condition.polynomial)
            contradicted = contradicted & (signs > 0 if condition.relation in (">", ">=") else signs < 0)
        return not contradicted.any() and self.linear.implies(conditions, polynomial, strict)

    def _minimum_bound(self, polynomial: fmpq_mpoly) -> bool:
        """Whether P + c·ν ≥ 0, c ≥ 0 and ν the last atom in it, because it is at ν = d and at ν = 0.

        This is how min(a, b) − l ≥ 0 follows from a − l ≥ 0 and b − l ≥ 0.
        """
        degrees = polynomial.degrees()
        last = next((a for a in reversed(self.atoms) if degrees[a.index]), None)
        if last is None or degrees[last.index] > 1:
            return False
        slope = polynomial.derivative(last.index)
        above = polynomial - slope * self.field.context.gens()[last.index]
        below = above + slope * last.definition
        if self.sign(slope) < 0 or above.is_zero() or below.is_zero():
            return False
        if self.sign(slope) > 0 and self.sign(above) > 0 and self.sign(below) > 0:
            self.know(polynomial)
            return True
        return False

    def sign_of(self, value: Rational) -> int:
        """As ``sign``, for a rational function, where it is defined."""
        return self.sign(value.numerator) * self.sign(value.denominator)

    def signed_numerator(self, value: Rational) -> fmpq_mpoly:
        """A polynomial with the sign of ``value`` wherever its denominator is not zero."""
        sign = self.sign(value.denominator)
        if sign == 0:
            return value.numerator * value.denominator
        return value.numerator if sign > 0 else -value.numerator

    def factors(self, polynomial: fmpq_mpoly) -> list[tuple[fmpq_mpoly, int]]:
        """Irreducible factors with their exponents (of large polynomials: the monomial content only)."""
        text, _ = canonical(polynomial)
        if text not in self._factors:
            if len(polynomial) <= FACTORED:
                _, found = polynomial.factor()
                self._factors[text] = [(factor, int(exponent)) for factor, exponent in found]
            else:
                content = polynomial.term_content()
                rest = divide(polynomial, content)
                self._factors[text] = [
                    (self.field.context.gens()[index], exponent)
                    for index, exponent in enumerate(content.degrees())
                    if exponent
                ] + [(rest, 1)]
        return self._factors[text]

    def positive_factors(self, polynomial: fmpq_mpoly) -> list[fmpq_mpoly]:
        """Polynomials that are positive wherever ``polynomial`` is; for each factor of known sign one."""
        rest, found = polynomial, []
        for factor, exponent in self.factors(polynomial):
            if sign := self.sign(factor):
                signed = factor if sign > 0 else -factor
                found.append(signed)
                for _ in range(exponent):
                    rest = divide(rest, signed)
        if not rest.is_constant():
            found.append(rest)
        return found


def canonical(polynomial: fmpq_mpoly) -> tuple[str, bool]:
    """The polynomial divided by its leading coefficient, as text, and whether that was negative."""
    lead = polynomial.leading_coefficient()
    return (str(polynomial) if lead == 1 else str(polynomial / lead)), bool(lead < 0)
