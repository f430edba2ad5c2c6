"""The case analysis: differences that are not zero for free atoms may be zero in every case.

A *case* fixes, for some of the polynomials d that atoms and indicators are made from, whether d < 0
(ν = d) or d > 0 (ν = 0). Only atoms and indicators that are left in the differences are split, the
earliest first, so that a definition contains no later one. Cases without a point are dropped: for atoms
both inequalities may be taken as strict, since ν is continuous; an indicator is not, so that its own
inequality (≤ or <) counts, and the case must be *fat*: every point in it a limit of points that satisfy
its conditions strictly. ``all_distributions`` says why that is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flint import fmpq_mpoly

from losslesscheck.algebra.field import Rational
from losslesscheck.machines.domain import Atom, Domain, Indicator, canonical
from losslesscheck.machines.entailment import Condition, Relation
from losslesscheck.machines.symbolic import short


class CaseFails(Exception):
    """The differences are not shown to vanish in a case; the message says which."""


@dataclass(slots=True)
class Case:
    """A node of the case tree.

    Attributes:
        definition: what is split on, before earlier splits are substituted; ``None`` at a leaf.
        branches: (sign of the definition, what follows); a missing sign has no point.
        leaf: ``zero``: the differences vanish; ``empty``: no point; empty at an inner node.
    """

    definition: fmpq_mpoly | None = None
    branches: list[tuple[int, Case]] = field(default_factory=list)
    leaf: str = ""


@dataclass(slots=True)
class _Path:
    """The splits so far: substitutions, the conditions on atoms and those on indicators."""

    values: list[fmpq_mpoly]  # generator → what stands for it
    strict: list[Condition]
    exact: list[Condition]
    atoms_decide: bool = False  # whether an inequality of an indicator depends on atoms


class Cases:
    """Shows that differences vanish, for one rule on one domain.

    Args:
        relied: indicators (generators) that must be split in any case, because a bound rests on them.
        regular: the rule has no divisor at all, so that fatness does not matter.
    """

    def __init__(self, domain: Domain, relied: set[int], regular: bool) -> None:
        self.domain, self.relied, self.regular = domain, relied, regular
        self.context = domain.field.context
        self.count = 0
        if len(relied) > 8:
            raise CaseFails(f"{len(relied)} comparisons bound a probability: too many cases")

    def show(self, differences: Sequence[Rational]) -> Case:
        """The case tree by which all differences vanish.

        Raises:
            CaseFails: if they do not, or it cannot be shown.
        """
        reduced = [self.domain.reduced(d) for d in differences]
        left = [d for d in reduced if not d.is_zero()]
        path = _Path(list(self.context.gens()), [], [])
        denominators = [d.denominator for d in left if not d.denominator.is_constant()]
        return self._show([d.numerator for d in left], denominators, path)

    def _show(self, numerators: list[fmpq_mpoly], denominators: list[fmpq_mpoly], path: _Path) -> Case:
        numerators = [n for n in numerators if not n.is_zero()]
        if any(d.is_zero() for d in denominators):
            raise CaseFails(f"a denominator vanishes {self._where(path)}")
        definition = self._next(numerators, path)
        if definition is None:
            return self._leaf(numerators, path)
        known = definition.compose(*path.values, ctx=self.context)
        case = Case(definition)
        for sign in self._signs(definition, known):
            below = self._branch(definition, known, sign, path)
            if self._empty(below):
                continue
            values = below.values
            case.branches.append(
                (
                    sign,
                    self._show(
                        [self._reduced(n.compose(*values, ctx=self.context)) for n in numerators],
                        [d.compose(*values, ctx=self.context) for d in denominators],
                        below,
                    ),
                )
            )
        return case

    def _reduced(self, numerator: fmpq_mpoly) -> fmpq_mpoly:
        return self.domain.reduced(self.domain.field.polynomial(numerator)).numerator

    def _next(self, numerators: list[fmpq_mpoly], path: _Path) -> fmpq_mpoly | None:
        """The definition of the earliest atom or indicator that is left."""
        left = {i for i in self.relied if path.values[i] == self.context.gens()[i]}
        for numerator in numerators:
            left |= {i for i, e in enumerate(numerator.degrees()) if e}
        found: list[tuple[int, fmpq_mpoly]] = [
            (a.index, a.definition) for a in self.domain.atoms if a.index in left
        ]
        found += [(i.index, i.core) for i in self.domain.indicators if i.index in left]
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def _made_from(self, definition: fmpq_mpoly) -> tuple[Atom | None, list[Indicator]]:
        text, _ = canonical(definition)
        atoms = [a for a in self.domain.atoms if canonical(a.definition)[0] == text]
        indicators = [i for i in self.domain.indicators if canonical(i.core)[0] == text]
        return (atoms[0] if atoms else None), indicators

    def _signs(self, definition: fmpq_mpoly, known: fmpq_mpoly) -> list[int]:
        if known.is_zero():
            return [0]
        if known.is_constant():
            return [-1 if known.leading_coefficient() < 0 else 1]
        _, indicators = self._made_from(definition)
        both = len(indicators) == 2
        return [-1, 1, 0] if both else [-1, 1]

    def _branch(self, definition: fmpq_mpoly, known: fmpq_mpoly, sign: int, path: _Path) -> _Path:
        atom, indicators = self._made_from(definition)
        values = list(path.values)
        strict, exact = list(path.strict), list(path.exact)
        zero, one = self.context.constant(0), self.context.constant(1)
        if atom is not None:
            same = atom.definition == definition
            values[atom.index] = zero if (sign < 0) != same else known if same else -known
        true_at_zero = set()  # the sides on which an indicator is constant up to d = 0
        for indicator in indicators:
            side = -1 if (indicator.core == definition) != indicator.flipped else 1
            values[indicator.index] = one if sign in (0, side) else zero
            true_at_zero.add(side)
        if not known.is_constant():
            if not indicators:
                relations: tuple[Relation, Relation] = ("<=", ">=") if self.regular else ("<", ">")
                strict.append(Condition(known, relations[sign > 0]))
            elif sign == 0:
                exact.append(Condition(known, "=="))
            elif true_at_zero == {sign}:
                exact.append(Condition(known, "<=" if sign < 0 else ">="))
            else:  # with indicators true on both sides up to zero, zero is a case of its own
                exact.append(Condition(known, "<" if sign < 0 else ">"))
        # later substitutions must see this one
        values = [v.compose(*values, ctx=self.context) for v in values]
        return _Path(
            values,
            self._substituted(strict, values),
            self._substituted(exact, values),
            path.atoms_decide or (bool(indicators) and self._has_atoms(definition)),
        )

    def _has_atoms(self, polynomial: fmpq_mpoly) -> bool:
        return not self.domain.nonlinear.symbols_only(polynomial)

    def _substituted(self, conditions: list[Condition], values: list[fmpq_mpoly]) -> list[Condition]:
        return [Condition(c.polynomial.compose(*values, ctx=self.context), c.relation) for c in conditions]

    def _empty(self, path: _Path) -> bool:
        conditions = [*path.strict, *path.exact]
        return bool(conditions) and self.domain.nonlinear.refuted(conditions, exact=False)

    def _leaf(self, numerators: list[fmpq_mpoly], path: _Path) -> Case:
        self.count += 1
        if numerators:
            if path.exact and self.regular and self._thin_and_zero(numerators, path):
                return Case(leaf="zero")
            raise CaseFails(f"the difference is not zero {self._where(path)}")
        if path.exact and not self.regular:
            self._need_fat(path)
        return Case(leaf="zero")

    def _thin_and_zero(self, numerators: list[fmpq_mpoly], path: _Path) -> bool:
        return all(
            self.domain.nonlinear.refuted([*path.strict, *path.exact, Condition(n, "!=")]) for n in numerators
        )

    def _need_fat(self, path: _Path) -> None:
        """Raises ``CaseFails`` unless the conditions on indicators are strict, or linear and strictly
        satisfiable: then a segment to a strict solution leads from any point into the interior."""
        if all(c.relation in ("<", ">") for c in path.exact):
            return
        if path.atoms_decide or any(c.polynomial.total_degree() > 1 for c in path.exact):
            raise CaseFails(f"the boundary of a case is not linear: {self._where(path)}")
        strict = [Condition(c.polynomial, "<" if c.relation in ("<", "<=") else ">") for c in path.exact]
        if any(c.relation == "==" for c in path.exact) or not self.domain.nonlinear.satisfied(strict):
            raise CaseFails(f"a case has no interior: {self._where(path)}")

    def _where(self, path: _Path) -> str:
        text: Any = self.domain.field.one.text
        conditions = [f"{text(c.polynomial)} {c.relation} 0" for c in (*path.strict, *path.exact)]
        return "where " + short(", ".join(conditions)) if conditions else "as a rational function"
