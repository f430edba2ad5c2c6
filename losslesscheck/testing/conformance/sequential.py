"""Statistical checks: counts against the law that they should have, looked at as they grow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck import statistics
from losslesscheck.testing.experiment import FIRST_LOOK, POWER

FloatArray = npt.NDArray[np.float64]

LEAST = 2**14
"""Steps of a statistical check at least: contexts that are reached seldom want some too."""

HANDICAP = statistics.combination_handicap(1)


def steps_for(expected: FloatArray, min_tv: float, alpha: float) -> int:
    """How many samples show a bias of this size, in TV, of the law [K]; at least ``LEAST``."""
    needed = statistics.samples_needed(expected, min_tv, alpha=alpha, power=POWER, handicap=HANDICAP)
    return max(LEAST, needed)


def detectable_tv(expected: FloatArray, samples: int, alpha: float) -> float:
    """The bias of the law [K] that so many samples show, with the same probability."""
    return statistics.detectable_tv(expected, samples, alpha, POWER, HANDICAP)


def looked_at(
    expected: FloatArray, alpha: float, samples: int, counts: Callable[[int], Any]
) -> tuple[statistics.Look, int]:
    """Counts until a law is refuted or enough has been seen.

    Args:
        expected: shape [C, K].
        alpha: bound on the probability of a false alarm.
        samples: how many at most.
        counts: given a number of samples, the counts [C, K] when that many have been seen.

    Returns:
        The last look, and how many samples were seen then.
    """
    test = statistics.SequentialTest(expected, alpha=alpha)
    seen = min(FIRST_LOOK, samples)
    while True:
        look = test.look(counts(seen))
        if look.rejected or seen >= samples:
            return look, seen
        seen = min(2 * seen, samples)


def log10(log_e: float) -> float | str:
    """A natural logarithm to base 10, as JSON has it."""
    return log_e / math.log(10) if math.isfinite(log_e) else str(log_e)
