"""Statistical checks: counts against the law that they should have, looked at as they grow."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from losslesscheck import statistics
from losslesscheck.testing.experiment import POWER

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


def log10(log_e: float) -> float | str:
    """A natural logarithm to base 10, as JSON has it."""
    return log_e / math.log(10) if math.isfinite(log_e) else str(log_e)
