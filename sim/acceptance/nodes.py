"""A rule read with the exact machine: the whole step, or one node of the token tree after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

from losslesscheck.budget import Budget
from losslesscheck.errors import RuleError, Undecided
from losslesscheck.law import UNDEFINED
from losslesscheck.machines.exact import exact_law, fraction
from losslesscheck.machines.wide import node_law
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

FEW = 20_000
"""So many emitted sequences are enumerated at once; for more, a time budget is set."""

T = TypeVar("T")

Emitted = Iterable[tuple[tuple[int, ...], Fraction]]
"""Emitted sequences with their probabilities."""

Siblings = int | tuple[int, ...]
"""How many are drawn, or the fixed tokens in the order in which they are tried."""


def whole_step(
    rule: Rule, p: Model, q: Model | None, tree: Tree, seconds: float, read: Callable[[Emitted], T]
) -> T:
    """What ``read`` makes of the law of the emitted sequences.

    Raises:
        RuleError: if the rule does what no rule may do, or reaches an undefined value.
        Undecided: if it takes longer than ``seconds``.
    """

    def work() -> T:
        law = exact_law(rule, p, q, tree)
        if UNDEFINED in law:
            raise _undefined(rule, fraction(law[UNDEFINED]))
        return read((emitted, fraction(weight)) for emitted, weight in law.items())

    if p.vocabulary ** (tree.depth + tree.width) <= FEW:
        return work()
    return Budget(seconds=seconds).run(work)


class NodeByNode:
    """A step or node rule whose target and draft depend on the position only.

    Args:
        seconds: for one node, where its tokens have to be enumerated.
    """

    def __init__(self, rule: Rule, p: Model, q: Model | None, seconds: float) -> None:
        self.rule, self.p, self.q, self.seconds = rule, p, q, seconds
        self._known: dict[tuple[int, int, Siblings], tuple[Fraction, ...]] = {}

    def siblings(self, node: Tree) -> Siblings:
        """The siblings below a node of the tree, as the rule takes them."""
        if not self.rule.fixed_tokens:
            return len(node.children)
        return tuple(child.token for child in node.children if child.token is not None)

    def law(self, depth: int, siblings: Siblings) -> tuple[Fraction, ...]:
        """P(the r-th sibling is the one accepted) at a node of that depth, r = 0 … width − 1.

        Raises:
            RuleError: if the rule does what no rule may do, or reaches an undefined value.
            Undecided: if it takes too long.
        """
        if not isinstance(siblings, int) and self.rule.form == "node":
            accepted = self._accepted(depth, siblings)
            first = {token: rank for rank, token in reversed(list(enumerate(siblings)))}
            return tuple(
                accepted[token] if first[token] == rank else Fraction(0)
                for rank, token in enumerate(siblings)
            )
        # A step does not know which siblings follow: what one more of them adds is its own share.
        shown = range(siblings + 1) if isinstance(siblings, int) else _prefixes(siblings)
        some = [sum(self._accepted(depth, those), Fraction(0)) for those in shown]
        return tuple(b - a for a, b in pairwise(some))

    def _accepted(self, depth: int, siblings: Siblings) -> tuple[Fraction, ...]:
        """P(a sibling is accepted and is t), for every token t."""
        context = (0,) * depth
        rows = int(self.p.index(context)), -1 if self.q is None else int(self.q.index(context))
        if (*rows, siblings) not in self._known:
            q = None if self.q is None else self.q.exact(context)
            self._known[*rows, siblings] = self._read(self.p.exact(context), q, siblings)
        return self._known[*rows, siblings]

    def _read(self, p: list[Fraction], q: list[Fraction] | None, siblings: Siblings) -> tuple[Fraction, ...]:
        if siblings in (0, ()):
            return ()
        try:
            law = node_law(self.rule, p, q, siblings)
        except Undecided:  # one drawn token decides about another: follow every token on its own
            tree = Tree.regular((siblings,)) if isinstance(siblings, int) else Tree.siblings(siblings)
            draft = None if q is None else Model.constant(q, "draft")
            target = Model.constant(p, "target")
            return whole_step(self.rule, target, draft, tree, self.seconds, lambda law: _first(len(p), law))
        if law.undefined:
            raise _undefined(self.rule, law.undefined)
        return tuple(law.accepted[token] for token in range(len(p)))


def _prefixes(siblings: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [siblings[:count] for count in range(len(siblings) + 1)]


def _first(vocabulary: int, law: Emitted) -> tuple[Fraction, ...]:
    accepted = [Fraction(0)] * vocabulary
    for emitted, weight in law:
        if len(emitted) > 1:
            accepted[emitted[0]] += weight
    return tuple(accepted)


def _undefined(rule: Rule, weight: Fraction) -> RuleError:
    return RuleError(f"{rule.name} reaches an undefined value with probability {weight}")
