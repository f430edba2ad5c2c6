"""The best token tree for a budget of draft tokens, and the best budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import Acceptance, check_count
from losslesscheck.sim.acceptance.models import ByPosition, BySibling, Constant
from losslesscheck.sim.cost import Cost, Draft
from losslesscheck.sim.cost.checks import FloatArray
from losslesscheck.sim.tune.growth import Level, grow
from losslesscheck.tree import LONGEST, MOST_TOKENS, Tree

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Numbers of draft tokens that ``best_size`` tries by default."""


class Trees:
    """The best trees of at most so many draft tokens and levels, for every number up to the bounds.

    Args:
        acceptance: its ``siblings`` decide; nodes of one depth are alike.
        budget: draft tokens (the root is not counted), at most 2000.
        depth: levels of draft tokens, at most 128.
        width: children of a node, at most; by default the budget, or as many as ``BySibling`` has.

    Raises:
        InputError: if a bound is out of range, or the model says nothing about a depth or width.

    >>> trees = Trees(BySibling(((0.6, 0.3),)), budget=4, depth=3)
    >>> print(trees.tree(4, 3))
    [[[·]] ·]
    >>> trees.tokens_per_step(3).round(3).tolist()
    [1.0, 1.6, 1.96, 2.26, 2.476]
    """

    def __init__(self, acceptance: Acceptance, *, budget: int, depth: int, width: int | None = None) -> None:
        _check_bounds(budget, depth, width)
        self.budget, self.depth = budget, depth
        rows = sibling_rows(acceptance, depth, budget if width is None else min(width, budget))
        self._alike = all(len(row) == len(rows[0]) and (row == rows[0]).all() for row in rows)
        if self._alike:
            levels = grow(rows, budget)
            self._levels = [levels[:bound] for bound in range(1, depth + 1)]
        else:
            self._levels = [grow(rows[:bound], budget) for bound in range(1, depth + 1)]
        self._trees: dict[tuple[int, int, int], Tree] = {}

    def tokens_per_step(self, depth: int) -> FloatArray:
        """Of the best tree of at most n draft tokens and ``depth`` levels, n = 0 … budget: the accepted
        ones + 1; shape [budget + 1]."""
        self._check(0, depth)
        return 1.0 + self._levels[depth - 1][-1].values

    def tree(self, tokens: int, depth: int) -> Tree:
        """The best tree of at most so many draft tokens and levels; draft tokens that can't be accepted are
        left out."""
        self._check(tokens, depth)
        return self._build(self._levels[depth - 1], depth, tokens)

    def _build(self, levels: list[Level], bound: int, tokens: int) -> Tree:
        if not levels or not tokens:
            return Tree()
        key = 0 if self._alike else bound, len(levels), tokens
        if key not in self._trees:
            shares = levels[-1].split(tokens)
            self._trees[key] = Tree(tuple(self._build(levels[:-1], bound, share - 1) for share in shares))
        return self._trees[key]

    def _check(self, tokens: int, depth: int) -> None:
        check_count("tokens", tokens)
        check_count("depth", depth, least=1)
        if tokens > self.budget:
            raise InputError(f"tokens: {tokens} are more than the budget of {self.budget}")
        if depth > self.depth:
            raise InputError(f"depth: {depth} is more than the bound of {self.depth}")


@dataclass(frozen=True)
class TreeChoice:
    """A tree, the tokens per step it is expected to give (accepted + 1), and the speedup."""

    tree: Tree
    draft_tokens: int
    depth: int
    tokens_per_step: float
    speedup: float


def best_tree(
    acceptance: Acceptance, *, budget: int, depth: int = 32, width: int | None = None
) -> tuple[Tree, float]:
    """The tree of at most ``budget`` draft tokens and ``depth`` levels with the most tokens per step, and
    these (accepted + 1). Bounds and errors as for ``Trees``.

    >>> print(*best_tree(BySibling(((0.5, 0.4),)), budget=3, depth=2))
    [[·] ·] 2.15
    """
    trees = Trees(acceptance, budget=budget, depth=depth, width=width)
    return trees.tree(budget, depth), float(trees.tokens_per_step(depth)[-1])


def best_size(
    acceptance: Acceptance,
    cost: Cost,
    *,
    budget: int,
    depth: int = 32,
    width: int | None = None,
    sizes: tuple[int, ...] | None = None,
    batch: float = 1,
    context: float = 0,
) -> TreeChoice | None:
    """The best trees of all sizes and depths, and of these the one with the greatest speedup:
    G(n, d) / (t(n) + d c), or whatever ``cost`` says.

    Args:
        sizes: numbers of draft tokens to try; by default ``SIZES`` up to the budget, and the budget.

    Returns:
        The smallest and shallowest of several; ``None`` if none beats decoding without speculation.

    Raises:
        InputError: as ``Trees``.
    """
    trees = Trees(acceptance, budget=budget, depth=depth, width=width)
    if sizes is None:
        sizes = (*(size for size in SIZES if size < budget), budget)
    best = None
    for bound in range(1, depth + 1):
        tokens = trees.tokens_per_step(bound)
        for size in sizes:
            check_count("sizes", size, least=1)
            tree = trees.tree(size, bound)
            if not tree.children:
                continue
            draft = Draft.of(tree)
            speedup = float(
                cost.speedup(min(tokens[size], draft.tokens + 1.0), draft, batch=batch, context=context)
            )
            if speedup > (best.speedup if best else 1.0):
                levels = len(draft.passes)
                best = TreeChoice(tree, draft.tokens, levels, float(tokens[size]), speedup)
    return best


def sibling_rows(acceptance: Acceptance, depth: int, width: int) -> list[FloatArray]:
    """What the siblings of every depth are accepted with."""
    if not isinstance(acceptance, Acceptance):
        raise InputError(f"acceptance: {acceptance!r} is no acceptance model")
    if isinstance(acceptance, Constant):
        return [acceptance.siblings(0, width)] * depth
    if isinstance(acceptance, ByPosition) and depth > len(acceptance.alphas):
        raise InputError(f"depth: {depth}, but alphas has {len(acceptance.alphas)} positions")
    if isinstance(acceptance, BySibling):
        last = len(acceptance.rows) - 1
        widths = [min(width, len(acceptance.rows[min(level, last)])) for level in range(depth)]
    else:
        widths = [width] * depth
    return [np.asarray(acceptance.siblings(level, widths[level])) for level in range(depth)]


def _check_bounds(budget: int, depth: int, width: int | None) -> None:
    check_count("budget", budget, least=1)
    check_count("depth", depth, least=1)
    if width is not None:
        check_count("width", width, least=1)
    if budget > MOST_TOKENS:
        raise InputError(f"budget: {budget} draft tokens are more than {MOST_TOKENS}")
    if depth > LONGEST:
        raise InputError(f"depth: {depth} is more than {LONGEST}")
