"""The domain of the all-distributions reading: every target and draft over V tokens, as symbols.

Symbols
    The distribution of a model after a context has V − 1 symbols, ``p_0_1[2]`` for p(2 | 0 1); its
    last entry is one minus their sum.
    An *atom* ν stands for min(d, 0), where d is a polynomial in earlier symbols and atoms. Up to a
    known positive factor two comparisons of the same numbers share their atom.
    An *indicator* stands for the truth value of d ≤ 0, where the rule's text asks for it.

Signs
    Signs are known by construction (probabilities, ν ≤ 0, ν ≤ d, min(a, b) ≥ 0 where a and b are) or
    follow from such facts linearly. They hold not only where ν = min(d, 0), but on the *relaxed
    domain*: all points (symbols, atoms) that satisfy the facts. Its interior is not empty and every
    true point, ν = min(d, 0), is a limit of it: choose the symbols inside the simplices, then each ν in
    its turn between the lower bounds that the facts set and min(d, 0); that interval is open and not
    empty, since a fact about a minimum is recorded only where both things compared are non-negative
    and not identically zero. The proof in ``all_distributions`` rests on this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq_mpoly

from losslesscheck.algebra.field import Field, Rational, divide
from losslesscheck.machines.entailment import Condition, Linear, Nonlinear

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


@dataclass(frozen=True, slots=True)
class Indicator:
    """One where core ≤ 0, or if ``flipped`` where −core ≤ 0, else zero."""

    name: str
    index: int
    core: fmpq_mpoly
    flipped: bool


class SymbolVector(tuple[Rational, ...]):
    """A vector of rational functions, indexed by token; equal if made of the same objects."""

    __slots__ = ()

    def __add__(self, other: SymbolVector) -> SymbolVector:  # type: ignore[override]
        return SymbolVector([a + b for a, b in zip(self, other, strict=True)])

    def __sub__(self, other: SymbolVector) -> SymbolVector:
        return SymbolVector([a - b for a, b in zip(self, other, strict=True)])

    def __mul__(self, factor: Any) -> SymbolVector:
        return SymbolVector([a * factor for a in self])

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> SymbolVector:
        return SymbolVector([a / divisor for a in self])


class Domain:
    """All distributions over ``vocabulary`` tokens, with room for ``capacity`` symbols.

    Attributes:
        field: the rational functions in the symbols, atoms and indicators.
        positive_draft: only drafts without a zero are meant.
        distributions: (model, context) → the vector of its symbols, as far as asked for.
        atoms, indicators: in the order in which they were made.
        repeated: the same comparison was made in several states, and powers of indicators reduced.
        linear, nonlinear: what decides whether facts imply a sign.
    """

    def __init__(self, vocabulary: int, capacity: int, positive_draft: bool = False) -> None:
        self.vocabulary, self.positive_draft = vocabulary, positive_draft
        self.field = Field(capacity)
        self.distributions: dict[tuple[str, tuple[int, ...]], SymbolVector] = {}
        self.atoms: list[Atom] = []
        self.indicators: list[Indicator] = []
        self.signs: dict[int, int] = {}  # of the generators
        self.linear = Linear(self.signs)
        self.nonlinear = Nonlinear(self.atoms)
        self.repeated = False
        self._atom_of: dict[str, Atom] = {}
        self._known: dict[str, int] = {}  # canonical polynomial → its sign
        self._unknown: dict[str, int] = {}  # canonical polynomial → how many facts there were
        self._facts = 0
        self._random = np.random.default_rng(20240229)
        self._points = np.zeros((SAMPLES, capacity))
        self._samples: dict[str, Any] = {}
        self._factors: dict[str, list[tuple[fmpq_mpoly, int]]] = {}

    def distribution(self, model: str, context: tuple[int, ...]) -> SymbolVector:
        """The next-token distribution of ``model`` ("p" or "q") after ``context``."""
        key = (model, context)
        if key not in self.distributions:
            self.distributions[key] = self._new_distribution(model, context)
        return self.distributions[key]

    def _new_distribution(self, model: str, context: tuple[int, ...]) -> SymbolVector:
        name = model + "".join(f"_{token}" for token in context)
        entries = [self.field.symbol(f"{name}[{token}]") for token in range(self.vocabulary - 1)]
        weights = self._random.exponential(size=(SAMPLES, self.vocabulary)) ** 2
        weights /= weights.sum(axis=1, keepdims=True)
        for token, entry in enumerate(entries):
            index = self.field.index(f"{name}[{token}]")
            self.signs[index] = 1
            self._points[:, index] = weights[:, token]
            self._known[str(entry.numerator)] = 1
        total = self.field.zero
        for entry in entries:
            total = total + entry
        vector = SymbolVector([*entries, self.field.one - total])
        strict = self.positive_draft and model == "q"
        for entry in vector:
            self.know(entry.numerator, strict)
            self.nonlinear.add(entry.numerator, strict)
        return vector

    # Signs

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
        exponents = np.array(polynomial.monoms(), dtype=np.int64).reshape(len(polynomial), -1)
        coefficients = np.array([float(int(c.p)) / float(int(c.q)) for c in polynomial.coeffs()])
        terms = np.ones((SAMPLES, len(coefficients)))
        for column in np.flatnonzero(exponents.any(axis=0)):
            terms *= self._points[:, column, None] ** exponents[None, :, column]
        return terms * coefficients

    def implies(
        self, conditions: Sequence[Condition], polynomial: fmpq_mpoly, strict: bool = False
    ) -> bool:
        """Whether polynomial ≥ 0 (``strict``: > 0) follows linearly from facts and conditions."""
        contradicted = self._sampled(polynomial) < 0
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

    # Comparisons as symbols

    def below(self, value: Rational) -> Rational:
        """min(value, 0)."""
        return self.field.once("below", (value,), lambda: self._below(value))

    def _below(self, value: Rational) -> Rational:
        sign = self.sign_of(value)
        if sign:
            return value if sign < 0 else self.field.zero
        numerator = self.signed_numerator(value)
        core = numerator
        for factor, exponent in self.factors(numerator):
            known = self.sign(factor)
            for _ in range(exponent if known else exponent - exponent % 2):
                core = divide(core, factor if known >= 0 else -factor)
        core = core / abs(core.leading_coefficient())
        scale = value * self.field.polynomial(core).inverse()  # ≥ 0
        text, _ = canonical(core)
        atom = self._atom_of.get(text) or self._new_atom(text, core)
        nu = self.field.symbol(atom.name)
        if atom.definition != core:  # min(−d, 0) = ν − d
            nu = nu - self.field.polynomial(atom.definition)
        return scale * nu

    def _new_atom(self, text: str, definition: fmpq_mpoly) -> Atom:
        name = f"nu{len(self.atoms)}"
        symbol = self.field.symbol(name).numerator
        atom = Atom(name, self.field.index(name), definition)
        self.signs[atom.index] = -1
        self._known[str(symbol)] = -1
        self._points[:, atom.index] = np.minimum(self._terms(definition).sum(axis=1), 0)
        self.atoms.append(atom)
        self._atom_of[text] = atom
        self.know(definition - symbol)
        return atom

    def minimum(self, a: Rational, b: Rational) -> Rational:
        """min(a, b), known to be non-negative if a and b are."""

        def compute() -> Rational:
            first, second = (b, a) if b.is_constant() else (a, b)
            result = first + self.below(second - first)
            if self.sign_of(a) > 0 and self.sign_of(b) > 0:
                self._know_value(result)
            return result

        return self.field.once("min", (a, b), compute)

    def relu(self, a: Rational) -> Rational:
        """max(a, 0)."""

        def compute() -> Rational:
            result = a - self.below(a)
            self._know_value(result)
            return result

        return self.field.once("relu", (a,), compute)

    def _know_value(self, value: Rational) -> None:
        if self.sign(value.denominator):
            self.know(self.signed_numerator(value))

    def indicator(self, polynomial: fmpq_mpoly) -> Indicator:
        """The indicator of polynomial ≤ 0."""
        text, flipped = canonical(polynomial)
        for indicator in self.indicators:
            if indicator.flipped == flipped and str(indicator.core) == text:
                return indicator
        name = f"below{len(self.indicators)}"
        self.field.symbol(name)
        index = self.field.index(name)
        self.signs[index] = 1
        core = polynomial / polynomial.leading_coefficient()
        self.indicators.append(Indicator(name, index, core, flipped))
        return self.indicators[-1]

    def atom_sign(self, polynomial: fmpq_mpoly, strict: bool) -> tuple[fmpq_mpoly, bool, bool] | None:
        """What polynomial < 0 (``strict``; else ≤ 0) says of d, if it is a multiple of ν or of d − ν.

        Returns:
            (e, is strict, holds): that e < 0 (or ≤ 0) does or does not hold; ``None`` for any other
            polynomial. ν < 0 says d < 0, −ν ≤ 0 the opposite, d − ν ≤ 0 says d ≤ 0, ν − d < 0 that
            −d < 0.
        """
        positive = polynomial / abs(polynomial.leading_coefficient())
        for atom in self.atoms:
            nu, d = self.field.context.gens()[atom.index], atom.definition
            if strict and positive == nu:
                return d, True, True
            if not strict and positive == -nu:
                return d, True, False
            rest = d - nu
            rest = rest / abs(rest.leading_coefficient())
            if not strict and positive == rest:
                return d, False, True
            if strict and positive == -rest:
                return -d, True, True
        return None

    def reduced(self, value: Rational) -> Rational:
        """``value`` with the powers of indicators replaced by the indicators: they are zero or one."""
        numerator = value.numerator
        if not self.indicators:
            return value
        degrees = numerator.degrees()
        if all(degrees[i.index] <= 1 for i in self.indicators):
            return value
        self.repeated = True
        bits = {i.index for i in self.indicators}
        terms: dict[tuple[int, ...], Any] = {}
        for exponents, coefficient in numerator.to_dict().items():
            key = tuple(min(int(e), 1) if n in bits else int(e) for n, e in enumerate(exponents))
            terms[key] = terms[key] + coefficient if key in terms else coefficient
        return self.field.quotient(self.field.context.from_dict(terms), value.denominator)


def canonical(polynomial: fmpq_mpoly) -> tuple[str, bool]:
    """The polynomial divided by its leading coefficient, as text, and whether that was negative."""
    lead = polynomial.leading_coefficient()
    return (str(polynomial) if lead == 1 else str(polynomial / lead)), bool(lead < 0)


Reading = Callable[[tuple[int, ...]], SymbolVector]
"""A model as the machine's function of the context."""
