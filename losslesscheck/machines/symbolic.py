"""The symbolic machine: the law of a rule as rational functions of p and q.

Every number is a rational function of the symbols, atoms and indicators of a ``Domain``. Drawing and
flipping branch, as does a comparison whose outcome depends on p and q: its two branches get the weights
β and 1 − β, β an indicator. Nothing else splits, and the law comes out as one formula for all p and q.

At every division, normalisation, draw and flip the machine shows what the rule owes: a divisor is not
zero where the path is alive, a flip lies in [0, 1], a vector drawn from is a distribution. It raises
``NotShown`` for what it cannot show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from flint import fmpq_mpoly

from losslesscheck.algebra.field import FieldFull, Rational, divide
from losslesscheck.errors import LosslesscheckError, RuleError, Undecided, Undefined
from losslesscheck.law import UNDEFINED, rows
from losslesscheck.machines.coin import Coin
from losslesscheck.machines.domain import Domain, SymbolVector
from losslesscheck.machines.entailment import Condition
from losslesscheck.machines.replay import Call, Choice, Replay
from losslesscheck.machines.vocabulary import Outcome


class NotShown(LosslesscheckError):
    """Something that the rule owes does not follow; the message says what."""


class Entered(tuple[int, ...]):
    """A context below which the walk goes on, at a node with ``children``; as an outcome, the context."""

    children: tuple[Any, ...]

    def __new__(cls, context: tuple[int, ...], children: tuple[Any, ...]) -> Entered:
        self = super().__new__(cls, context)
        self.children = children
        return self


@dataclass(slots=True)
class Node:
    """A point of the decision tree of one state.

    Attributes:
        kind: ``draw``, ``flip`` or ``compare``; ``end`` for a leaf.
        options: (value, weight, what follows).
        outcome: of a leaf: an emitted tuple, ``Entered``, ``UNDEFINED`` or the number of a state.
    """

    kind: str
    options: list[tuple[Any, Rational, Node]] = field(default_factory=list)
    outcome: Any = None


@dataclass(frozen=True, slots=True)
class Given:
    """What is true where a path is alive.

    Attributes:
        answer: (indicator's generator, its value) if a comparison said so, ``None`` if a weight.
    """

    condition: Condition
    answer: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Owed:
    """An obligation: where all of ``given`` holds, ``divisor`` is not zero.

    A zero divisor stands for an undefined value: the conditions must contradict one another.
    """

    what: str
    divisor: fmpq_mpoly
    given: tuple[Given, ...]


@dataclass(slots=True)
class State:
    """A program evaluated once: its decision tree, its law, what it owes to those who enter it."""

    node: Node
    law: dict[tuple[Any, ...], Rational]
    owed: list[Owed]


class Symbolic(Replay):
    """The machine; its numbers are ``Rational``.

    Args:
        domain: the symbols.
        stop_below: outcomes of ``call`` that enter a deeper node of the token tree end the run: the
            walk below is the same rule on a smaller tree, with the models shifted by the context.
        greedy: the rule is judged by the target's greedy decoding.
    """

    def __init__(self, domain: Domain, stop_below: bool = False, greedy: bool = False) -> None:
        super().__init__()
        self.domain, self.field = domain, domain.field
        self.zero, self.one = self.field.zero, self.field.one
        self.stop_below, self.greedy = stop_below, greedy
        self.states: list[State] = []
        self.discharged: list[tuple[Owed, str]] = []
        self.relied: set[tuple[int, int]] = set()
        self.paths = 0
        self.field.on_divide = self._on_divide
        self.field.on_compare = self._on_compare
        self._numbers: dict[Any, int] = {}
        self._given: list[Given] = []
        self._owed: list[Owed] = []
        self._kind = ""
        self._seen: set[Any] = set()

    # The primitives

    def number(self, value: Fraction | int) -> Rational:
        return self.field.constant(value)

    def draw(self, distribution: SymbolVector, coin: Any = None) -> int:
        self._owe_distribution(distribution)
        if coin is None:
            self._kind = "draw"
            return int(self.choose([(t, w) for t, w in enumerate(distribution) if not w.is_zero()]))
        reached = self.zero
        last = max(t for t, w in enumerate(distribution) if not w.is_zero())
        for token, weight in enumerate(distribution[:last]):
            reached = reached + weight
            if not weight.is_zero() and coin < reached:
                return token
        return last

    def flip(self, probability: Rational) -> bool:
        complement = self.one - probability
        if not probability.is_constant() and self._fresh:
            self._owe_bound(probability, "a flip's probability")
            self._owe_bound(complement, "one minus a flip's probability")
        options = [(True, probability), (False, complement)]
        self._kind = "flip"
        return bool(self.choose([(value, weight) for value, weight in options if not weight.is_zero()]))

    def coin(self, levels: int | None = None) -> Coin:
        if levels is not None:
            raise Undecided("a coin on a grid is beyond this reading")
        return Coin(self)

    def min(self, a: Any, b: Any) -> Any:
        if isinstance(a, SymbolVector):
            return SymbolVector([self.domain.minimum(x, y) for x, y in zip(a, b, strict=True)])
        return self.domain.minimum(self._number(a), self._number(b))

    def relu(self, a: Any) -> Any:
        if isinstance(a, SymbolVector):
            return SymbolVector([self.domain.relu(x) for x in a])
        return self.domain.relu(self._number(a))

    def sum(self, vector: SymbolVector) -> Rational:
        total = self.zero
        for value in vector:
            total = total + value
        return total

    def norm(self, vector: SymbolVector, otherwise: SymbolVector | None = None) -> SymbolVector:
        total = self.sum(vector)
        if otherwise is not None and not total.is_constant() and total <= self.zero:
            return otherwise
        if total.is_zero():
            if otherwise is not None:
                return otherwise
            raise Undefined("norm of a vector that sums to zero")
        return vector / total

    def without(self, vector: SymbolVector, *tokens: int) -> SymbolVector:
        return SymbolVector([self.zero if t in tokens else a for t, a in enumerate(vector)])

    def uniform(self, without: Sequence[int] = ()) -> SymbolVector:
        left = self.domain.vocabulary - len(set(without))
        if left == 0:
            raise Undefined("uniform distribution over no token")
        share = self.field.constant(Fraction(1, left))
        return SymbolVector([self.zero if t in without else share for t in range(self.domain.vocabulary)])

    def point(self, token: int) -> SymbolVector:
        return SymbolVector(
            [self.one if t == token else self.zero for t in range(self.domain.vocabulary)]
        )

    def top(self, vector: SymbolVector, count: int) -> tuple[int, ...]:
        def order(first: int, second: int) -> int:
            return 1 if vector[min(first, second)] < vector[max(first, second)] else -1

        def compare(first: int, second: int) -> int:
            return order(first, second) if first < second else -order(first, second)

        return tuple(sorted(range(self.domain.vocabulary), key=cmp_to_key(compare))[:count])

    def argmax(self, vector: SymbolVector) -> int:
        best = 0
        for token in range(1, self.domain.vocabulary):
            if vector[best] < vector[token]:
                best = token
        return best

    def call(self, state: tuple[Any, ...], continuation: Callable[[], Outcome]) -> Any:
        if self.stop_below and state[0] in ("enter", "visit"):
            return Entered(state[1], state[2])
        return Call(state, continuation)

    def is_token(self, value: Any) -> bool:
        return (
            isinstance(value, int) and not isinstance(value, bool) and 0 <= value < self.domain.vocabulary
        )

    def _number(self, value: Any) -> Rational:
        return value if isinstance(value, Rational) else self.field.constant(value)

    def run(self, program: Callable[[], Outcome]) -> Any:
        try:
            return super().run(program)
        except RuleError as error:
            if isinstance(error.__cause__, FieldFull):
                raise error.__cause__ from None
            raise

    # The fold

    def law(self, program: Callable[[], Outcome]) -> dict[tuple[Any, ...], Rational]:
        """Outcome → weight; everything that the program owes is shown, or ``NotShown`` is raised.

        With ``stop_below``, a context stands for all that is emitted below it. The program's own
        state is the last of ``states``.
        """
        try:
            state = self._evaluate(program)
        except RecursionError:
            raise Undecided("the rule makes too many choices in a row: it may never return") from None
        for owed in state.owed:
            self._settle(owed)
        return state.law

    def _evaluate(self, program: Callable[[], Outcome]) -> State:
        outer, self._owed = self._owed, []
        node = self._unfold(program, [], [])
        law: dict[tuple[Any, ...], Rational] = {}
        for outcome, weight in self._gather(node).items():
            if isinstance(outcome, int):
                for deeper, mass in self.states[outcome].law.items():
                    self._add(law, deeper, self.domain.reduced(weight * mass))
            else:
                self._add(law, outcome, weight)
        state = State(node, self._contracted(law), self._owed)
        self._owed = outer
        self.states.append(state)
        return state

    def _unfold(self, program: Callable[[], Outcome], script: list[Any], given: list[Given]) -> Node:
        self._script, self._position = list(script), 0
        self._given, self._seen = list(given), set()
        options: list[tuple[Any, Any]] = []
        result: Any = None
        try:
            result = self.run(program)
        except Choice as choice:
            options = choice.options
        if options:
            node, script, given = Node(self._kind), list(self._script), list(self._given)
            for value, weight in options:
                if isinstance(weight, _Branch):
                    more, weight = weight.given, weight.weight
                else:
                    more = self._alive(weight)
                below = self._unfold(program, [*script, value], [*given, *more])
                node.options.append((value, weight, below))
            return node
        self.paths += 1
        given = list(self._given)
        if isinstance(result, Call):
            if result.state not in self._numbers:
                self._evaluate(result.continuation)
                self._numbers[result.state] = len(self.states) - 1
            number = self._numbers[result.state]
            for owed in self.states[number].owed:
                self._owe(Owed(owed.what, owed.divisor, (*given, *owed.given)))
            return Node("end", outcome=number)
        if result == UNDEFINED:
            self._owe(Owed("an undefined value", self.zero.numerator, tuple(given)))
        return Node("end", outcome=result)

    def _gather(self, node: Node) -> dict[Any, Rational]:
        if node.kind == "end":
            return {node.outcome: self.one}
        total: dict[Any, Rational] = {}
        for _, weight, child in node.options:
            for outcome, mass in self._gather(child).items():
                self._add(total, outcome, self.domain.reduced(weight * mass))
        return total

    @staticmethod
    def _add(law: dict[Any, Rational], outcome: Any, mass: Rational) -> None:
        law[outcome] = law[outcome] + mass if outcome in law else mass

    def _contracted(self, law: dict[tuple[Any, ...], Rational]) -> dict[tuple[Any, ...], Rational]:
        """The law with everything below a context replaced by the context, if all rows there are met.

        The criterion is linear: what meets it by itself adds nothing to any difference, whatever its
        weight, and to the rows above only the probability of getting there.
        """
        if len(law) < 2 or UNDEFINED in law or self.greedy:
            return law
        context = _common_prefix(list(law))
        if not context or any(len(outcome) == len(context) for outcome in law):
            return law
        for row in rows(law, self.domain.vocabulary, lambda w: self.domain.distribution("p", w)):
            if len(row.context) >= len(context):
                if not all(self.domain.reduced(d).is_zero() for d in row.differences):
                    return law
                if row.context == context and not (row.reached - self.one).is_zero():
                    return law
        return {context: self.one}

    # What is owed

    @property
    def _fresh(self) -> bool:
        return self._position == len(self._script)

    def _alive(self, weight: Rational) -> list[Given]:
        """What a positive weight says."""
        return [
            Given(Condition(factor, ">"))
            for factor in self.domain.positive_factors(self.domain.signed_numerator(weight))
        ]

    def _on_divide(self, divisor: Rational) -> None:
        if not self._fresh or id(divisor) in self._seen:
            return
        self._seen.add(id(divisor))
        numerator = self.domain.signed_numerator(divisor)
        self._owe(Owed(f"the divisor {short(divisor)}", numerator, tuple(self._given)))
        if self.domain.sign(numerator) > 0:
            self._given += [
                Given(Condition(f, ">")) for f in self.domain.positive_factors(numerator)
            ]

    def _owe(self, owed: Owed) -> None:
        if how := self._follows(owed):
            self.discharged.append((owed, how))
        elif owed not in self._owed:
            self._owed.append(owed)

    def _follows(self, owed: Owed) -> str:
        """How the obligation follows from what is given, linearly; empty if it does not."""
        positive = {str(g.condition.polynomial) for g in owed.given if g.condition.relation == ">"}
        conditions = [g.condition for g in owed.given]
        if owed.divisor.is_zero():
            return "contradiction" if self.domain.implies(conditions, owed.divisor, True) else ""
        factors = self.domain.factors(owed.divisor)
        if all(str(f) in positive or str(-f) in positive for f, _ in factors):
            return "factor of the mass"
        for signed in (owed.divisor, -owed.divisor):
            if self.domain.implies(conditions, signed, strict=True):
                return "bound on the mass"
        return ""

    def _settle(self, owed: Owed) -> None:
        """Discharges what no path to it could, by z3 over the reals.

        Raises:
            NotShown: if that does not work.
        """
        conditions = [g.condition for g in owed.given]
        if not owed.divisor.is_zero():
            conditions.append(Condition(owed.divisor, "=="))
        if not self.domain.nonlinear.refuted(conditions):
            zero = "" if owed.divisor.is_zero() else " may be zero where it"
            raise NotShown(f"{owed.what}{zero} is reached with positive probability")
        self.discharged.append((owed, "z3"))

    def _owe_bound(self, value: Rational, what: str) -> None:
        """``value`` must be non-negative wherever the path is alive, on the relaxed domain."""
        polynomial = self.domain.signed_numerator(value)
        if self.domain.sign(polynomial) > 0:
            return
        weights = [g for g in self._given if g.answer is None]
        # A comparison that allows equality bounds nothing near a point where atoms make it equal.
        answers = [
            g
            for g in self._given
            if g.answer is None
            or g.condition.relation == ">"
            or self.domain.nonlinear.symbols_only(g.condition.polynomial)
        ]
        for given in (weights, answers):
            conditions = [g.condition for g in given]
            if self.domain.implies(conditions, polynomial) or self.domain.nonlinear.refuted(
                [*conditions, Condition(polynomial, "<")], exact=False
            ):
                self.relied |= {g.answer for g in given if g.answer is not None}
                return
        raise NotShown(f"{what} could be negative: {short(value)}")

    def _owe_distribution(self, vector: SymbolVector) -> None:
        if not self._fresh:
            return
        total = self.sum(vector)
        if not (total - self.one).is_zero():
            raise NotShown(f"a draw is from a vector that does not sum to one: its sum is {short(total)}")
        for value in vector:
            self._owe_bound(value, "an entry of a vector drawn from")

    # Comparisons

    def _on_compare(self, a: Rational, b: Rational, strict: bool) -> bool:
        if not self._fresh:
            return bool(self.choose([]))
        known = self._compare(a - b, strict)
        if known is None:
            self._kind = "compare"
            return bool(self.choose(self._branches(a - b, strict)))
        self._script.append(known)
        self._position += 1
        return known

    def _compare(self, difference: Rational, strict: bool) -> bool | None:
        """Whether difference < 0 (or ≤ 0), if that is the same wherever the path is alive."""
        polynomial = self.domain.signed_numerator(difference)
        sign = self.domain.sign(polynomial)
        conditions = [g.condition for g in self._given]
        implies = self.domain.implies
        if sign > 0 and strict:
            return False
        if sign < 0 and not strict:
            return True
        if sign >= 0 and implies(conditions, polynomial, strict=not strict):
            return False
        if sign <= 0 and implies(conditions, -polynomial, strict=strict):
            return True
        return None

    def _branches(self, difference: Rational, strict: bool) -> list[tuple[bool, Any]]:
        """The two answers to difference < 0 (or ≤ 0), weighed by an indicator."""
        domain = self.domain
        polynomial = domain.signed_numerator(difference)
        core = self._core(polynomial)
        originals = (core, polynomial)
        below_strict, below_is_true = strict, True
        if found := domain.atom_sign(core, strict):
            core, below_strict, below_is_true = found
        if below_strict:
            indicator = domain.indicator(-core)  # core < 0 is not −core ≤ 0
            below = self.one - self.field.symbol(indicator.name)
        else:
            indicator = domain.indicator(core)
            below = self.field.symbol(indicator.name)

        def given(is_below: bool, answer: bool) -> list[Given]:
            said = (indicator.index, int(is_below != below_strict))
            if is_below:
                found = [Given(Condition(-core, ">" if below_strict else ">="), said)]
            else:
                found = [Given(Condition(core, ">=" if below_strict else ">"), said)]
            for original in originals:
                if answer:
                    found.append(Given(Condition(-original, ">" if strict else ">="), said))
                else:
                    found.append(Given(Condition(original, ">=" if strict else ">"), said))
            return found

        branches = []
        for is_below, weight in ((True, below), (False, self.one - below)):
            answer = is_below == below_is_true
            branches.append((answer, _Branch(weight, given(is_below, answer))))
        return branches

    def _core(self, polynomial: fmpq_mpoly) -> fmpq_mpoly:
        """The polynomial without the factors that are positive or negative wherever the path is alive."""
        conditions = [g.condition for g in self._given]
        core = polynomial
        for factor, exponent in self.domain.factors(polynomial):
            known = self.domain.sign(factor)
            signed = factor if known >= 0 else -factor
            if known and self.domain.implies(conditions, signed, strict=True):
                for _ in range(exponent):
                    core = divide(core, signed)
        return core


@dataclass(frozen=True, slots=True)
class _Branch:
    weight: Rational
    given: list[Given]


def _common_prefix(outcomes: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    first, last = min(outcomes), max(outcomes)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]


def short(value: Any, length: int = 120) -> str:
    """The text of a value, cut for a message."""
    text = str(value)
    return text if len(text) <= length else text[: length - 1] + "…"
