"""Rechecks the case analysis of an all-distributions certificate.

A case tree splits on the sign of a polynomial d, which fixes an atom, min(±d, 0), and indicators of
±d ≤ 0. A sign may be left out if z3 finds that it has no point. A leaf is *fat* if its indicators'
inequalities are all strict, or linear and strictly solvable; there the differences must vanish
identically. Any other leaf lists the differences as fractions, with atoms left open; numerators must be
zero and denominators must not, wherever the case holds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from losslesscheck.checker.expression import evaluate, names, parse

PRIME: Final = 2**127 - 1
POINTS: Final = 3
RETRIES: Final = 20
MILLISECONDS: Final = 5000


@dataclass
class Branch:
    """The splits on the way to a leaf.

    Attributes:
        atoms: name → −1 where it equals its definition, 1 where it is zero.
        indicators: name → its value.
        sides: (d, sign) of the splits on atoms; ``exact``: (d, relation) of those on indicators.
    """

    atoms: dict[str, int] = field(default_factory=dict)
    indicators: dict[str, int] = field(default_factory=dict)
    sides: list[tuple[str, int]] = field(default_factory=list)
    exact: list[tuple[str, str]] = field(default_factory=list)


class Cases:
    """Case trees over one unit's symbols."""

    def __init__(
        self,
        rows: dict[tuple[str, tuple[int, ...]], list[str]],
        atoms: dict[str, str],
        indicators: dict[str, str],
        positive_draft: bool,
        source: random.Random,
    ) -> None:
        self.rows, self.atoms, self.indicators = rows, atoms, indicators
        self.positive_draft, self.random = positive_draft, source
        self.symbols = [name for row in rows.values() for name in row[:-1]]

    def check(
        self, case: dict[str, Any], differences: Callable[[Branch], list[int]], branch: Branch | None = None
    ) -> str:
        """What is wrong with a case tree; empty if nothing is.

        ``differences(branch)``: the differences at a random point, modulo the prime.
        """
        branch = branch or Branch()
        if "split" not in case:
            return self._leaf(case, differences, branch)
        turns = {name: self._turn(name, case["split"]) for name in case["fixed"]}
        if 0 in turns.values():
            return f"the sign of {case['split']} does not fix {case['fixed']}"
        sides = {-turns[name] for name in turns if name in self.indicators}  # where an indicator is one
        below = dict(case["branches"])
        for sign in (-1, 1, 0):
            further = self._further(branch, case["split"], turns, sides, sign)
            if sign in below:
                if problem := self.check(below[sign], differences, further):
                    return problem
            elif (sign or len(sides) == 2) and not self._empty(further):
                return f"the case {case['split']} of sign {sign} is left out, but may have points"
        return ""

    def _turn(self, name: str, split: str) -> int:
        """1 if the name is made from the polynomial that is split on, −1 if from its negative, else 0."""
        definition = self.atoms.get(name) or self.indicators[name]
        found = set()
        for _ in range(POINTS):
            values = {symbol: self.random.randrange(PRIME) for symbol in [*self.symbols, *self.atoms]}
            a, b = evaluate(definition, values, PRIME), evaluate(split, values, PRIME)
            found.add(1 if a == b else -1 if (a + b) % PRIME == 0 else 0)
        return found.pop() if len(found) == 1 else 0

    def _further(
        self, branch: Branch, split: str, turns: dict[str, int], sides: set[int], sign: int
    ) -> Branch:
        result = Branch(dict(branch.atoms), dict(branch.indicators), list(branch.sides), list(branch.exact))
        for name, turn in turns.items():
            if name in self.atoms:
                result.atoms[name] = sign * turn or 1
            else:
                result.indicators[name] = int(sign == 0 or sign * turn < 0)
        if self._constant(split, branch):
            if sign != self._sign(split, branch):  # the split says nothing, and this sign is impossible
                result.exact.append((split, "<" if sign < 0 else ">" if sign else "=="))
        elif not sides:
            result.sides.append((split, sign))
        elif sign == 0:
            result.exact.append((split, "=="))
        else:
            closed = sides == {sign}
            result.exact.append((split, ("<" if sign < 0 else ">") + ("=" if closed else "")))
        return result

    def _values(self, branch: Branch) -> dict[str, Any]:
        values: dict[str, Any] = {name: self.random.randrange(PRIME) for name in self.symbols}
        for name, definition in self.atoms.items():
            if name not in branch.atoms:
                values[name] = self.random.randrange(PRIME)
            else:
                values[name] = evaluate(definition, values, PRIME) if branch.atoms[name] < 0 else 0
        return values

    def _constant(self, text: str, branch: Branch) -> bool:
        return len({evaluate(text, self._values(branch), PRIME) for _ in range(POINTS)}) == 1

    def _sign(self, text: str, branch: Branch) -> int:
        """The sign of a constant, read modulo the prime: small numbers only."""
        value = int(evaluate(text, self._values(branch), PRIME))
        return 0 if value == 0 else 1 if value < PRIME // 2 else -1

    def _leaf(self, case: dict[str, Any], differences: Callable[[Branch], list[int]], branch: Branch) -> str:
        if self._fat(branch):
            for _ in range(POINTS):
                if any(self._regular(lambda: differences(branch))):
                    return f"a difference is not zero{self._where(branch)}"
            return ""
        open_atoms = Branch({}, branch.indicators)
        listed: list[list[str]] = case.get("points", [])
        left = [True] * len(self.rows[next(iter(self.rows))])
        for _ in range(POINTS):
            values, found = self._together(differences, open_atoms)
            fractions = [evaluate(f"({up})/({down})", values, PRIME) for up, down in listed]
            left = [here and value in (0, *fractions) for here, value in zip(left, found, strict=True)]
        if not all(left):
            return f"a difference is none of those listed{self._where(branch)}"
        for up, down in listed:
            if not self._refuted(branch, [(up, "!=")]) or not self._refuted(branch, [(down, "==")]):
                return f"a difference is not shown to be zero{self._where(branch)}"
        return ""

    def _regular(self, compute: Callable[[], Any]) -> Any:
        """A value at a random point that is no pole."""
        for _ in range(RETRIES):
            try:
                return compute()
            except ZeroDivisionError:
                continue
        return [1]

    def _together(
        self, differences: Callable[[Branch], list[int]], branch: Branch
    ) -> tuple[dict[str, Any], list[int]]:
        """Differences and the values of the names at the same random point."""
        state = self.random.getstate()
        found = differences(branch)
        self.random.setstate(state)
        return self._values(branch), found

    def _where(self, branch: Branch) -> str:
        parts = [f"{d} {'<' if sign < 0 else '>'} 0" for d, sign in branch.sides]
        parts += [f"{d} {relation} 0" for d, relation in branch.exact]
        return " where " + ", ".join(parts) if parts else ""

    # by z3

    def _fat(self, branch: Branch) -> bool:
        relations = {relation for _, relation in branch.exact}
        if relations <= {"<", ">"}:
            return True
        texts = [text for text, _ in branch.exact]
        if "==" in relations or any(names(t) & set(self.atoms) for t in texts):
            return False
        if not all(self._affine(text) for text in texts):
            return False
        strict = Branch(exact=[(text, relation[0]) for text, relation in branch.exact])
        return str(self._solver(strict, [], strict=True, relaxed=True).check()) == "sat"

    def _affine(self, text: str) -> bool:
        a, b = ({name: self.random.randrange(PRIME) for name in self.symbols} for _ in range(2))
        both, none = {name: a[name] + b[name] for name in a}, dict.fromkeys(a, 0)
        value = [evaluate(text, point, PRIME) for point in (a, b, both, none)]
        return (value[0] + value[1] - value[2] - value[3]) % PRIME == 0

    def _empty(self, branch: Branch) -> bool:
        strict = self._fat(branch)
        return str(self._solver(branch, [], strict, relaxed=True).check()) == "unsat"

    def _refuted(self, branch: Branch, more: list[tuple[str, str]]) -> bool:
        return str(self._solver(branch, more, strict=False, relaxed=False).check()) == "unsat"

    def _solver(self, branch: Branch, more: list[tuple[str, str]], strict: bool, relaxed: bool) -> Any:
        import z3

        solver = z3.Solver()
        solver.set("timeout", MILLISECONDS)
        terms = {name: z3.Real(name) for name in [*self.symbols, *self.atoms]}

        def add(text: str, relation: str) -> None:
            term = to_z3(text, terms)
            solver.add(
                {
                    "<": term < 0,
                    "<=": term <= 0,
                    ">": term > 0,
                    ">=": term >= 0,
                    "==": term == 0,
                    "!=": term != 0,
                }[relation]
            )

        sides = [(d, ("<" if sign < 0 else ">") + ("" if strict else "=")) for d, sign in branch.sides]
        said = [*sides, *branch.exact, *more]
        for text, relation in said:
            add(text, relation)
        used: set[str] = set().union(*(names(text) for text, _ in said))
        for name in reversed(self.atoms):
            if name in used:
                definition = to_z3(self.atoms[name], terms)
                used |= names(self.atoms[name])
                nu = terms[name]
                if name in branch.atoms:
                    solver.add(nu == definition if branch.atoms[name] < 0 else nu == 0)
                elif relaxed:
                    solver.add(nu <= 0, nu <= definition)
                else:
                    solver.add(
                        z3.Or(z3.And(definition <= 0, nu == definition), z3.And(definition >= 0, nu == 0))
                    )
        for (model, _), row in self.rows.items():
            if used & set(row[:-1]):
                for entry in row:
                    positive = self.positive_draft and model == "q"
                    solver.add(to_z3(entry, terms) > 0 if positive else to_z3(entry, terms) >= 0)
        return solver


def to_z3(text: str, terms: dict[str, Any]) -> Any:
    """An expression as a z3 term."""
    import z3

    stack: list[Any] = []
    for kind, item in parse(text):
        if kind == "number":
            stack.append(z3.RealVal(item))
        elif kind == "name":
            stack.append(terms[item])
        elif kind == "power":
            base = stack.pop()
            product = z3.RealVal(1)
            for _ in range(int(item)):
                product = product * base
            stack.append(product)
        elif item == "negative":
            stack.append(-stack.pop())
        else:
            b, a = stack.pop(), stack.pop()
            stack.append({"+": a + b, "-": a - b, "*": a * b}[item] if item != "/" else a / b)
    return stack[0]
