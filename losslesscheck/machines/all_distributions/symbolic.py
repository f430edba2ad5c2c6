"""The symbolic machine: the law of a rule as rational functions of p and q.

Every number is a rational function of the symbols, atoms and indicators of a ``Domain``. Drawing and
flipping branch, as does a comparison whose outcome depends on p and q: its two branches get the weights
β and 1 − β, β an indicator. Nothing else splits, and the law comes out as one formula for all p and q.
What the rule owes on the way (see ``obligations``) is shown as it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from losslesscheck.algebra.field import FieldFull, Rational
from losslesscheck.errors import RuleError, Undecided, Undefined
from losslesscheck.law import UNDEFINED, rows
from losslesscheck.machines.all_distributions.comparisons import Branch, branches, decided
from losslesscheck.machines.all_distributions.domain import Domain, SymbolVector
from losslesscheck.machines.all_distributions.obligations import Given, Ledger, Owed
from losslesscheck.machines.coin import Coin
from losslesscheck.machines.replay import Call, Choice, Replay
from losslesscheck.machines.states import require_same
from losslesscheck.machines.vocabulary import Outcome


@dataclass(frozen=True, slots=True)
class Entered:
    """A context below which the walk goes on, at a node with ``children``."""

    context: tuple[int, ...]
    children: tuple[Any, ...]


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
        stop_below: the walk into a deeper node of the token tree is not followed: below it the rule is
            the same on a smaller tree, with the models shifted by the context.
        greedy: the rule is judged by the target's greedy decoding.

    Attributes:
        states: every state that has been evaluated.
        met: contexts at which the criterion holds identically in every state, and which laws leave out.
        paths: how many paths were followed.
    """

    def __init__(self, domain: Domain, stop_below: bool = False, greedy: bool = False) -> None:
        super().__init__()
        self.domain, self.field = domain, domain.field
        self.zero, self.one = self.field.zero, self.field.one
        self.stop_below, self.greedy = stop_below, greedy
        self.ledger = Ledger(domain)
        self.states: list[State] = []
        self.met: set[tuple[int, ...]] = set()
        self.paths = 0
        self.field.on_divide = self._on_divide
        self.field.on_compare = self._on_compare
        self._numbers: dict[Any, tuple[Callable[[], Outcome], int]] = {}
        self._kind = ""
        self._seen: set[int] = set()

    @property
    def _fresh(self) -> bool:
        """Whether the run is past its script: what happens now happens on this path for the first time."""
        return self._position == len(self._script)

    # The primitives

    def number(self, value: Fraction | int) -> Rational:
        return self.field.constant(value)

    def draw(self, distribution: SymbolVector, coin: Any = None) -> int:
        if self._fresh:
            self.ledger.distribution(distribution, self.sum(distribution))
        if coin is None:
            self._kind = "draw"
            return int(self.choose([(t, w) for t, w in enumerate(distribution) if not w.is_zero()]))
        reached = self.zero
        for token, weight in enumerate(distribution[:-1]):
            reached = reached + weight
            if coin < reached:
                return token
        return len(distribution) - 1

    def flip(self, probability: Rational) -> bool:
        complement = self.one - probability
        if probability.is_constant():
            if probability < 0 or probability > 1:
                raise RuleError(f"the rule flips with probability {probability}")
        elif self._fresh:
            self.ledger.bound(probability, "a flip's probability")
            self.ledger.bound(complement, "one minus a flip's probability")
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
        total: Rational = self.zero
        for value in vector:
            total = total + value
        return total

    def norm(self, vector: SymbolVector, otherwise: SymbolVector | None = None) -> SymbolVector:
        total = self.sum(vector)
        if self._fresh:
            for entry in vector:
                self.ledger.bound(entry, "an entry of a vector that is normalised")
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
        return SymbolVector([self.one if t == token else self.zero for t in range(self.domain.vocabulary)])

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
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < self.domain.vocabulary

    def is_state(self, state: Any) -> bool:
        return super().is_state(_key(state))

    def _number(self, value: Any) -> Rational:
        return value if isinstance(value, Rational) else self.field.constant(value)

    def check_outcome(self, result: Any) -> None:
        if not isinstance(result, Entered):
            super().check_outcome(result)

    # Divisions and comparisons in the rule's text

    def _on_divide(self, divisor: Rational) -> None:
        if self._fresh and id(divisor) not in self._seen:
            self._seen.add(id(divisor))
            self.ledger.divide(divisor)

    def _on_compare(self, a: Rational, b: Rational, strict: bool) -> bool:
        if not self._fresh:
            return bool(self.choose([]))
        known = decided(self.domain, self.ledger.given, a - b, strict)
        if known is None:
            self._kind = "compare"
            found = branches(self.domain, self.ledger.given, a - b, strict)
            return bool(self.choose([(branch.answer, branch) for branch in found]))
        # Replays must take the same way, whatever is known by then.
        self._script.append(known)
        self._position += 1
        return known

    # The fold

    def run(self, program: Callable[[], Outcome]) -> Any:
        try:
            return super().run(program)
        except RuleError as error:
            if isinstance(error.__cause__, FieldFull):
                raise error.__cause__ from None
            raise

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
            self.ledger.settle(owed)
        return state.law

    def _evaluate(self, program: Callable[[], Outcome]) -> State:
        outer, self.ledger.owed = self.ledger.owed, []
        node = self._unfold(program, [], [])
        law: dict[tuple[Any, ...], Rational] = {}
        for outcome, weight in self._gather(node).items():
            if isinstance(outcome, int):
                for deeper, mass in self.states[outcome].law.items():
                    self._add(law, deeper, self.domain.reduced(weight * mass))
            else:
                self._add(law, outcome, weight)
        state = State(node, self._contracted(law), self.ledger.owed)
        self.ledger.owed = outer
        self.states.append(state)
        return state

    def _unfold(self, program: Callable[[], Outcome], script: list[Any], given: list[Given]) -> Node:
        """The decision tree below a script of choices."""
        self._script, self._position, self._seen = list(script), 0, set()
        self.ledger.given = list(given)
        options: list[tuple[Any, Any]] = []
        result: Any = None
        try:
            result = self.run(program)
        except Choice as choice:
            options = choice.options
        if options:
            node, script, given = Node(self._kind), list(self._script), list(self.ledger.given)
            for value, weight in options:
                if isinstance(weight, Branch):
                    more, weight = weight.given, weight.weight
                else:
                    more = self.ledger.alive(weight)
                below = self._unfold(program, [*script, value], [*given, *more])
                node.options.append((value, weight, below))
            return node
        self.paths += 1
        if isinstance(result, Call):
            given = self.ledger.given
            key = _key(result.state)
            if key not in self._numbers:
                self._evaluate(result.continuation)
                self._numbers[key] = result.continuation, len(self.states) - 1
            first, number = self._numbers[key]
            require_same(result.state, first, result.continuation)
            self.ledger.given = given
            self.ledger.enter(self.states[number].owed)
            return Node("end", outcome=number)
        if result == UNDEFINED:
            self.ledger.undefined()
        return Node("end", outcome=result)

    def _gather(self, node: Node) -> dict[Any, Rational]:
        """Outcome (a state's number included) → weight."""
        if node.kind == "end":
            outcome = node.outcome.context if isinstance(node.outcome, Entered) else node.outcome
            return {outcome: self.one}
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
        below = []
        for row in rows(law, self.domain.vocabulary, lambda w: self.domain.distribution("p", w)):
            if len(row.context) >= len(context):
                if not all(self.domain.reduced(d).is_zero() for d in row.differences):
                    return law
                if row.context == context and not (row.reached - self.one).is_zero():
                    return law
                below.append(row.context)
        self.met.update(below)
        return {context: self.one}


def _key(state: Any) -> Any:
    """The same for states that are made of the same objects."""
    if isinstance(state, SymbolVector):
        return "vector", state.key
    if isinstance(state, Rational):
        return "number", id(state)
    return tuple(map(_key, state)) if isinstance(state, tuple) else state


def _common_prefix(outcomes: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    first, last = min(outcomes), max(outcomes)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]
