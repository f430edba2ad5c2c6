"""The same problems given to z3 and to sympy: the rule's law as their expressions, straight away."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import sympy
import z3

from losslesscheck.law import rows
from losslesscheck.machines.replay import Replay
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree


class _Vector(list[Any]):
    """A vector of a rival's expressions; identity is its equality, as the replay needs."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __add__(self, other: Any) -> _Vector:  # type: ignore[override]
        return _Vector(a + b for a, b in zip(self, other, strict=True))

    def __sub__(self, other: Any) -> _Vector:
        return _Vector(a - b for a, b in zip(self, other, strict=True))

    def __mul__(self, factor: Any) -> _Vector:  # type: ignore[override]
        return _Vector(a * factor for a in self)

    def __truediv__(self, divisor: Any) -> _Vector:
        return _Vector(a / divisor for a in self)


class _Machine(Replay):
    """Enough of a machine for the chain, the multi-step and the block rule."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self._residuals: dict[tuple[Any, ...], _Vector] = {}

    def smaller(self, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def draw(self, distribution: Any) -> Any:
        return self.choose(list(enumerate(distribution)))

    def flip(self, probability: Any) -> Any:
        return self.choose([(True, probability), (False, self.one - probability)])

    def min(self, a: Any, b: Any) -> Any:
        return self.smaller(a, b)

    def relu(self, a: Any) -> Any:
        if isinstance(a, _Vector):
            return _Vector(self.relu(x) for x in a)
        return a - self.smaller(a, self.one * 0)

    def sum(self, vector: Any) -> Any:
        return sum(vector[1:], vector[0])

    def norm(self, vector: Any) -> Any:
        return vector / self.sum(vector)

    def is_token(self, value: Any) -> bool:
        return isinstance(value, int)


class Z3(_Machine):
    """Numbers are z3 reals; minima and quotients are fresh reals with constraints, which suits its
    non-linear solver far better than if-then-else and division."""

    one = z3.RealVal(1)

    def __init__(self, vocabulary: int) -> None:
        super().__init__(vocabulary)
        self.constraints: list[Any] = []
        self._named: dict[tuple[Any, ...], Any] = {}

    def _fresh(self, *key: Any) -> tuple[Any, bool]:
        text = tuple(part if isinstance(part, str) else part.sexpr() for part in key)
        known = text in self._named
        if not known:
            self._named[text] = z3.Real(f"v{len(self._named)}")
        return self._named[text], not known

    def smaller(self, a: Any, b: Any) -> Any:
        value, new = self._fresh("min", a, b)
        if new:
            self.constraints += [value <= a, value <= b, z3.Or(value == a, value == b)]
        return value

    def norm(self, vector: Any) -> Any:
        total, new = self._fresh("sum", self.sum(vector))
        if new:
            self.constraints += [total == self.sum(vector), total > 0]
        parts = _Vector()
        for entry in vector:
            part, new = self._fresh("part", entry, total)
            if new:
                self.constraints.append(part * total == entry)
            parts.append(part)
        return parts


class Sympy(_Machine):
    """Numbers are sympy expressions; a minimum is a symbol for min(numerator, 0), as in our own
    reading, so that sympy is asked for its rational algebra only. Denominators have one sign on the
    whole domain, which is read off at one point of it."""

    one = sympy.Integer(1)

    def __init__(self, vocabulary: int) -> None:
        super().__init__(vocabulary)
        self._atoms: dict[Any, Any] = {}
        self._point: dict[Any, Any] = {}
        self._random = random.Random(0)

    def symbol(self, name: str) -> Any:
        made = sympy.Symbol(name)
        self._point[made] = sympy.Rational(self._random.randint(1, 99), 100 * self.vocabulary)
        return made

    def _positive(self, expression: Any) -> bool:
        return bool(expression.subs(self._point) > 0)

    def smaller(self, a: Any, b: Any) -> Any:
        up, down = sympy.fraction(sympy.cancel(a - b))
        if up == 0:
            return b
        if not self._positive(down):
            up, down = -up, -down
        content, monic = sympy.expand(up).as_content_primitive()
        sign = -1 if str(monic).startswith("-") else 1
        key = sympy.expand(sign * monic)
        if key not in self._atoms:
            atom = self._atoms[key] = sympy.Symbol(f"nu{len(self._atoms)}")
            self._point[atom] = min(key.subs(self._point), sympy.Integer(0))
        least = self._atoms[key] if sign > 0 else self._atoms[key] - key
        return b + content * least / down


def differences(
    m: _Machine, rule: Rule, tree: Tree, symbol: Callable[[str], Any]
) -> tuple[list[Any], dict[str, _Vector]]:
    """What must vanish, and the distributions in it (the last entry is one minus the others)."""
    made: dict[str, _Vector] = {}

    def model(letter: str) -> Callable[[tuple[int, ...]], _Vector]:
        def at(context: tuple[int, ...]) -> _Vector:
            name = letter + "".join(map(str, context))
            if name not in made:
                free = [symbol(f"{name}_{t}") for t in range(m.vocabulary - 1)]
                made[name] = _Vector([*free, m.one - sum(free[1:], free[0])])
            return made[name]

        return at

    p, q = model("p"), model("q")
    law = m.law(lambda: rule.run(m, p, q, tree))
    return [d for row in rows(law, m.vocabulary, p) for d in row.differences], made


def z3_proves(rule: Rule, tree: Tree, vocabulary: int) -> bool:
    """Whether z3 finds no real p > 0, q > 0 at which a difference is not zero."""
    m = Z3(vocabulary)
    found, made = differences(m, rule, tree, z3.Real)
    solver = z3.SolverFor("QF_NRA")
    solver.add(*m.constraints)
    for vector in made.values():
        solver.add(*(a > 0 for a in vector))
    solver.add(z3.Or([d != 0 for d in found]))
    return bool(solver.check() == z3.unsat)


def sympy_proves(rule: Rule, tree: Tree, vocabulary: int) -> bool:
    """Whether sympy cancels every difference, its minima left as they are."""
    m = Sympy(vocabulary)
    found, _ = differences(m, rule, tree, m.symbol)
    return all(sympy.cancel(sympy.together(d)) == 0 for d in found)
