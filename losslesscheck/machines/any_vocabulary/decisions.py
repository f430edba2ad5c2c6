"""The decision tree of a rule over an unknown vocabulary, and what follows from it.

At a draw the tree branches over the tokens known so far (the fixed ones and those drawn earlier) and one
generic token, different from all of them. Laws are folded from the leaves; masses are products from the
root, summed over drawn tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from losslesscheck.algebra.field import Rational
from losslesscheck.errors import Undecided
from losslesscheck.machines.any_vocabulary.coordinates import PLACE, Coordinates

Signature = tuple[str | bool, ...]
"""The outcomes of the choices on a path: token names for draws, truth values for flips."""


@dataclass(frozen=True)
class Entries:
    """A vector: its entry at any token (a formula at the placeholder), except at the tokens in ``at``."""

    smooth: Rational
    at: dict[str, Rational] = field(default_factory=dict)

    def entry(self, c: Coordinates, token: str) -> Rational:
        return self.at[token] if token in self.at else c.rename(self.smooth, PLACE, token)

    def map(self, function: Callable[[Rational], Rational]) -> Entries:
        return Entries(function(self.smooth), {t: function(v) for t, v in self.at.items()})

    def combine(
        self, other: Entries, c: Coordinates, function: Callable[[Rational, Rational], Rational]
    ) -> Entries:
        tokens = dict.fromkeys((*self.at, *other.at))
        return Entries(
            function(self.smooth, other.smooth),
            {t: function(self.entry(c, t), other.entry(c, t)) for t in tokens},
        )

    def total(self, c: Coordinates) -> Rational:
        """The sum over the vocabulary."""
        result = c.total(self.smooth)
        for token, value in self.at.items():
            result = result + value - c.rename(self.smooth, PLACE, token)
        return result


@dataclass
class Node:
    """What a rule does between two choices.

    Attributes:
        divisors: what it divides by, or supposes to be different from zero.
        tokens: the tokens known here, the fixed ones first.
        leaf: the law of the next token, if the rule ends here.
        emitted: the tokens that the rule emits here, if it is written whole.
        edges: (outcome, weight, node below); the outcome of the generic token's edge is its name.
        generic: the name of the generic token that is drawn here, if one is.
    """

    tokens: tuple[str, ...]
    divisors: list[Rational] = field(default_factory=list)
    leaf: Entries | None = None
    emitted: tuple[str, ...] = ()
    edges: list[tuple[str | bool, Rational, Node]] = field(default_factory=list)
    generic: str | None = None

    def leaves(self) -> int:
        return 1 if self.leaf is not None else sum(below.leaves() for _, _, below in self.edges)


def law(node: Node, c: Coordinates) -> Entries:
    """The law of the next token from here on."""
    if node.leaf is not None:
        return node.leaf
    result = Entries(c.field.zero)
    for outcome, weight, below in node.edges:
        result = _plus(result, _carried(node, outcome, weight, law(below, c), c), c)
    return result


def second_law(node: Node, first: str, c: Coordinates) -> Entries:
    """The probability that ``first`` is emitted and then another token, as a vector over that token.

    If ``first`` is drawn it holds for each value of it.
    """
    if node.leaf is not None:
        second = node.emitted[1] if len(node.emitted) > 1 and node.emitted[0] == first else None
        return Entries(c.field.zero, {second: c.field.one} if second else {})
    result = Entries(c.field.zero)
    for outcome, weight, below in node.edges:
        part = second_law(below, first, c)
        if outcome == first:
            part = part.map(lambda value, weight=weight: weight * value)  # type: ignore[misc]
        else:
            part = _carried(node, outcome, weight, part, c, also=first)
        result = _plus(result, part, c)
    return result


def groups(node: Node, c: Coordinates) -> list[tuple[Signature, Entries]]:
    """The law from here on, one part for the paths that begin with each signature.

    One part is one path, unless only the sum over several can be written down.
    """
    if node.leaf is not None:
        return [((), node.leaf)]
    result: list[tuple[Signature, Entries]] = []
    for outcome, weight, below in node.edges:
        parts = groups(below, c)
        try:
            result += [
                ((outcome, *signature), _carried(node, outcome, weight, part, c)) for signature, part in parts
            ]
        except Undecided:
            result.append(((outcome,), _carried(node, outcome, weight, law(below, c), c)))
    return result


def _plus(a: Entries, b: Entries, c: Coordinates) -> Entries:
    return a.combine(b, c, lambda x, y: x + y)


def _carried(
    node: Node, outcome: str | bool, weight: Rational, below: Entries, c: Coordinates, also: str | None = None
) -> Entries:
    """The part of the law that an edge contributes; ``also`` is a token that is held fixed besides."""
    if outcome != node.generic:
        return below.map(lambda value: weight * value)
    x, known = str(outcome), node.tokens
    if also is not None and also not in known:
        known = (*known, also)
    smooth = weight * below.smooth
    # y is not among the known tokens, but it may be x.
    itself = c.rename(weight * below.entry(c, x), x, PLACE)
    elsewhere = excluding(smooth, x, (*known, PLACE), c)
    at = {t: excluding(weight * below.entry(c, t), x, known, c) for t in known}
    return Entries(itself + elsewhere, at)


def excluding(f: Rational, token: str, others: tuple[str, ...], c: Coordinates) -> Rational:
    """Σ f over all values of ``token`` but ``others``."""
    result = c.total(f, token)
    for other in others:
        result = result - c.rename(f, token, other)
    return result


@dataclass(frozen=True)
class Reached:
    """A divisor, and the probability of getting to where it is divided by.

    ``mass`` is for each value of the drawn tokens in ``kept``, summed over all others, and over the paths on
    which it is first met; ``after`` says where on these that is. ``before`` are the divisors that all of
    these paths met earlier.
    """

    divisor: Rational
    mass: Rational
    kept: frozenset[str]
    after: tuple[Signature, ...]
    before: tuple[Rational, ...]


@dataclass(frozen=True)
class _Met:
    """A place where a divisor is first met, reached with a probability after drawing tokens.

    ``before`` are the divisors met earlier on the path, by their text.
    """

    weight: Rational
    drawn: tuple[str, ...]
    after: Signature
    before: dict[str, Rational]


def obligations(root: Node, fixed: tuple[str, ...], c: Coordinates) -> list[Reached]:
    """Every divisor of the rule with the probability of reaching it."""
    found: dict[str, tuple[Rational, list[_Met]]] = {}

    def visit(
        node: Node, weight: Rational, drawn: tuple[str, ...], after: Signature, met: dict[str, Rational]
    ) -> None:
        for divisor in node.divisors:
            if (key := str(divisor)) not in met:
                found.setdefault(key, (divisor, []))[1].append(_Met(weight, drawn, after, met))
                met = {**met, key: divisor}
        for outcome, probability, below in node.edges:
            longer = (*drawn, str(outcome)) if outcome == node.generic else drawn
            visit(below, weight * probability, longer, (*after, outcome), met)

    visit(root, c.field.one, (), (), {})
    return [_reached(divisor, places, fixed, c) for divisor, places in found.values()]


def _reached(divisor: Rational, places: list[_Met], fixed: tuple[str, ...], c: Coordinates) -> Reached:
    drawn = {t for place in places for t in place.drawn}
    kept = frozenset(c.all_tokens(divisor) & drawn)
    while True:
        mass = c.field.zero
        try:
            for place in places:
                mass = mass + _summed(place.weight, place.drawn, kept, fixed, c)
        except _Stuck as stuck:
            kept |= {stuck.token}
        else:
            first, *others = places
            common = (d for key, d in first.before.items() if all(key in place.before for place in others))
            return Reached(divisor, mass, kept, tuple(place.after for place in places), tuple(common))


class _Stuck(Exception):
    def __init__(self, token: str) -> None:
        self.token = token


def _summed(
    weight: Rational, tokens: tuple[str, ...], kept: frozenset[str], fixed: tuple[str, ...], c: Coordinates
) -> Rational:
    """The weight of a path summed over its drawn tokens but ``kept``; drawn tokens are all distinct."""
    left = list(tokens)
    for token in reversed(tokens):
        if token not in kept:
            left.remove(token)
            try:
                weight = excluding(weight, token, (*fixed, *left), c)
            except Undecided:
                raise _Stuck(token) from None
    return weight


def nodes(root: Node) -> Iterator[Node]:
    """The nodes, parents before children."""
    yield root
    for _, _, below in root.edges:
        yield from nodes(below)
