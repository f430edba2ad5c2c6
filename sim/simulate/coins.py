"""Coins, many at once: one for every draft token that is looked at, none for those behind a rejection.

Where steps are independent it does not matter which of them is which. The steps that stand at a node are a
number, and so are those of them whose next coin accepts: coins are thrown for all of them together, counted
and forgotten, so memory does not grow with the number of steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from losslesscheck.sim.acceptance.base import Acceptance, FloatArray, IntArray, Nodes, one_by_one

LEVELS = 2**32
"""Values of a coin: an acceptance is rounded to a multiple of 2⁻³², so it is off by at most 1.2e-10."""

CHUNK = 2**15
"""Coins that are thrown together, few enough for the cache."""


def successes(coins: int, probability: float, rng: np.random.Generator) -> int:
    """How many of so many coins come up, each with ``probability``.

    Args:
        rng: its bit generator must give 64 random bits at a time (SFC64, PCG64).
    """
    threshold = round(probability * LEVELS)
    if threshold >= LEVELS:
        return coins
    bound = np.uint32(threshold)
    count = 0
    for start in range(0, coins, CHUNK):
        size = min(CHUNK, coins - start)
        raw: np.ndarray = rng.bit_generator.random_raw(-(-size // 2))
        count += int(np.count_nonzero(raw.view(np.uint32)[:size] < bound))
    return count


def chances(acceptance: Acceptance, nodes: Nodes) -> list[FloatArray]:
    """Node → P(the r-th sibling below it is accepted | those before it were rejected)."""
    kinds = list(zip(nodes.depths.tolist(), nodes.widths.tolist(), strict=True))
    known = {
        (depth, width): one_by_one(acceptance.siblings(depth, width)) if width else np.zeros(0)
        for depth, width in sorted(set(kinds))
    }
    return [known[kind] for kind in kinds]


def walk(steps: int, nodes: Nodes, below: Sequence[FloatArray], rng: np.random.Generator) -> IntArray:
    """How many of so many steps accept 0, 1, … draft tokens, shape [depth + 1].

    Args:
        below: see ``chances``.
    """
    lengths = np.zeros(int(nodes.depths.max()) + 1, dtype=np.int64)
    standing = [0] * len(below)
    standing[0] = steps
    # Nodes are numbered level by level: nobody comes to a node any more when its turn has come.
    for node, (depth, first) in enumerate(zip(nodes.depths.tolist(), nodes.first.tolist(), strict=True)):
        left = standing[node]
        for rank, chance in enumerate(below[node].tolist()):
            accepted = successes(left, chance, rng)
            standing[first + rank] = accepted
            left -= accepted
        lengths[depth] += left
    return lengths


def squares(lengths: IntArray) -> float:
    """Σ (accepted draft tokens)² over steps that are units of their own."""
    return float(lengths @ np.arange(len(lengths)) ** 2)
