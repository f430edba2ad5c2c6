"""The formula reading: the step identity of a rule's text, as a person would write it down.

The identity says that one draft token leaves the target's law as it is: if an accepted token is
emitted, and what comes after a rejection emits the residual, then the token emitted is y with
probability p(y). For people to read; the any-vocabulary machine is what proves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from losslesscheck.errors import InputError, Undecided
from losslesscheck.machines.formula.notation import SIZE, PositivePart, over_vocabulary
from losslesscheck.machines.formula.values import Coin, Number, Token, Vector, plain
from losslesscheck.rule import Rule

Y = sympy.Symbol("y")
SIBLINGS = sympy.symbols("a b")
MOST_CHOICES = 12


@dataclass(frozen=True)
class Identity:
    """What the formula reading gives.

    Attributes:
        equation: the probability of emitting y on the left, p(y) on the right; or ``None``.
        note: what the symbols stand for, or why there is no equation; may be empty.
    """

    equation: sympy.Eq | None
    note: str = ""


def step_identity(rule: Rule) -> sympy.Eq | None:
    """The step identity of a step rule, or of a node rule with two siblings a and b.

    ``None`` for a rule that decides on whole paths, and where the text is no formula; ``identity``
    says why.
    """
    return identity(rule).equation


def identity(rule: Rule) -> Identity:
    """The step identity with a note on how to read it."""
    if rule.form == "whole":
        return Identity(None, "it decides on a whole draft, not step by step")
    if rule.greedy:
        return Identity(None, "it is about the target's likeliest token, which no sum expresses")
    if rule.takes_tried:
        return Identity(None, "what a sibling is drawn from depends on the siblings tried before it")
    try:
        return _identity(rule)
    except Undecided as reason:
        return Identity(None, str(reason))
    except InputError:
        raise
    except Exception as error:
        return Identity(None, f"its text is no formula: {type(error).__name__}: {error}")


def _identity(rule: Rule) -> Identity:
    notes: list[str] = []
    if rule.form == "node":
        notes.append(f"for a node with the {'distinct ' * rule.distinct_siblings}siblings a and b")
    elif rule.fixed_tokens:
        notes.append("for the draft token a")
    terms = []
    for m, ending in _paths(rule):
        weight = m.weight
        for coin in m.coins:
            weight *= coin.high - coin.low
        if not isinstance(ending, (Emitted, Left)):
            raise Undecided(f"a path of it ends with {ending!r}, with neither token nor residual")
        value = ending.residual.at(Y) if isinstance(ending, Left) else m.same(ending.token.symbol, Y)
        terms.append(m.summed(weight, value))
        notes += [note for note in m.notes if note not in notes]
    law = sympy.Add(*terms, evaluate=False)
    if law.has(sympy.KroneckerDelta):
        notes.append("δ is 1 where its two tokens are the same, else 0")
    target = sympy.Function("p", nonnegative=True)(Y)
    return Identity(sympy.Eq(law, target, evaluate=False), "; ".join(notes))


def _paths(rule: Rule) -> Iterator[tuple[Formula, Any]]:
    """Every path of the rule: the machine after it, and what it ends with."""
    script: list[bool] = []
    while True:
        m = Formula(script, distinct=rule.distinct_siblings)
        p, q = m.distribution("p"), m.distribution("q")
        a, b = (Token(m, symbol) for symbol in SIBLINGS)
        if rule.form == "node":
            yield m, rule.apply(m, p, [a, b], Emitted, Emitted)
        else:
            yield m, rule.apply(m, p, a if rule.fixed_tokens else q, Emitted, Left)
        while script and not script[-1]:
            script.pop()
        if not script:
            return
        script[-1] = False


@dataclass(frozen=True)
class Emitted:
    """A path that ends with this token."""

    token: Token


@dataclass(frozen=True)
class Left:
    """A path that ends with a rejection, which leaves this residual."""

    residual: Vector


class Formula:
    """The machine for one path of a step; ``script`` says which branch to take, and grows.

    With ``distinct`` the given siblings are different tokens.
    """

    def __init__(self, script: list[bool], distinct: bool) -> None:
        self.script, self.distinct = script, distinct
        self.position = 0
        self.weight: Any = sympy.Integer(1)
        self.drawn: list[Any] = []
        self.coins: list[Coin] = []
        self.notes: list[str] = []
        self.zero, self.one = Number(self, 0), Number(self, 1)

    def choose(self) -> bool:
        if self.position == len(self.script):
            if len(self.script) == MOST_CHOICES:
                raise Undecided(f"a path of it has more than {MOST_CHOICES} branches")
            self.script.append(True)
        self.position += 1
        return self.script[self.position - 1]

    def same(self, s: Any, t: Any) -> Any:
        """1 if the tokens are the same, else 0."""
        if s != t and self.distinct and s in SIBLINGS and t in SIBLINGS:
            return sympy.Integer(0)
        return sympy.KroneckerDelta(s, t)

    def meet(self, s: Any, t: Any) -> bool:
        """Decides whether two tokens are the same."""
        same = self.same(s, t)
        if same.is_number:
            return bool(same == 1)
        taken = self.choose()
        self.weight *= same if taken else 1 - same
        return taken

    def known(self, larger: Any, smaller: Any) -> bool:
        """Whether ``larger`` ≥ ``smaller`` is plain: probabilities are at least 0, and those of
        distinct tokens sum to at most 1."""
        if isinstance(smaller, sympy.Min) and any(self.known(larger, a) for a in smaller.args):
            return True
        terms = sympy.expand(larger - smaller).as_coefficients_dict()
        constant = terms.pop(sympy.S.One, sympy.Integer(0))
        if not all(isinstance(term, AppliedUndef) for term in terms):
            return False
        subtracted = [term for term, factor in terms.items() if factor < 0]
        within_one = len(subtracted) < 2 or (
            self.distinct
            and len({term.func for term in subtracted}) == 1
            and all(term.args[0] in SIBLINGS for term in subtracted)
        )
        return bool(constant >= 0 and within_one and all(terms[t] >= -constant for t in subtracted))

    def compare(self, a: Any, b: Any) -> bool:
        """Decides a ≤ b, where it is plain or can hold only in a branch of probability zero."""
        if self.known(b, a):
            return True
        if self.known(a, b) and isinstance(b, AppliedUndef):
            reached = self.weight
            for coin in self.coins:
                reached *= coin.high - coin.low
            if self.known(0, reached.subs(b, a)):
                return False
        raise Undecided(f"it compares {a} with {b}, which needs a case distinction")

    def summed(self, weight: Any, value: Any) -> Any:
        """weight · value, summed over the drawn tokens."""
        for x in reversed(self.drawn):
            deltas = [
                d
                for d in sympy.Mul.make_args(weight * value)
                if isinstance(d, sympy.KroneckerDelta) and x in d.args
            ]
            if deltas:  # only one term of the sum is not zero
                (other,) = set(deltas[0].args) - {x}
                rest = weight * value / deltas[0]
                weight, value = sympy.Integer(1), rest.subs(x, other)
            elif value.has(x):
                weight, value = sympy.Integer(1), over_vocabulary(weight * value, x)
            else:
                weight = over_vocabulary(weight, x)
        return weight * value

    def distribution(self, name: str) -> Vector:
        return Vector(self, sympy.Function(name, nonnegative=True), sympy.Integer(1))

    def number(self, value: Fraction | int) -> Number:
        return Number(self, sympy.Rational(value.numerator, value.denominator))

    def draw(self, distribution: Vector, coin: Coin | None = None) -> Token:
        if coin is not None and (coin.low, coin.high) != (0, 1):
            raise Undecided("it draws with a coin that was compared before")
        x = sympy.Symbol(f"x{len(self.drawn) + 1}" if self.drawn else "x")
        self.drawn.append(x)
        self.weight *= distribution.at(x)
        return Token(self, x)

    def flip(self, probability: Number | int) -> bool:
        taken = self.choose()
        self.weight *= plain(probability) if taken else 1 - plain(probability)
        return taken

    def coin(self, levels: int | None = None) -> Coin:
        if levels is not None:
            raise Undecided("its coin takes finitely many values")
        self.coins.append(Coin(self))
        return self.coins[-1]

    def min(self, a: Any, b: Any) -> Any:
        if isinstance(a, Vector):
            low = lambda z: sympy.Min(a.at(z), b.at(z))  # noqa: E731
            return Vector(self, low, self.over(low))
        return Number(self, sympy.Min(plain(a), plain(b)))

    def relu(self, a: Any) -> Any:
        if isinstance(a, Vector):
            positive = lambda z: PositivePart(a.at(z))  # noqa: E731
            return Vector(self, positive, self.over(positive))
        return Number(self, PositivePart(plain(a)))

    def over(self, function: Callable[[Any], Any]) -> Any:
        z = sympy.Symbol("z")
        return over_vocabulary(function(z), z)

    def sum(self, vector: Vector) -> Number:
        return Number(self, vector.total)

    def norm(self, vector: Vector, otherwise: Vector | None = None) -> Vector:
        if otherwise is not None and vector.total != 1:
            self.notes.append("where a divisor is 0, the rule has a way out")
        return Vector(self, lambda z: vector.at(z) / vector.total, sympy.Integer(1))

    def without(self, vector: Vector, *tokens: Token) -> Vector:
        for token in tokens:
            vector = self._without(vector, token.symbol)
        return vector

    def _without(self, vector: Vector, token: Any) -> Vector:
        return Vector(
            self,
            lambda z: vector.at(z) * (1 - self.same(token, z)),
            vector.total - vector.at(token),
        )

    def uniform(self, without: Sequence[Token] = ()) -> Vector:
        flat = Vector(self, lambda z: sympy.Integer(1), SIZE)
        return self.norm(self.without(flat, *without))

    def point(self, token: Token) -> Vector:
        return Vector(self, lambda z: self.same(token.symbol, z), sympy.Integer(1))

    def top(self, vector: Vector, count: int) -> tuple[Token, ...]:
        raise Undecided("it asks for the likeliest tokens, which no sum expresses")

    def argmax(self, vector: Vector) -> Token:
        return self.top(vector, 1)[0]

    def call(self, state: tuple[Any, ...], continuation: Callable[[], Any]) -> Any:
        return continuation()
