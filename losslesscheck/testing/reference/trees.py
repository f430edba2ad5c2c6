"""References that verify a token tree.

Arguments: target [B, N+1, V], draft [B, N, V], tokens [B, N], parents [B, N], lengths [B],
coins [B, N], final [B]. They return an ``Outcome``.
"""

from __future__ import annotations

from array_api_compat import array_namespace

from losslesscheck.testing.reference.arrays import (
    Array,
    Namespace,
    Outcome,
    arange,
    draw,
    entries,
    norm,
    put,
    rows,
    surplus,
    take,
    total,
    which,
)
from losslesscheck.testing.reference.walk import Walk


def specinfer(
    target: Array,
    draft: Array,
    tokens: Array,
    parents: Array,
    lengths: Array,
    coins: Array,
    final: Array,
) -> Outcome:
    """Accept x iff coin · q(x) < p(x), else p ← norm((p − q)₊); the last token is drawn from what is left.

    Miao et al. 2023, SpecInfer (arXiv 2305.09781), Alg. 2.
    """
    xp = array_namespace(target)
    walk = Walk(xp, target, tokens, parents, lengths)
    for i, row, x in walk.tries():
        here, drafted = walk.here(row), row * tokens.shape[1] + i
        p, q = entries(walk.left, here, x), entries(rows(draft), drafted, x)
        no = walk.accept(i, row, x, take(coins[:, i], row) * q < p)
        here, drafted = take(here, no), take(drafted, no)
        put(walk.left, here, norm(xp, surplus(xp, take(walk.left, here), take(rows(draft), drafted))))
    return walk.end(final)


def without_replacement(
    target: Array,
    draft: Array,
    tokens: Array,
    parents: Array,
    lengths: Array,
    coins: Array,
    final: Array,
    *,
    exhausted: str,
) -> Outcome:
    """As ``specinfer``, but after each try q(x) ← 0, and q is renormalised.

    All siblings of a node come with the q before any try. When it is used up, the untried tokens are
    equally likely; with ``exhausted="undefined"`` q stays 0, and a token that is left in p is accepted,
    as p/0 would have it. Chen et al. 2024, Sequoia (arXiv 2402.12374); Jeon et al. 2024, RSD
    (2402.14160).
    """
    xp = array_namespace(target)
    walk = Walk(xp, target, tokens, parents, lengths)
    untried = xp.ones_like(target[:, 0])
    tried = lengths < 0
    for i, row, x in walk.tries():
        here = walk.here(row)
        q = take(rows(draft), row * tokens.shape[1] + i)
        later = which(xp, take(tried, row))
        left = take(untried, take(row, later))
        put(q, later, remaining(xp, take(q, later), left, uniform=exhausted == "uniform"))
        q_x = entries(q, arange(xp, row.shape[0], row), x)
        accept = take(coins[:, i], row) * q_x < entries(walk.left, here, x)
        no = walk.accept(i, row, x, accept)
        put(tried, row, ~accept)
        untried[take(row, which(xp, accept))] = 1
        untried[take(row, no), take(x, no)] = 0
        here = take(here, no)
        put(walk.left, here, norm(xp, surplus(xp, take(walk.left, here), take(q, no))))
    return walk.end(final)


def remaining(xp: Namespace, q: Array, untried: Array, *, uniform: bool) -> Array:
    """What the next sibling is drawn from: q on the untried tokens (1; tried ones 0), renormalised."""
    q = q * untried
    if uniform:
        q = xp.where((total(xp, q) > 0)[:, None], q, untried)
    return norm(xp, q)


def point_mass(
    target: Array, tokens: Array, parents: Array, lengths: Array, coins: Array, final: Array
) -> Outcome:
    """Accept x iff coin < p(x), else p(x) ← 0, and p is renormalised.

    Miao et al. 2023 (arXiv 2305.09781), Alg. 2, with a q that is 1 at x.
    """
    xp = array_namespace(target)
    walk = Walk(xp, target, tokens, parents, lengths)
    for i, row, x in walk.tries():
        here = walk.here(row)
        no = walk.accept(i, row, x, take(coins[:, i], row) < entries(walk.left, here, x))
        here = take(here, no)
        walk.left[here, take(x, no)] = 0
        put(walk.left, here, norm(xp, take(walk.left, here)))
    return walk.end(final)


def target_only(
    target: Array,
    tokens: Array,
    parents: Array,
    lengths: Array,
    coins: Array,
    final: Array,
    *,
    threshold_single: float,
    threshold_acc: float,
) -> Outcome:
    """Accept the first sibling x with coin < Σp/threshold_acc, summed over the siblings up to x, or
    with p(x) ≥ threshold_single; else draw from p without the siblings.

    One coin serves all siblings of a node, that of the first. SGLang,
    tree_speculative_sampling_target_only.
    """
    xp = array_namespace(target)
    walk = Walk(xp, target, tokens, parents, lengths)
    cumulative = xp.zeros_like(final)
    coin = cumulative - 1  # below 0 until it is thrown at the node
    for i, row, x in walk.tries():
        here = walk.here(row)
        p = entries(rows(target), here, x)
        thrown = take(coin, row)
        thrown = xp.where(thrown < 0, take(coins[:, i], row), thrown)
        so_far = take(cumulative, row) + p
        accept = (thrown < so_far / threshold_acc) | (p >= threshold_single)
        no = walk.accept(i, row, x, accept)
        put(coin, row, xp.where(accept, -xp.ones_like(thrown), thrown))
        put(cumulative, row, xp.where(accept, xp.zeros_like(so_far), so_far))
        walk.left[take(here, no), take(x, no)] = 0
    return walk.end(final)


def naive_sampling(
    target: Array, tokens: Array, parents: Array, lengths: Array, coins: Array, final: Array
) -> Outcome:
    """Draw y ~ p and emit it; go on below the sibling that is y, if there is one.

    The coin of the first sibling draws y. Miao et al. 2023 (arXiv 2305.09781), Sec. 4.3.
    """
    xp = array_namespace(target)
    walk = Walk(xp, target, tokens, parents, lengths)
    y = xp.zeros_like(lengths) - 1  # −1 until it is drawn at the node
    for i, row, x in walk.tries():
        fresh = take(row, which(xp, take(y, row) < 0))
        put(y, fresh, draw(xp, take(rows(target), walk.here(fresh)), take(coins[:, i], fresh)))
        here = take(y, row)
        walk.accept(i, row, x, here == x)
        put(y, row, xp.where(here == x, xp.zeros_like(here) - 1, here))
    leaf = which(xp, y < 0)
    put(y, leaf, draw(xp, take(rows(target), walk.here(leaf)), take(final, leaf)))
    return walk.emit(y)


def tree_greedy(target: Array, tokens: Array, parents: Array, lengths: Array) -> Outcome:
    """Accept the sibling that is the target's best token, the first of equals; else emit that token.

    SGLang, verify_tree_greedy; Miao et al. 2023 (arXiv 2305.09781), Alg. 2, VerifyGreedy.
    """
    xp = array_namespace(target)
    walk = Walk(xp, target, tokens, parents, lengths)
    best = xp.argmax(rows(target), axis=1)
    for i, row, x in walk.tries():
        walk.accept(i, row, x, take(best, walk.here(row)) == x)
    return walk.emit(take(best, walk.here()))
