"""What follows from conditions on polynomials, decided by z3: linearly (fast), or over the reals.

Linear: every monomial is a variable of its own, whose sign is known from its generators. Conditions
that are contradictory even so are contradictory; that is all that is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import z3
from flint import fmpq_mpoly

Relation = Literal["<", "<=", ">", ">=", "==", "!="]


@dataclass(frozen=True, slots=True)
class Condition:
    """polynomial ⋛ 0."""

    polynomial: fmpq_mpoly
    relation: Relation


class Linear:
    """Implications between polynomials that follow by adding up facts with non-negative factors."""

    def __init__(self, signs: Mapping[int, int]) -> None:
        """``signs``: generator → 1 if it is non-negative, −1 if non-positive; it may grow."""
        self._signs = signs
        self._solver = z3.SolverFor("QF_LRA")
        self._solver.set("timeout", 2000)
        self._variables: dict[tuple[int, ...], Any] = {}
        self._expressions: dict[str, Any] = {}
        self._waiting: list[tuple[fmpq_mpoly, bool]] = []

    def add(self, polynomial: fmpq_mpoly, strict: bool = False) -> None:
        """The fact polynomial ≥ 0 (``strict``: > 0)."""
        self._waiting.append((polynomial, strict))

    def implies(self, conditions: Iterable[Condition], polynomial: fmpq_mpoly, strict: bool = False) -> bool:
        """Whether facts and conditions imply polynomial ≥ 0 (``strict``: > 0)."""
        conditions = list({(str(c.polynomial), c.relation): c for c in conditions}.values())
        if not strict and self.all_terms_nonnegative(polynomial):
            return True
        if strict and self._obviously_positive(conditions, polynomial):
            return True
        for fact, strictly in self._waiting:
            linear = self._linear(fact)
            self._solver.add(linear > 0 if strictly else linear >= 0)
        self._waiting.clear()
        given = [_relation(self._linear(c.polynomial), c.relation) for c in conditions]
        target = self._linear(polynomial)
        self._solver.push()
        self._solver.add(*given, target <= 0 if strict else target < 0)
        answer = self._solver.check()
        self._solver.pop()
        return bool(answer == z3.unsat)

    def all_terms_nonnegative(self, polynomial: fmpq_mpoly) -> bool:
        """Whether every term is, by the signs of its generators alone."""
        return all(
            self._sign(exponents) * (1 if coefficient > 0 else -1) > 0
            for exponents, coefficient in zip(polynomial.monoms(), polynomial.coeffs(), strict=True)
        )

    def _obviously_positive(self, conditions: list[Condition], polynomial: fmpq_mpoly) -> bool:
        """Whether all terms are ≥ 0 and the conditions say of one's generators that they are not 0."""
        if polynomial.is_zero() or not self.all_terms_nonnegative(polynomial):
            return False
        nonzero = set()
        for condition in conditions:
            if condition.relation == ">" and len(condition.polynomial) == 1:
                nonzero |= {i for i, e in enumerate(condition.polynomial.degrees()) if e}
        return any(all(i in nonzero for i, e in enumerate(m) if e) for m in polynomial.monoms())

    def _sign(self, exponents: Sequence[int]) -> int:
        sign = 1
        for index, exponent in enumerate(exponents):
            if exponent % 2:
                sign *= self._signs[index]
        return sign

    def _linear(self, polynomial: fmpq_mpoly) -> Any:
        text = str(polynomial)
        if text not in self._expressions:
            self._expressions[text] = self._expression(polynomial)
        return self._expressions[text]

    def _expression(self, polynomial: fmpq_mpoly) -> Any:
        terms = []
        for exponents, coefficient in zip(polynomial.monoms(), polynomial.coeffs(), strict=True):
            constant = z3.RealVal(str(coefficient))
            if not any(exponents):
                terms.append(constant)
                continue
            key = tuple(map(int, exponents))
            if key not in self._variables:
                variable = z3.Real(f"m{len(self._variables)}")
                self._variables[key] = variable
                self._solver.add(variable >= 0 if self._sign(key) > 0 else variable <= 0)
            terms.append(constant * self._variables[key])
        return z3.Sum(terms) if terms else z3.RealVal(0)


class Nonlinear:
    """Polynomial conditions over the reals: the domain of the symbols, and atoms ν = min(d, 0)."""

    def __init__(self, atoms: Sequence[Any], milliseconds: int = 1500) -> None:
        """``atoms``: objects with ``index`` and ``definition``; the list may grow."""
        self._atoms = atoms
        self._milliseconds = milliseconds
        self._domain: list[tuple[fmpq_mpoly, bool]] = []
        self._cache: dict[Any, str] = {}
        self.queries = 0

    def add(self, polynomial: fmpq_mpoly, strict: bool) -> None:
        """The symbols satisfy polynomial ≥ 0 (``strict``: > 0)."""
        self._domain.append((polynomial, strict))

    def symbols_only(self, polynomial: fmpq_mpoly) -> bool:
        """Whether no atom occurs in the polynomial."""
        degrees = polynomial.degrees()
        return not any(degrees[atom.index] for atom in self._atoms)

    def refuted(self, conditions: Sequence[Condition], exact: bool = True) -> bool:
        """Whether no point of the domain satisfies the conditions; ``False`` if z3 cannot tell.

        ``exact``: atoms have their true values, ν = min(d, 0); else any with ν ≤ 0 and ν ≤ d.
        """
        key = (exact, frozenset((str(c.polynomial), c.relation) for c in conditions))
        if key not in self._cache:
            self._cache[key] = self._check(conditions, exact)
        return self._cache[key] == "unsat"

    def satisfied(self, conditions: Sequence[Condition]) -> bool:
        """Whether some point satisfies the conditions; ``False`` if z3 cannot tell."""
        return self._check(conditions, True) == "sat"

    def _check(self, conditions: Sequence[Condition], exact: bool) -> str:
        self.queries += 1
        solver = z3.Solver()
        solver.set("timeout", self._milliseconds)
        variables: dict[int, Any] = {}

        def polynomial(p: fmpq_mpoly) -> Any:
            return to_z3(p, variables)

        for c in conditions:
            solver.add(_relation(polynomial(c.polynomial), c.relation))
        for atom in reversed(self._atoms):  # a definition mentions earlier atoms only
            if atom.index in variables:
                nu, d = variables[atom.index], polynomial(atom.definition)
                solver.add(z3.Or(z3.And(d <= 0, nu == d), z3.And(d >= 0, nu == 0)) if exact else nu <= 0)
                if not exact:
                    solver.add(nu <= d)
        waiting = list(self._domain)
        while touched := [f for f in waiting if _touches(f[0], variables)]:
            waiting = [f for f in waiting if f not in touched]
            for fact, strict in touched:
                solver.add(polynomial(fact) > 0 if strict else polynomial(fact) >= 0)
        return str(solver.check())


def to_z3(polynomial: fmpq_mpoly, variables: dict[int, Any]) -> Any:
    """The polynomial as a z3 term; variables are made as generators occur."""
    terms = []
    for exponents, coefficient in zip(polynomial.monoms(), polynomial.coeffs(), strict=True):
        term = z3.RealVal(str(coefficient))
        for index, exponent in enumerate(exponents):
            for _ in range(int(exponent)):
                if index not in variables:
                    variables[index] = z3.Real(f"s{index}")
                term = term * variables[index]
        terms.append(term)
    return z3.Sum(terms) if terms else z3.RealVal(0)


def _relation(left: Any, relation: Relation) -> Any:
    return {
        "<": lambda: left < 0,
        "<=": lambda: left <= 0,
        ">": lambda: left > 0,
        ">=": lambda: left >= 0,
        "==": lambda: left == 0,
        "!=": lambda: left != 0,
    }[relation]()


def _touches(polynomial: fmpq_mpoly, variables: Mapping[int, Any]) -> bool:
    return any(index in variables for index, exponent in enumerate(polynomial.degrees()) if exponent)
