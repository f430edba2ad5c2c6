"""γ by batch size: under load verifying is no longer free, and the best γ falls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslesscheck.sim.acceptance.base import Acceptance, check_count
from losslesscheck.sim.cost import Cost, Draft
from losslesscheck.sim.tune.draft_length import longest_tried


@dataclass(frozen=True)
class BatchRange:
    """Batch sizes first … last (both included) with one best γ; 0 says not to speculate.

    Attributes:
        slowest, fastest: the least and the greatest speedup in that range.
    """

    first: int
    last: int
    draft_length: int
    slowest: float
    fastest: float


def by_batch_size(
    acceptance: Acceptance,
    cost: Cost,
    *,
    up_to: int = 256,
    longest: int | None = None,
    context: float = 0,
) -> tuple[BatchRange, ...]:
    """The best γ for every batch size 1 … ``up_to``, neighbours with the same γ put together.

    Args:
        longest: as in ``best_draft_length``.

    Raises:
        InputError: if a number is out of range.

    >>> from losslesscheck.sim.acceptance import Constant
    >>> from losslesscheck.sim.cost import Linear, Sequential
    >>> cost = Cost(Linear(10.0, per_token=0.2), Sequential(Linear(0.5)))
    >>> [(rows.first, rows.last, rows.draft_length) for rows in by_batch_size(Constant(0.7), cost, up_to=4)]
    [(1, 1, 5), (2, 4, 4)]
    """
    check_count("up_to", up_to, least=1)
    limit = longest_tried(acceptance, longest)
    batches = np.arange(1, up_to + 1)
    tokens = np.concatenate(([1.0], 1.0 + np.cumsum(acceptance.reach(limit))))
    speedups = np.stack(
        [
            np.broadcast_to(
                cost.speedup(
                    min(float(emitted), length + 1.0), Draft.chain(length), batch=batches, context=context
                ),
                batches.shape,
            )
            for length, emitted in enumerate(tokens)
        ]
    )
    lengths, best = speedups.argmax(axis=0), speedups.max(axis=0)
    starts = np.flatnonzero(np.diff(lengths, prepend=-1))
    ends = np.append(starts[1:], up_to)
    return tuple(
        BatchRange(
            int(batches[start]),
            int(batches[end - 1]),
            int(lengths[start]),
            float(best[start:end].min()),
            float(best[start:end].max()),
        )
        for start, end in zip(starts, ends, strict=True)
    )
