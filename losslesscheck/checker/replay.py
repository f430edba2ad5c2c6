"""Runs a rule along the paths of a decision diagram, at one rational target and draft.

Written for the checker alone, in the standard library's fractions: a machine that asks for every choice,
and a walk over the token tree of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Shape = list[Any]
"""A token tree in a certificate: [token or null, [child, …]]."""


class Mismatch(Exception):
    """The rule does something else than the diagram says; the message says what."""


class Asked(BaseException):
    """The rule asks for a choice: its kind and (value, probability) of every option."""

    def __init__(self, kind: str, options: list[tuple[Any, Fraction]]) -> None:
        self.kind, self.options = kind, options


@dataclass(frozen=True)
class Enter:
    """A draft token is accepted, the walk goes on below it."""

    token: Any
    children: list[Shape]


@dataclass(frozen=True)
class Jump:
    """The rule goes on in a state of its own."""

    state: tuple[Any, ...]
    continuation: Callable[[], Any]


@dataclass(frozen=True)
class Node:
    """A token tree as rules see it."""

    token: int | None
    children: tuple[Node, ...]

    @property
    def depth(self) -> int:
        return max((1 + child.depth for child in self.children), default=0)

    @property
    def width(self) -> int:
        return max([len(self.children), *(child.width for child in self.children)])

    @property
    def size(self) -> int:
        return sum(1 + child.size for child in self.children)


def tree(shape: Shape) -> Node:
    """The token tree that a certificate describes."""
    return Node(shape[0], tuple(tree(child) for child in shape[1]))


class Row(tuple[Fraction, ...]):
    """A vector, indexed by token."""

    def __add__(self, other: Any) -> Row:
        return Row(a + b for a, b in zip(self, other, strict=True))

    def __sub__(self, other: Any) -> Row:
        return Row(a - b for a, b in zip(self, other, strict=True))

    def __mul__(self, factor: Any) -> Row:
        return Row(a * factor for a in self)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Row:
        return Row(a / divisor for a in self)


class Coin:
    """Uniform on [low, high), which every comparison narrows; ``scale`` times it is compared."""

    def __init__(self, machine: Machine, scale: Fraction | None = None, of: Coin | None = None) -> None:
        self.machine, self.scale, self.coin = machine, scale, of or self
        self.low, self.high = Fraction(0), Fraction(1)

    def __mul__(self, factor: Any) -> Coin:
        return Coin(self.machine, Fraction(factor), self.coin)

    __rmul__ = __mul__

    def __lt__(self, bound: Any) -> bool:
        if self.scale is not None:
            return self.coin < bound / self.scale if self.scale > 0 else bool(bound > 0)
        bound = max(self.low, min(self.high, bound))
        below = self.machine.flip((bound - self.low) / (self.high - self.low))
        self.low, self.high = (self.low, bound) if below else (bound, self.high)
        return below

    __le__ = __lt__


class Machine:
    """The machine that a rule is handed; choices come from ``script``."""

    zero, one = Fraction(0), Fraction(1)

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary = vocabulary
        self.script: list[Any] = []
        self.place = 0

    def run(self, program: Callable[[], Any], script: list[Any]) -> Any:
        """What the program returns, or the ``Asked`` that it ends with."""
        self.script, self.place = script, 0
        try:
            return program()
        except Asked as asked:
            return asked

    def _choose(self, kind: str, options: list[tuple[Any, Fraction]]) -> Any:
        if any(weight < 0 for _, weight in options) or sum(weight for _, weight in options) != 1:
            raise Mismatch(f"the rule's {kind} has the probabilities {[str(w) for _, w in options]}")
        if self.place == len(self.script):
            raise Asked(kind, options)
        self.place += 1
        return self.script[self.place - 1]

    def number(self, value: Any) -> Fraction:
        return Fraction(value)

    def draw(self, distribution: Row, coin: Coin | None = None) -> Any:
        if coin is None:
            return self._choose("draw", list(enumerate(distribution)))
        if sum(distribution) != 1 or min(distribution) < 0:
            raise Mismatch("the rule draws from a vector that is no distribution")
        reached = Fraction(0)
        for token, weight in enumerate(distribution[:-1]):
            reached += weight
            if coin < reached:
                return token
        return len(distribution) - 1

    def flip(self, probability: Any) -> bool:
        value = Fraction(probability)
        return bool(self._choose("flip", [(True, value), (False, 1 - value)]))

    def coin(self, levels: int | None = None) -> Coin:
        if levels is not None:
            raise Mismatch("the rule throws a coin on a grid")
        return Coin(self)

    def min(self, a: Any, b: Any) -> Any:
        return Row(map(min, a, b)) if isinstance(a, tuple) else min(Fraction(a), Fraction(b))

    def relu(self, a: Any) -> Any:
        return Row(max(x, self.zero) for x in a) if isinstance(a, tuple) else max(Fraction(a), self.zero)

    def sum(self, vector: Row) -> Fraction:
        return sum(vector, self.zero)

    def norm(self, vector: Row, otherwise: Row | None = None) -> Row:
        total = sum(vector)
        return otherwise if total == 0 and otherwise is not None else vector / total

    def without(self, vector: Row, *tokens: int) -> Row:
        return Row(self.zero if token in tokens else a for token, a in enumerate(vector))

    def uniform(self, without: Sequence[int] = ()) -> Row:
        left = [token not in without for token in range(self.vocabulary)]
        return Row(Fraction(int(here), sum(left)) for here in left)

    def point(self, token: int) -> Row:
        return Row(Fraction(int(here == token)) for here in range(self.vocabulary))

    def top(self, vector: Row, count: int) -> tuple[int, ...]:
        return tuple(sorted(range(self.vocabulary), key=lambda token: (-vector[token], token))[:count])

    def argmax(self, vector: Row) -> int:
        return self.top(vector, 1)[0]

    def call(self, state: tuple[Any, ...], continuation: Callable[[], Any]) -> Jump:
        return Jump(state, continuation)


def program(
    machine: Machine, certificate: dict[str, Any], shape: Shape, function: Callable[..., Any], p: Any, q: Any
) -> Callable[[], Any]:
    """One draft-and-verify step on the tree; a step or node rule stops below the root's children."""
    settings = {
        name: machine.number(value["number"]) if isinstance(value, dict) else value
        for name, value in certificate["parameters"].items()
    }
    children = shape[1]
    if certificate["form"] == "whole":
        arguments = [machine, p, q] + ([tree(shape)] if certificate["takes_tree"] else [])
        return lambda: function(*arguments, **settings)

    if certificate["form"] == "node":
        tokens = [child[0] for child in children]

        def accepted(token: Any) -> Enter:
            return Enter(token, children[tokens.index(token)][1])

        return lambda: function(machine, p(()), list(tokens), accepted, lambda token: (token,), **settings)

    def attempt(rank: int, residual: Row, state: dict[str, Any]) -> Any:
        if rank == len(children):
            return (machine.draw(residual),)
        child = children[rank]

        def accept(token: Any) -> Enter:
            return Enter(token, child[1])

        def reject(residual: Row, **state: Any) -> Jump:
            return Jump((rank + 1, residual, state), lambda: attempt(rank + 1, residual, state))

        draft = child[0] if certificate["fixed_tokens"] else q(())
        return function(machine, residual, draft, accept, reject, **settings, **state)

    return lambda: attempt(0, p(()), {})


def follow(
    machine: Machine,
    start: Callable[[], Any],
    states: Sequence[dict[str, Any]],
    root: int,
    value: Callable[[str], Fraction],
) -> None:
    """Follows every path of positive probability, in the rule and in the diagram at once.

    Raises:
        Mismatch: at the first difference.
    """
    entered: dict[int, tuple[Any, ...]] = {}
    waiting: list[tuple[int, Callable[[], Any]]] = [(root, start)]
    while waiting:
        number, run = waiting.pop()
        for end, result in _ends(machine, run, states[number], value):
            if "state" in end:
                if not isinstance(result, Jump):
                    raise Mismatch(f"the rule returns {result}, the diagram goes to state {end['state']}")
                if end["state"] not in entered:
                    entered[end["state"]] = result.state
                    waiting.append((end["state"], result.continuation))
                elif entered[end["state"]] != result.state:
                    raise Mismatch(f"the rule enters state {end['state']} with different values")
            elif "enter" in end:
                if (
                    not isinstance(result, Enter)
                    or [result.token] != end["enter"]
                    or result.children != end["children"]
                ):
                    raise Mismatch(f"the rule returns {result}, the diagram accepts {end['enter']}")
            elif "emit" not in end:
                raise Mismatch("the rule reaches what the diagram calls undefined")
            elif not isinstance(result, tuple) or list(result) != end["emit"]:
                raise Mismatch(f"the rule returns {result}, the diagram emits {end['emit']}")


def _ends(
    machine: Machine, run: Callable[[], Any], node: dict[str, Any], value: Callable[[str], Fraction]
) -> Iterator[tuple[dict[str, Any], Any]]:
    paths: list[tuple[dict[str, Any], list[Any]]] = [(node, [])]
    while paths:
        node, script = paths.pop()
        while node.get("choose") == "compare":  # the rule's own comparison decides, without a choice
            answers = [below for _, weight, below in node["options"] if value(weight) == 1]
            if len(answers) != 1:
                raise Mismatch("a comparison has not one answer")
            node = answers[0]
        try:
            result = machine.run(run, list(script))
        except ZeroDivisionError:
            raise Mismatch("the rule divides by zero with positive probability") from None
        if "choose" not in node:
            if isinstance(result, Asked):
                raise Mismatch(f"the rule asks for a {result.kind} where the diagram ends")
            yield node, result
            continue
        if not isinstance(result, Asked) or result.kind != node["choose"]:
            raise Mismatch(f"the diagram has a {node['choose']} where the rule has {result!r}")
        probabilities = dict(result.options)
        for option, weight, below in node["options"]:
            if option not in probabilities or probabilities.pop(option) != value(weight):
                raise Mismatch(f"the {result.kind} of {option} has not the probability {weight}")
            if value(weight) > 0:
                paths.append((below, [*script, option]))
        if any(probabilities.values()):
            raise Mismatch(f"the diagram lacks an option of a {result.kind}")
