"""What a rule accepts of given targets and drafts, in fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.instances import uses_draft
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.sim.acceptance import rows
from losslesscheck.sim.acceptance.base import check_count, vector
from losslesscheck.sim.acceptance.models import ByPosition, BySibling
from losslesscheck.sim.acceptance.nodes import Emitted, NodeByNode, whole_step
from losslesscheck.sim.acceptance.rows import Row, Rows
from losslesscheck.tree import Tree

AnyRule = str | Rule | Callable[..., Any]
"""A rule, its name, ``file.py:function`` or a function."""

SECONDS = 20.0


@dataclass(frozen=True)
class AcceptedLaw:
    """How many draft tokens of one step are accepted.

    Attributes:
        lengths: P(exactly i draft tokens are accepted), i = 0 … γ.
    """

    lengths: tuple[Fraction, ...]

    @property
    def reach(self) -> tuple[Fraction, ...]:
        """P(at least i draft tokens are accepted), i = 1 … γ."""
        return tuple(sum(self.lengths[i:], Fraction(0)) for i in range(1, len(self.lengths)))

    @property
    def conditional(self) -> tuple[Fraction | None, ...]:
        """P(at least i are accepted | at least i − 1 are), i = 1 … γ; ``None`` where that never happens."""
        return tuple(b / a if a else None for a, b in pairwise((Fraction(1), *self.reach)))

    @property
    def tokens_per_step(self) -> Fraction:
        """Expected number of emitted tokens: accepted draft tokens + 1."""
        return 1 + sum(self.reach, Fraction(0))


def accepted_law(
    rule: AnyRule,
    target: Rows,
    draft: Rows | None = None,
    *,
    tree: Tree | None = None,
    seconds: float = SECONDS,
) -> AcceptedLaw:
    """The exact law of the number of accepted draft tokens, that is of the emitted tokens but the last.

    Where the rows depend on the position only and the rule decides node by node, every node is read alone,
    at any vocabulary that ``machines.wide`` can read; else every emitted sequence is enumerated.

    Args:
        rule: with its parameters bound.
        target, draft: over the same V tokens; the draft may be left out where the rule never asks for it.
        tree: the token tree; left out, the rule's own.
        seconds: for an enumeration.

    Raises:
        InputError: if rows, tree or vocabularies do not fit.
        RuleError: if the rule does what no rule may do, or reaches an undefined value.
        Undecided: if it takes too long.

    >>> half = Fraction(1, 2)
    >>> accepted_law("chain", [half, half], [Fraction(3, 4), Fraction(1, 4)], tree=Tree.chain(2)).lengths
    (Fraction(1, 4), Fraction(3, 16), Fraction(9, 16))
    """
    rule, p, q, tree = _given(rule, target, draft, tree)
    if rule.form != "whole" and _by_position(target, draft):
        return _node_by_node(NodeByNode(rule, p, q, seconds), tree)

    def lengths(law: Emitted) -> AcceptedLaw:
        masses = [Fraction(0)] * (tree.depth + 1 if rule.takes_tree else 1)
        for emitted, weight in law:
            masses.extend([Fraction(0)] * (len(emitted) - len(masses)))
            masses[len(emitted) - 1] += weight
        return AcceptedLaw(tuple(masses))

    return whole_step(rule, p, q, tree, seconds, lengths)


def by_position(
    rule: AnyRule, target: Rows, draft: Rows | None = None, *, draft_length: int, seconds: float = SECONDS
) -> ByPosition:
    """The acceptance at every position of a chain, given that all before it were accepted.

    For a rule that decides on the whole path they hold for this draft length only. What is never reached
    counts as 0.

    Raises:
        InputError, RuleError, Undecided: as ``accepted_law`` does.
    """
    law = accepted_law(rule, target, draft, tree=Tree.chain(draft_length), seconds=seconds)
    return ByPosition(tuple(float(alpha or 0) for alpha in law.conditional))


def by_sibling(
    rule: AnyRule,
    target: Rows,
    draft: Rows | None = None,
    *,
    tree: Tree | None = None,
    seconds: float = SECONDS,
) -> BySibling:
    """The acceptance of every sibling rank at every depth of a token tree.

    Raises:
        InputError: as ``accepted_law`` does; and if acceptance depends on more than depth and rank: a rule
            that decides on whole paths, a target or draft that depends on the tokens of the context, fixed
            tokens that differ between the nodes of a depth.
    """
    rule, p, q, tree = _given(rule, target, draft, tree)
    _require_nodes(rule)
    if not _by_position(target, draft):
        raise InputError("target: acceptance depends on the context, not only on depth and sibling")
    if tree.depth == 0:
        raise InputError("tree: it has no draft tokens")
    nodes = NodeByNode(rule, p, q, seconds)
    found: list[tuple[Fraction, ...]] = [()] * tree.depth
    for path, node in tree.nodes():
        if node.children:
            law = nodes.law(len(path), nodes.siblings(node))
            shorter, longer = sorted((found[len(path)], law), key=len)
            if longer[: len(shorter)] != shorter:
                raise InputError(f"tree: two nodes at depth {len(path)} accept their siblings differently")
            found[len(path)] = longer
    return BySibling(tuple(tuple(map(float, law)) for law in found))


def siblings_law(
    rule: AnyRule,
    target: Row,
    draft: Row | None = None,
    *,
    siblings: int | Sequence[int],
    seconds: float = SECONDS,
) -> tuple[Fraction, ...]:
    """P(the r-th sibling is the one accepted) at one node, r = 0 … width − 1.

    Args:
        target, draft: the rows at the node.
        siblings: how many are drawn, or the fixed tokens in the order in which they are tried.

    Raises:
        InputError, RuleError, Undecided: as ``accepted_law`` does.
    """
    fixed = not isinstance(siblings, (int, np.integer))
    if isinstance(siblings, (int, np.integer)):
        check_count("siblings", siblings, 1)
        tree = Tree.regular((int(siblings),))
    else:
        tree = Tree.siblings([int(token) for token in vector("siblings", siblings)])
    rule, p, q, tree = _given(rule, target, draft, tree)
    _require_nodes(rule)
    if fixed != rule.fixed_tokens:
        raise InputError(f"siblings: {rule.name} {'draws its tokens' if fixed else 'needs the tokens'}")
    nodes = NodeByNode(rule, p, q, seconds)
    return nodes.law(0, nodes.siblings(tree))


def _given(
    rule: AnyRule, target: Rows, draft: Rows | None, tree: Tree | None
) -> tuple[Rule, Model, Model | None, Tree]:
    rule = rules.resolve(rule)
    p, q = rows.pair(target, draft)
    if q is None and uses_draft(rule):
        raise InputError(f"draft: {rule.name} asks for the draft's distribution")
    return rule, p, q if uses_draft(rule) else None, rule.fit(tree, p.vocabulary)


def _by_position(target: Rows, draft: Rows | None) -> bool:
    return rows.by_position(target) and (draft is None or rows.by_position(draft))


def _require_nodes(rule: Rule) -> None:
    if rule.form == "whole":
        raise InputError(f"rule: {rule.name} decides on whole paths, not by depth and sibling")


def _node_by_node(nodes: NodeByNode, tree: Tree) -> AcceptedLaw:
    masses = []
    level = {tree: Fraction(1)}  # equal subtrees at one depth are walked together
    for depth in range(tree.depth + 1):
        below: dict[Tree, Fraction] = {}
        ended = Fraction(0)
        for node, reached in level.items():
            law = nodes.law(depth, nodes.siblings(node))
            ended += reached * (1 - sum(law, Fraction(0)))
            for child, chance in zip(node.children, law, strict=True):
                below[child] = below.get(child, Fraction(0)) + reached * chance
        masses.append(ended)
        level = below
    return AcceptedLaw(tuple(masses))
