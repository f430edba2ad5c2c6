"""What the reference subjects do with arrays of either library: gather, add up, draw.

Probabilities are added, multiplied and compared entry by entry, in an order that is fixed here; sums
are taken in pairs. A library's own sums and matrix products round as it suits the size of the batch.
The outcome of a row is thus the same to the last bit whatever rows stand beside it, and the same in
NumPy and in torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from array_api_compat import device, is_torch_array

Array = Any
"""A NumPy array or a torch tensor."""

Namespace = Any
"""Its library, as ``array_api_compat.array_namespace`` gives it."""

Outcome = tuple[Array, Array]
"""Emitted tokens [B, N+1], of which the first accepted + 1 of a row count, and accepted drafts [B]."""


def take(array: Array, index: Array) -> Array:
    """``array[index]``, which costs several times as much."""
    return array.index_select(0, index) if is_torch_array(array) else array.take(index, axis=0)


def put(array: Array, index: Array, values: Array) -> None:
    """``array[index] = values``, which costs several times as much in torch."""
    if is_torch_array(array):
        array.index_copy_(0, index, values)
    else:
        array[index] = values


def rows(array: Array) -> Array:
    """The distributions of ``array`` [..., V] one below the other, shape [R, V]."""
    return array.reshape(-1, array.shape[-1])


def entries(matrix: Array, row: Array, token: Array) -> Array:
    """``matrix[row, token]``."""
    return take(matrix.reshape(-1), row * matrix.shape[1] + token)


def arange(xp: Namespace, count: int, beside: Array) -> Array:
    """0, 1, …, count − 1 on the device of ``beside``."""
    return xp.arange(count, device=device(beside))


def which(xp: Namespace, condition: Array) -> Array:
    """The indices at which ``condition`` [B] holds."""
    (index,) = xp.nonzero(condition)
    return index


def surplus(xp: Namespace, p: Array, q: Array) -> Array:
    """(p − q)₊, written over p.

    It is max(p, q) − q, since clipping the difference costs NumPy three times as much.
    """
    xp.maximum(p, q, out=p)
    p -= q
    return p


def pair_sums(xp: Namespace, weights: Array) -> list[Array]:
    """The weights [B, V], their sums in pairs, the sums of those in pairs, …, the totals [B, 1].

    Zeros at the end make V a power of two.
    """
    batch, vocabulary = weights.shape
    missing = (1 << (vocabulary - 1).bit_length()) - vocabulary
    if missing:
        zeros = xp.zeros((batch, missing), dtype=weights.dtype, device=device(weights))
        weights = xp.concat([weights, zeros], axis=1)
    levels = [weights]
    while levels[-1].shape[1] > 1:
        levels.append(levels[-1][:, 0::2] + levels[-1][:, 1::2])
    return levels


def total(xp: Namespace, weights: Array) -> Array:
    """The sums of the rows of ``weights`` [B, V]."""
    return pair_sums(xp, weights)[-1][:, 0]


def norm(xp: Namespace, weights: Array) -> Array:
    """The rows of ``weights`` [B, V] divided by their sums; a row of zeros stays as it is."""
    mass = total(xp, weights)
    return weights / xp.where(mass > 0, mass, xp.ones_like(mass))[:, None]


def draw(
    xp: Namespace, weights: Array, coin: Array, otherwise: Callable[[Array], Array] | None = None
) -> Array:
    """A token of every row by inverse transform.

    It is the first one in index order up to which the weights sum to more than coin · total; where
    rounding leaves none, the last one of positive weight. A token of weight 0 is never drawn.

    Args:
        weights: shape [B, V], not negative; they need not sum to one.
        coin: shape [B], in [0, 1).
        otherwise: given the indices of the rows whose weights are all zero, what to draw from there.
    """
    levels = pair_sums(xp, weights)
    rest = coin * levels[-1][:, 0]
    place = arange(xp, weights.shape[0], weights)
    for level in levels[-2::-1]:
        # Is it in the left or in the right one of the two that were added up?
        place += place
        left = take(level.reshape(-1), place)
        right = rest >= left
        rest -= left * right
        place += right
    token = place & (levels[0].shape[1] - 1)  # the width is a power of two
    wrong = which(xp, take(levels[0].reshape(-1), place) <= 0)
    if wrong.shape[0]:
        put(token, wrong, last_positive(xp, take(levels[0], wrong), take(token, wrong)))
        empty = which(xp, levels[-1][:, 0] <= 0)
        if otherwise is not None and empty.shape[0]:
            put(token, empty, draw(xp, otherwise(empty), take(coin, empty)))
    return token


def last_positive(xp: Namespace, weights: Array, token: Array) -> Array:
    """The last token, up to ``token`` [B], of positive weight."""
    width = weights.shape[1]
    positive = (weights > 0) & (arange(xp, width, token) <= token[:, None])
    return width - 1 - xp.argmax(xp.astype(xp.flip(positive, axis=1), xp.int8), axis=1)
