"""References that verify a single path of draft tokens.

Arguments: target [B, N+1, V], draft [B, N, V], tokens [B, N], lengths [B], coins [B, N], final [B].
They return an ``Outcome``.
"""

from __future__ import annotations

from array_api_compat import array_namespace, device

from losslesscheck.testing.reference.arrays import (
    Array,
    Namespace,
    Outcome,
    arange,
    draw,
    entries,
    put,
    rows,
    surplus,
    take,
    total,
    which,
)


def chain(target: Array, draft: Array, tokens: Array, lengths: Array, coins: Array, final: Array) -> Outcome:
    """Accept x iff coin · q(x) < p(x); the last token is drawn from norm((p − q)₊) after a rejection,
    else from p.

    Leviathan, Kalman & Matias 2023 (arXiv 2211.17192), Alg. 1.
    """
    xp = array_namespace(target)
    p, q = of_tokens(xp, target, draft, tokens)
    accepted = leading(xp, coins * q < p, lengths)
    return finished(xp, target, draft, tokens, lengths, accepted, final)


def chain_kernel(
    target: Array, draft: Array, tokens: Array, lengths: Array, coins: Array, final: Array
) -> Outcome:
    """As ``chain``, but no x is accepted unless 0 < q(x) ≤ 1.

    SGLang, chain_speculative_sampling_triton.
    """
    xp = array_namespace(target)
    p, q = of_tokens(xp, target, draft, tokens)
    accepted = leading(xp, (q > 0) & (q <= 1) & (coins * q < p), lengths)
    return finished(xp, target, draft, tokens, lengths, accepted, final)


def block_verification(
    target: Array, draft: Array, tokens: Array, lengths: Array, coins: Array, final: Array
) -> Outcome:
    """Keep the longest path whose coin is below hᵢ; draw from norm((wᵢ · p − q)₊), or from p if it is
    the whole path.

    wᵢ = min(1, wᵢ₋₁ p(xᵢ)/q(xᵢ)) from w₀ = 1; Sᵢ = Σ(wᵢ · p − q)₊ at the rows after xᵢ;
    hᵢ = Sᵢ/(Sᵢ + 1 − wᵢ), for the last draft wᵢ. Sun et al. 2024 (arXiv 2403.10444), Alg. 2.
    """
    xp = array_namespace(target)
    count = tokens.shape[1]
    p, q = of_tokens(xp, target, draft, tokens)
    kept = xp.zeros_like(lengths)
    weight = weight_kept = xp.ones_like(target[:, 0, 0])
    for i in range(count):
        scaled = weight * p[:, i]
        larger = xp.maximum(scaled, q[:, i])  # min(1, a/b) = a/max(a, b)
        weight = scaled / xp.where(larger > 0, larger, xp.ones_like(larger))
        coin = coins[:, i]
        keep = (coin < weight) & (lengths == i + 1)
        if i + 1 < count:
            mass = total(xp, surplus(xp, target[:, i + 1] * weight[:, None], draft[:, i + 1]))
            below = (coin * (mass + (1 - weight)) < mass) | (weight >= 1)
            keep = keep | (below & (lengths > i + 1))
        kept = xp.where(keep, i + 1, kept)
        weight_kept = xp.where(keep, weight, weight_kept)
    return finished(xp, target, draft, tokens, lengths, kept, final, weight_kept)


def blockwise(
    target: Array, tokens: Array, lengths: Array, *, top_k: int, distance: int, minimum_block: int
) -> Outcome:
    """Accept the drafts that greedy decoding would have produced, then emit the target's best token.

    Looser criteria: among the ``top_k`` best tokens, an index at most ``distance`` from the best
    one's, the first ``minimum_block`` − 1 drafts whatever they are. Stern, Shazeer & Uszkoreit 2018
    (arXiv 1811.03115), Sec. 3 and 5.
    """
    xp = array_namespace(target)
    count = tokens.shape[1]
    best = xp.argmax(target, axis=2)
    accept = abs(tokens - best[:, :count]) <= distance
    if top_k > 1:
        p = target[:, :count]
        x = tokens[:, :, None]
        p_x = xp.take_along_axis(p, x, axis=2)
        earlier = arange(xp, target.shape[2], target) < x
        ahead = (p > p_x) | ((p == p_x) & earlier)
        accept = accept | (xp.sum(xp.astype(ahead, xp.int64), axis=2) < top_k)
    accept = accept | (arange(xp, count, target) + 1 < minimum_block)
    accepted = leading(xp, accept, lengths)
    return emitted(xp, tokens, accepted, entries(best, arange(xp, best.shape[0], best), accepted))


def of_tokens(xp: Namespace, target: Array, draft: Array, tokens: Array) -> tuple[Array, Array]:
    """p(x) and q(x) of every draft token, shape [B, N]."""
    batch, count = tokens.shape
    vocabulary = target.shape[2]
    place = arange(xp, batch * count, tokens) * vocabulary + tokens.reshape(-1)
    q = take(draft.reshape(-1), place).reshape(batch, count)
    # The target has one distribution more than the draft for every row of the batch.
    place = place.reshape(batch, count) + arange(xp, tokens.shape[0], tokens)[:, None] * vocabulary
    p = take(target.reshape(-1), place.reshape(-1)).reshape(batch, count)
    return p, q


def leading(xp: Namespace, accept: Array, lengths: Array) -> Array:
    """How many drafts come before the first that ``accept`` [B, N] rejects, or are there at all."""
    going = lengths > 0
    accepted = xp.zeros_like(lengths)
    for i in range(accept.shape[1]):
        going &= accept[:, i]
        accepted += going
    return xp.minimum(accepted, lengths)


def finished(
    xp: Namespace,
    target: Array,
    draft: Array,
    tokens: Array,
    lengths: Array,
    accepted: Array,
    final: Array,
    weight: Array | None = None,
) -> Outcome:
    """The accepted drafts, and a last token from norm((weight · p − q)₊), or from p after all drafts."""
    count = tokens.shape[1]
    row = arange(xp, tokens.shape[0], tokens)
    here = row * (count + 1) + accepted
    weights = take(rows(target), here)
    if count:
        q = take(rows(draft), row * count + accepted.clip(max=count - 1))
        bonus = accepted == lengths
        q[which(xp, bonus)] = 0
        if weight is not None:
            weights *= xp.where(bonus, xp.ones_like(weight), weight)[:, None]
        weights = surplus(xp, weights, q)
    last = draw(xp, weights, final, lambda empty: take(rows(target), take(here, empty)))
    return emitted(xp, tokens, accepted, last)


def emitted(xp: Namespace, tokens: Array, accepted: Array, last: Array) -> Outcome:
    """The accepted drafts and the last token as a subject returns them."""
    batch, count = tokens.shape
    both = xp.zeros((batch, count + 1), dtype=tokens.dtype, device=device(tokens))
    for i in range(count):  # a copy of all at once costs NumPy twice as much
        both[:, i] = tokens[:, i]
    put(both.reshape(-1), arange(xp, batch, tokens) * (count + 1) + accepted, last)
    return both, accepted
