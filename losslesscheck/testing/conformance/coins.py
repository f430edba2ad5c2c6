"""Injected coins: away from thresholds, close to them, and at the ends of their range.

An implementation may round. Whether a draft token is accepted is thus only certain for coins that are
further from the threshold than rounding moves it: by ``MARGIN``, many times what sums over a few
tokens and a quotient can be off by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.testing.calls import emit
from losslesscheck.testing.conformance.inputs import same
from losslesscheck.testing.subject import Batch, Emitted, Subject

MARGIN = {"float64": 2.0**-16, "float32": 2.0**-16, "float16": 2.0**-7, "bfloat16": 2.0**-4}
"""By the dtype of the probabilities. Float64 as float32: some compute in float32 all the same."""

LEVELS = 2**24
"""How many values a float32 coin takes; coins are multiples of its reciprocal here."""

Coins = npt.NDArray[Any]
"""The coins of a batch [B, N+1], that of the last token at the end."""

Outcome = Callable[[Batch], Emitted]


def coins(batch: Batch) -> Coins:
    return np.column_stack([batch.coins, batch.final])


def with_coins(batch: Batch, thrown: Coins) -> Batch:
    """The batch with other coins, in the dtype of its own."""
    thrown = thrown.astype(batch.coins.dtype)
    return replace(batch, coins=thrown[:, :-1], final=thrown[:, -1])


def moved(batch: Batch, by: Any) -> Batch:
    """The batch with all coins moved, within their range."""
    return with_coins(batch, np.clip(coins(batch) + by, 0, 1 - 1 / LEVELS))


def calm(batch: Batch, margin: float) -> Batch:
    """The batch with its coins further than a margin from the ends of their range."""
    return with_coins(batch, np.clip(coins(batch), 2 * margin, 1 - 2 * margin))


def settled(subject: Subject, batch: Batch, emitted: Emitted) -> npt.NDArray[np.bool_]:
    """The rows in which rounding cannot change what the subject emits, shape [B].

    Its outcome is the same for coins that are larger or smaller by the margin.
    """
    margin = MARGIN[subject.dtype]
    return same(emitted, emit(subject, moved(batch, margin))) & same(
        emitted, emit(subject, moved(batch, -margin))
    )


def thresholds(outcome: Outcome, batch: Batch, rng: np.random.Generator) -> tuple[Batch, Batch, Any]:
    """The batch with one coin of every row just below a threshold, and just above it.

    The outcome as a function of one coin is a step function; one of its steps is found by bisection.

    Returns:
        The two batches, whose coins differ by 2⁻²⁴, and the rows in which a step was found; in the
        others the outcomes for the smallest and the largest value of that coin are the same.
    """
    rows = np.arange(batch.size)
    thrown = coins(batch)
    place = rng.integers(thrown.shape[1], size=batch.size)
    low, high = np.zeros(batch.size, dtype=np.int64), np.full(batch.size, LEVELS - 1)

    def at(levels: npt.NDArray[np.int64]) -> Batch:
        chosen = thrown.copy()
        chosen[rows, place] = levels / LEVELS
        return with_coins(batch, chosen)

    first = outcome(at(low))
    found = ~same(first, outcome(at(high)))
    while (high - low > 1).any():
        middle = (low + high) // 2
        below = same(first, outcome(at(middle)))
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return at(low), at(high), found
