"""The domain of the all-distributions reading: every target and draft over V tokens, as symbols.

The distribution of a model after a context has V − 1 symbols, ``p_0_1[2]`` for p(2 | 0 1); its last
entry is one minus their sum. An *atom* ν stands for min(d, 0), where d is a polynomial in earlier symbols
and atoms; up to a known positive factor two comparisons of the same numbers share their atom. An
*indicator* stands for the truth value of d ≤ 0, where the rule's text asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq_mpoly

from losslesscheck.algebra.field import Rational, divide
from losslesscheck.errors import Undecided
from losslesscheck.machines.all_distributions.known_signs import SAMPLES, Atom, Signs, canonical


@dataclass(frozen=True, slots=True)
class Indicator:
    """One where core ≤ 0, or if ``flipped`` where −core ≤ 0, else zero."""

    name: str
    index: int
    core: fmpq_mpoly
    flipped: bool


class SymbolVector(tuple[Rational, ...]):
    """A vector of rational functions, indexed by token."""

    __slots__ = ()

    @property
    def key(self) -> tuple[int, ...]:
        """The same for vectors that are made of the same objects."""
        return tuple(map(id, self))

    def __eq__(self, other: object) -> bool:
        raise Undecided("the rule asks whether two vectors are equal, which depends on p and q")

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: SymbolVector) -> SymbolVector:  # type: ignore[override]
        return SymbolVector([a + b for a, b in zip(self, other, strict=True)])

    def __sub__(self, other: SymbolVector) -> SymbolVector:
        return SymbolVector([a - b for a, b in zip(self, other, strict=True)])

    def __mul__(self, factor: Any) -> SymbolVector:
        return SymbolVector([a * factor for a in self])

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> SymbolVector:
        return SymbolVector([a / divisor for a in self])


class Domain(Signs):
    """All distributions over ``vocabulary`` tokens, with room for ``capacity`` symbols.

    Attributes:
        positive_draft: only drafts without a zero are meant.
        distributions: (model, context) → the vector of its symbols, as far as asked for.
        indicators: in the order in which they were made.
        repeated: the same comparison was made in several states, and powers of indicators reduced.
    """

    def __init__(self, vocabulary: int, capacity: int, positive_draft: bool = False) -> None:
        super().__init__(capacity)
        self.vocabulary, self.positive_draft = vocabulary, positive_draft
        self.distributions: dict[tuple[str, tuple[int, ...]], SymbolVector] = {}
        self.indicators: list[Indicator] = []
        self.repeated = False
        self._atom_of: dict[str, Atom] = {}
        self._atom_in: dict[int, int] = {}  # id of a minimum with zero → the atom that it is made from
        self._random = np.random.default_rng(20240229)

    def distribution(self, model: str, context: tuple[int, ...]) -> SymbolVector:
        """The next-token distribution of ``model`` ("p" or "q") after ``context``."""
        key = (model, context)
        if key not in self.distributions:
            self.distributions[key] = self._new_distribution(model, context)
        return self.distributions[key]

    def _new_distribution(self, model: str, context: tuple[int, ...]) -> SymbolVector:
        name = model + "".join(f"_{token}" for token in context)
        weights = self._random.exponential(size=(SAMPLES, self.vocabulary)) ** 2
        weights /= weights.sum(axis=1, keepdims=True)
        entries = []
        for token in range(self.vocabulary - 1):
            entries.append(self.field.symbol(f"{name}[{token}]"))
            self.generator(self.field.index(f"{name}[{token}]"), 1, weights[:, token])
        total = self.field.zero
        for entry in entries:
            total = total + entry
        vector = SymbolVector([*entries, self.field.one - total])
        strict = self.positive_draft and model == "q"
        for entry in vector:
            self.know(entry.numerator, strict)
            self.nonlinear.add(entry.numerator, strict)
        return vector

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
        if core.is_constant():  # all factors have signs, though the product was too large to look
            return value if core.leading_coefficient() < 0 else self.field.zero
        core = core / abs(core.leading_coefficient())
        scale = value * self.field.polynomial(core).inverse()  # ≥ 0
        text, _ = canonical(core)
        atom = self._atom_of.get(text) or self._new_atom(text, core)
        nu = self.field.symbol(atom.name)
        if atom.definition != core:  # min(−d, 0) = ν − d
            nu = nu - self.field.polynomial(atom.definition)
        result = scale * nu
        self._atom_in[id(result)] = atom.index
        return result

    def _new_atom(self, text: str, definition: fmpq_mpoly) -> Atom:
        name = f"nu{len(self.atoms)}"
        symbol = self.field.symbol(name).numerator
        atom = Atom(name, self.field.index(name), definition)
        self.generator(atom.index, -1, np.minimum(self.sampled_values(definition), 0))
        self.atoms.append(atom)
        self._atom_of[text] = atom
        self.know(definition - symbol)
        return atom

    def minimum(self, a: Rational, b: Rational) -> Rational:
        """min(a, b), known to be non-negative if a and b are."""

        def compute() -> Rational:
            first, second = (b, a) if b.is_constant() else (a, b)
            below = self.below(second - first)
            result = first + below
            # The fact bounds this comparison's atom from below, so it must be the last one in it.
            polynomial = self.signed_numerator(result)
            degrees = polynomial.degrees()
            last = max((atom.index for atom in self.atoms if degrees[atom.index]), default=None)
            own = last is not None and self._atom_in.get(id(below)) == last and degrees[last] == 1
            if own and self.sign_of(a) > 0 and self.sign_of(b) > 0:
                self.know(polynomial)
            return result

        return self.field.once("min", (a, b), compute)

    def relu(self, a: Rational) -> Rational:
        """max(a, 0)."""

        def compute() -> Rational:
            result = a - self.below(a)
            if self.sign(result.denominator):
                self.know(self.signed_numerator(result))
            return result

        return self.field.once("relu", (a,), compute)

    def indicator(self, polynomial: fmpq_mpoly) -> Indicator:
        """The indicator of polynomial ≤ 0."""
        text, flipped = canonical(polynomial)
        for indicator in self.indicators:
            if indicator.flipped == flipped and str(indicator.core) == text:
                return indicator
        name = f"below{len(self.indicators)}"
        self.field.symbol(name)
        index = self.field.index(name)
        self.generator(index, 1, 0)
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
