"""The case analysis: differences that are not zero for free atoms may be zero in every case.

A *case* fixes, for some of the polynomials d that atoms and indicators are made from, whether d < 0
(ν = d) or d > 0 (ν = 0). Only atoms and indicators that are left in the differences are split, the
earliest first, so that a definition contains no later one. Cases without a point are dropped.

An atom is continuous, so that d = 0 belongs to either side and both inequalities may be taken as strict.
An indicator is not: its inequality counts as it is, < or ≤. A case is *fat* if every point in it is a
limit of points that satisfy all inequalities of its indicators strictly. In a fat case the differences
must vanish as rational functions; in any other they must be regular and zero at every single point of
the case. ``all_distributions`` says why that is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flint import fmpq_mpoly

from losslesscheck.algebra.field import Rational
from losslesscheck.machines.all_distributions.domain import Domain, Indicator
from losslesscheck.machines.all_distributions.entailment import Condition, Relation
from losslesscheck.machines.all_distributions.known_signs import Atom, canonical

MOST_CASES = 20_000
"""Leaves of a case tree after which the analysis gives up."""


class CaseFails(Exception):
    """The differences are not shown to vanish in a case; the message says which."""


@dataclass(slots=True)
class Case:
    """A node of the case tree.

    Attributes:
        definition: what is split on, before earlier splits are substituted; ``None`` at a leaf.
        fixed: names of the atom and the indicators that the sign fixes.
        branches: (sign of the definition, what follows); the case of a missing sign has no point.
        points: at a leaf that is not fat, the differences with its indicators' values; each is regular and
            zero at every point of the case.
    """

    definition: fmpq_mpoly | None = None
    fixed: list[str] = field(default_factory=list)
    branches: list[tuple[int, Case]] = field(default_factory=list)
    points: list[Rational] = field(default_factory=list)


@dataclass(slots=True)
class _Path:
    """The splits so far.

    Attributes:
        values: generator → what stands for it; ``indicators``: the same with atoms left as they are.
        sides: (d, its sign) of the splits on atoms alone.
        exact: the inequalities of indicators.
        atoms_decide: an indicator's inequality is about atoms, too.
    """

    values: list[fmpq_mpoly]
    indicators: list[fmpq_mpoly]
    sides: list[tuple[fmpq_mpoly, int]] = field(default_factory=list)
    exact: list[Condition] = field(default_factory=list)
    atoms_decide: bool = False


class Cases:
    """Shows that differences vanish, for one rule on one domain.

    Args:
        relied: (indicator's generator, value): a bound on a probability rests on this answer.
    """

    def __init__(self, domain: Domain, relied: Iterable[tuple[int, int]] = ()) -> None:
        self.domain = domain
        # Answers with > hold in a neighbourhood anyway; those with ≤ need a fat case.
        self.relied = {index for index, value in relied if value == 1}
        self.context = domain.field.context
        self.count = 0
        self._present: set[int] = set()
        if len(self.relied) > 8:
            raise CaseFails(f"{len(self.relied)} comparisons bound a probability: too many cases")

    def show(self, differences: Sequence[Rational]) -> Case:
        """The case tree by which all differences vanish.

        Raises:
            CaseFails: if they do not, or it cannot be shown.
        """
        reduced = [self.domain.reduced(d) for d in differences]
        left = [d for d in reduced if not d.is_zero()]
        self._present = set(self.relied)
        for difference in left:
            self._present |= {i for i, e in enumerate(difference.numerator.degrees()) if e}
        gens = list(self.context.gens())
        return self._show(left, _Path(gens, gens))

    def _show(self, differences: list[Rational], path: _Path) -> Case:
        numerators = [self._at(d.numerator, path.values) for d in differences]
        left = [n for n in numerators if not n.is_zero()]
        definition = self._next(left, path)
        if definition is None:
            return self._leaf(differences, path)
        known = self._at(definition, path.values)
        atom, indicators = self._made_from(definition)
        case = Case(definition, [o.name for o in (atom, *indicators) if o is not None])
        for sign in self._signs(definition, known):
            below = self._branch(definition, known, sign, path)
            if not self._empty(below):
                case.branches.append((sign, self._show(differences, below)))
        return case

    def _at(self, polynomial: fmpq_mpoly, values: list[fmpq_mpoly]) -> fmpq_mpoly:
        composed = polynomial.compose(*values, ctx=self.context)
        return self.domain.reduced(self.domain.field.polynomial(composed)).numerator

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
        indicators = [
            i for i in self.domain.indicators if i.index in self._present and canonical(i.core)[0] == text
        ]
        return (atoms[0] if atoms else None), indicators

    def _signs(self, definition: fmpq_mpoly, known: fmpq_mpoly) -> list[int]:
        if known.is_zero():
            return [0]
        if known.is_constant():
            return [-1 if known.leading_coefficient() < 0 else 1]
        _, indicators = self._made_from(definition)
        both = len(indicators) == 2  # true up to zero from either side: zero is a case of its own
        return [-1, 1, 0] if both else [-1, 1]

    def _branch(self, definition: fmpq_mpoly, known: fmpq_mpoly, sign: int, path: _Path) -> _Path:
        atom, indicators = self._made_from(definition)
        values, constants = list(path.values), list(path.indicators)
        sides, exact = list(path.sides), list(path.exact)
        zero, one = self.context.constant(0), self.context.constant(1)
        if atom is not None:
            same = atom.definition == definition
            values[atom.index] = zero if (sign < 0) != same else known if same else -known
        true_at_zero = set()
        for indicator in indicators:
            side = -1 if (indicator.core == definition) != indicator.flipped else 1
            values[indicator.index] = one if sign in (0, side) else zero
            constants[indicator.index] = values[indicator.index]
            true_at_zero.add(side)
        if not known.is_constant():
            relation: Relation
            if not indicators:
                sides.append((known, sign))
            elif sign == 0:
                exact.append(Condition(known, "=="))
            else:
                closed = true_at_zero == {sign}
                relation = ("<=" if closed else "<") if sign < 0 else (">=" if closed else ">")
                exact.append(Condition(known, relation))
        # a definition may contain earlier atoms that are split only now
        values = [v.compose(*values, ctx=self.context) for v in values]
        return _Path(
            values,
            constants,
            [(self._at(d, values), s) for d, s in sides],
            [Condition(self._at(c.polynomial, values), c.relation) for c in exact],
            path.atoms_decide or (bool(indicators) and not self.domain.nonlinear.symbols_only(definition)),
        )

    def _conditions(self, path: _Path, strict: bool) -> list[Condition]:
        below, above = ("<", ">") if strict else ("<=", ">=")
        return [*(Condition(d, below if s < 0 else above) for d, s in path.sides), *path.exact]  # type: ignore[arg-type]

    def _empty(self, path: _Path) -> bool:
        conditions = self._conditions(path, strict=self._fat(path))
        return bool(conditions) and self.domain.nonlinear.refuted(conditions, exact=False)

    def _fat(self, path: _Path) -> bool:
        """Whether the case is fat: open, or linear with a strict solution, to which a segment leads
        from every point of the case."""
        if all(c.relation in ("<", ">") for c in path.exact):
            return True
        if path.atoms_decide or any(
            c.relation == "==" or c.polynomial.total_degree() > 1 for c in path.exact
        ):
            return False
        strict = [Condition(c.polynomial, "<" if "<" in c.relation else ">") for c in path.exact]
        return self.domain.nonlinear.satisfied(strict)

    def _leaf(self, differences: list[Rational], path: _Path) -> Case:
        self.count += 1
        if self.count > MOST_CASES:
            raise CaseFails(f"more than {MOST_CASES} cases")
        if self._fat(path):
            for difference in differences:
                if not self._at(difference.numerator, path.values).is_zero():
                    raise CaseFails(f"the difference is not zero {self._where(path)}")
                if self._at(difference.denominator, path.values).is_zero():
                    raise CaseFails(f"a denominator vanishes {self._where(path)}")
            return Case()
        one = self.context.constant(1)
        if any(path.values[index] == one for index in self.relied):
            raise CaseFails(
                f"a probability is bounded only by a comparison that allows equality: {self._where(path)}"
            )
        conditions = self._conditions(path, strict=False)
        refuted = self.domain.nonlinear.refuted
        points = []
        for difference in differences:
            fixed = self.domain.field.quotient(
                self._at(difference.numerator, path.indicators),
                self._at(difference.denominator, path.indicators),
            )
            numerator = self._at(fixed.numerator, path.values)
            denominator = self._at(fixed.denominator, path.values)
            singular = denominator.is_zero() or (
                not denominator.is_constant() and not refuted([*conditions, Condition(denominator, "==")])
            )
            if singular or not (numerator.is_zero() or refuted([*conditions, Condition(numerator, "!=")])):
                raise CaseFails(f"the difference is not shown to be zero {self._where(path)}")
            points.append(fixed)
        return Case(points=points)

    def _where(self, path: _Path) -> str:
        text: Any = self.domain.field.one.text
        conditions = ", ".join(
            f"{text(c.polynomial)} {c.relation} 0" for c in self._conditions(path, strict=True)
        )
        if not conditions:
            return "as a rational function"
        return "where " + (conditions if len(conditions) < 160 else conditions[:159] + "…")
