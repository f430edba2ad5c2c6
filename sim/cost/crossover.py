"""Where speculation pays: every batch size and every context length is tried, nothing is assumed monotone.

It often pays up to some batch, where verifying becomes bound by arithmetic, and with a long context again
beyond: then the KV cache, read once for all tokens verified, is what a pass waits for (MagicDec, Chen et al.
2024, arXiv 2408.11049).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from losslesscheck.sim.acceptance.base import check_count
from losslesscheck.sim.cost.draft import Draft
from losslesscheck.sim.cost.steps import Cost

Ranges = tuple[tuple[int, int], ...]
"""Disjoint ranges (first, last), both included, ascending."""


def paying_batches(
    cost: Cost, tokens_per_step: float, draft: Draft, *, context: float = 0, up_to: int = 1024
) -> Ranges:
    """The batch sizes 1 … ``up_to`` at which a step beats decoding one token at a time.

    Speculation loses beyond the last range, unless that ends at ``up_to``.

    Raises:
        InputError: if a number is out of range.

    >>> from losslesscheck.sim.cost import Linear, Sequential
    >>> cost = Cost(Linear(10.0, per_token=0.1), Sequential(Linear(0.5)))
    >>> paying_batches(cost, 2.5, Draft.chain(4))
    ((1, 51),)
    """
    check_count("up_to", up_to, least=1)
    batches = np.arange(1, up_to + 1)
    return _ranges(batches, np.asarray(cost.speedup(tokens_per_step, draft, batch=batches, context=context)))


def paying_contexts(
    cost: Cost, tokens_per_step: float, draft: Draft, *, batch: float = 1, up_to: int = 131072
) -> Ranges:
    """The context lengths 0 … ``up_to`` at which a step beats decoding one token at a time."""
    check_count("up_to", up_to, least=0)
    contexts = np.arange(up_to + 1)
    return _ranges(contexts, np.asarray(cost.speedup(tokens_per_step, draft, batch=batch, context=contexts)))


def _ranges(places: npt.NDArray[np.int64], speedups: npt.NDArray[np.float64]) -> Ranges:
    pays = np.broadcast_to(speedups > 1.0, places.shape)
    edges = np.diff(np.concatenate(([False], pays, [False])).astype(np.int8))
    firsts, lasts = places[np.flatnonzero(edges == 1)], places[np.flatnonzero(edges == -1) - 1]
    return tuple(zip(firsts.tolist(), lasts.tolist(), strict=True))
