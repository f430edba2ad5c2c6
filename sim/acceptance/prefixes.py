"""The subset formula with V subsets instead of 2^V: beginnings of the vocabulary in ascending order of p/q.

Let Q(H) be the probability that all k siblings, drawn from q, lie in H; the formula minimises p(H) − Q(H).
Beginnings suffice if what a token adds to Q, per mass of its own, is no less in a larger set (q-convexity, Hu
et al. 2025, arXiv 2502.18779):

    [Q(G+a) − Q(G)] / q(a) ≤ [Q(G+a+b) − Q(G+a)] / q(b)   for a, b outside G.        (*)

For if H is optimal, with a in H and b not, then p(a) ≤ Q(H) − Q(H−a) and p(b) ≥ Q(H+b) − Q(H), so by (*)
p(a)/q(a) ≤ p(b)/q(b); and if these are equal, then p(b) = Q(H+b) − Q(H), and H+b is optimal too.

With replacement Q(H) = q(H)^k, and (*) says that the slopes of the convex function t^k increase.

Without replacement, let every token ring after an exponential time of its own, at rate q: the siblings are
the first k to ring. The right side of (*) is a sum over the sets S of k − 1 tokens of G+a of P(siblings =
S+b) / q(b). As a function of s = q(b) every term is

    (c − s) ∫ (e^{st} − 1)/s · Π_{x in S} (1 − e^{−q(x)t}) e^{−ct} dt,   c = 1 − q(S),

a power series in s whose coefficients are not negative, because the product increases in t and
Gamma(n + 2, c) is stochastically larger than Gamma(n + 1, c). So the right side is smallest for a mass of b
that tends to 0 (while T below keeps its rate). With τ_j the time of the j-th ring in G, τ'_j of that in G+a,
A that of a, T that of the first outside of G+a, and M = min(T, τ_k), (*) then compares

    left   E[1{τ_{k−1} < T} (1 − e^{−q(a)M}) / q(a)] = E[1{τ_{k−1} < T} min(A, M)],
    right  E[1{τ'_{k−1} < T} min(T, τ'_k)],

and τ'_{k−1} ≤ τ_{k−1}, and min(T, τ'_k) ≥ min(A, M) where τ_{k−1} < T. Tokens with q = 0, which are drawn
once the support is used up, are the limit of tokens of equal, vanishing mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import rows
from losslesscheck.sim.acceptance.base import check_count
from losslesscheck.sim.acceptance.rows import Row
from losslesscheck.sim.acceptance.sibling_sets import without_replacement


def by_prefixes(target: Row, draft: Row, *, width: int, replacement: bool = True) -> Fraction | float:
    """α* for ``width`` siblings drawn from the draft, from the beginnings of the order p/q.

    With replacement, and without for two siblings, at any V; else for up to 200,000 sets of siblings.

    Returns:
        A fraction if all entries of both rows are fractions or integers; else a float.

    Raises:
        InputError: if a row is no distribution, the lengths differ, or the width is below 1, above V without
            replacement, or makes too many sets.
    """
    check_count("width", width, 1)
    exact = rows.is_exact(target) and rows.is_exact(draft)
    p, q = (
        np.array(rows.exact_row(name, row), dtype=object) if exact else rows.float_row(name, row)
        for name, row in (("target", target), ("draft", draft))
    )
    if len(p) != len(q):
        raise InputError(f"draft: {len(q)} tokens, but the target has {len(p)}")
    order = _ascending(p, q)
    if replacement or width == 1:
        inside = np.cumsum(q[order]) ** width
    elif width == 2 and np.count_nonzero(q) > 1:
        first = q[order] / (1 - q[order])  # P(x, then y) = q(x) q(y) / (1 − q(x)) for y ≠ x
        inside = np.cumsum(q[order]) * np.cumsum(first) - np.cumsum(q[order] * first)
    else:
        inside = _inside(draft, order, width)
    best = min(0, (np.cumsum(p[order]) - inside).min())
    return Fraction(1 + best) if exact else float(1 + best)


def _ascending(p: Any, q: Any) -> Any:
    """Tokens by p/q; those with p = 0 cost nothing and come first, those with q = 0 last."""
    drawn = q > 0
    ratio = np.where(drawn, p / np.where(drawn, q, 1), p)
    return np.lexsort((ratio, ~drawn & (p > 0)))


def _inside(draft: Row, order: Sequence[int], width: int) -> Any:
    """P(all siblings are among the first n of the order), n = 1 … V."""
    place = {int(token): number for number, token in enumerate(order)}
    ends = [Fraction(0)] * len(place)
    for those, chance in without_replacement(draft, width=width).items():
        ends[max(place[token] for token in those)] += chance
    return np.array(list(accumulate(ends)), dtype=object)
