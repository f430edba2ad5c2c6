"""Closed forms for siblings and token trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.model import Model
from losslesscheck.sim.acceptance import rows
from losslesscheck.sim.acceptance.base import check_count, vector
from losslesscheck.sim.acceptance.rows import Row, Rows
from losslesscheck.sim.tokens.closed_forms.numbers import MOST_PATHS, Number, number, one, one_plus, pair
from losslesscheck.tree import Tree


def multi_step(target: Row, draft: Row, *, width: int) -> tuple[Number, ...]:
    """P(the r-th of ``width`` siblings drawn i.i.d. from q is the one accepted) under multi-step speculative
    sampling: βᵣ Πⱼ<ᵣ (1 − βⱼ) with βⱼ = Σ min(Rⱼ, q), R₀ = p, Rⱼ₊₁ = norm((Rⱼ − q)₊) (Miao et al. 2023,
    SpecInfer, arXiv 2305.09781, Alg. 2 and Thm 4.3: all are rejected with probability Π (1 − βⱼ)).

    Raises:
        InputError: if a row is no distribution, the lengths differ, or ``width`` is below 1.

    >>> multi_step([Fraction(1, 2), Fraction(1, 2)], [Fraction(3, 4), Fraction(1, 4)], width=2)
    (Fraction(3, 4), Fraction(1, 16))
    """
    residual, q = pair(target, draft)
    check_count("width", width, 1)
    chances: list[Number] = []
    rejected = one(residual)
    for _ in range(width):
        chances.append(rejected * number(np.minimum(residual, q).sum()))
        rest = np.maximum(residual - q, 0)
        missing = number(rest.sum())  # 1 − β
        rejected = rejected * missing
        if missing > 0:
            residual = rest / missing
    return tuple(chances)


def multi_step_tree(target: Rows, draft: Rows, *, widths: Sequence[int]) -> Number:
    """Tokens of multi-step speculative sampling on the tree with ``widths[i]`` siblings at every node of
    depth i: 1 + Σ_d Π_{i<d} αᵢ with αᵢ the sum of ``multi_step`` (Miao et al. 2023, Alg. 2).

    Args:
        target, draft: one row each, or rows by position (no model: there the nodes of a depth differ).

    Raises:
        InputError: as ``multi_step`` does; and if there are no widths.
    """
    return _regular(multi_step, target, draft, widths)


def without_replacement(target: Row, draft: Row, *, width: int) -> tuple[Number, ...]:
    """``multi_step`` for siblings drawn without replacement: after each try q(x) ← 0 and q is renormalised,
    or uniform over the untried when its support is used up (Chen et al. 2024, Sequoia, arXiv 2402.12374, Alg.
    1; Jeon et al. 2024, arXiv 2402.14160).

    The sum runs over all sequences of rejected siblings.

    Raises:
        InputError: as ``multi_step`` does; if there are more siblings than tokens; and if there are more than
            200,000 such sequences.
    """
    p, q = pair(target, draft)
    check_count("width", width, 1)
    size = len(p)
    if width > size:
        raise InputError(f"width: {width} siblings without replacement, but there are {size} tokens")
    if math.perm(size, width - 1) > MOST_PATHS:
        raise InputError(f"width: {width} siblings of {size} tokens can be rejected in too many ways")
    chances = [0 * one(p)] * width

    def attempt(rank: int, residual: Any, q: Any, tried: tuple[int, ...], mass: Number) -> None:
        chances[rank] += mass * number(np.minimum(residual, q).sum())
        rest, lost = np.maximum(residual - q, 0), np.maximum(q - residual, 0)
        if rank + 1 == width or not rest.sum() > 0:
            return
        residual = rest / rest.sum()
        for token in np.flatnonzero(lost > 0).tolist():
            now = (*tried, token)
            attempt(rank + 1, residual, _untried(q, now), now, mass * number(lost[token]))

    attempt(0, p, q, (), one(p))
    return tuple(chances)


def without_replacement_tree(target: Rows, draft: Rows, *, widths: Sequence[int]) -> Number:
    """``multi_step_tree`` for siblings drawn without replacement."""
    return _regular(without_replacement, target, draft, widths)


def naive_sampling(target: Row, draft: Row, *, width: int) -> Number:
    """P(the target's own draw is one of ``width`` siblings drawn i.i.d. from q) = Σ p(y) (1 − (1 − q(y))^k)
    (Miao et al. 2023, Sec. 4.3: naive sampling, the baseline of Thm 4.3).

    Raises:
        InputError: as ``multi_step`` does.
    """
    p, q = pair(target, draft)
    check_count("width", width, 1)
    return number((p * (1 - (1 - q) ** width)).sum())


def target_only(target: Rows, tree: Tree) -> Number:
    """Tokens of a tree of fixed, distinct siblings under target-only verification with both thresholds 1
    (SGLang, ``tree_speculative_sampling_target_only``), and under any other rule that accepts a sibling with
    the target's probability of it (point-mass drafts, naive sampling on a fixed tree): 1 + Σ over the nodes
    of the target's probability of the path, that is target mass on the siblings, level by level.

    Args:
        target: one row, rows by position, or a model (which gives a fraction).
        tree: siblings without tokens are taken to be the tokens 0, 1, 2, …

    Raises:
        InputError: if the target is no distribution, two siblings are one token, or one lies outside the
            vocabulary.
    """
    p = rows.model("target", target)
    exact = isinstance(target, Model) or rows.is_exact_table(target)
    tree = rules.get("target_only").fit(tree, p.vocabulary)
    tokens: Number = Fraction(0) if exact else 0.0
    stack: list[tuple[Tree, tuple[int, ...], Number]] = [(tree, (), tokens + 1)]
    while stack:
        node, context, reached = stack.pop()
        tokens = tokens + reached  # one token follows at this node: a child, or the last of the step
        row = p.exact(context) if exact else p.floats[int(p.index(context))]
        for child in node.children:
            assert child.token is not None
            stack.append((child, (*context, child.token), reached * number(row[child.token])))
    return tokens


def _regular(
    siblings: Callable[..., tuple[Number, ...]], target: Rows, draft: Rows, widths: Sequence[int]
) -> Number:
    if not rows.by_position(target) or not rows.by_position(draft):
        raise InputError("target: under a model the nodes of a depth may differ; give rows by position")
    exact = rows.is_exact_table(target) and rows.is_exact_table(draft)
    p, q = rows.pair(target, draft)
    assert q is not None

    def some(depth: int, width: int) -> Number:
        at = [m.exact((0,) * depth) if exact else m.floats[int(m.index((0,) * depth))] for m in (p, q)]
        return one_plus(siblings(*at, width=width)) - 1

    accepted = [some(depth, width) for depth, width in enumerate(vector("widths", widths))]
    return one_plus(accumulate(accepted, mul))


def _untried(q: Any, tried: tuple[int, ...]) -> Any:
    rest = q.copy()
    rest[list(tried)] = 0
    if not rest.sum() > 0:
        rest = np.full_like(q, one(q))
        rest[list(tried)] = 0
    return rest / rest.sum()
