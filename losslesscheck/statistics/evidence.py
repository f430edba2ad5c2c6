"""What a test says at a look, and what it keeps from one look to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from losslesscheck.statistics.arguments import check_open_unit, checked_lengths
from losslesscheck.statistics.contexts import combined_log_e_value, context_weights
from losslesscheck.statistics.e_process import log_mean

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Look:
    """What a test says at a look.

    Attributes:
        log_e: natural logarithm of the combined e-value now.
        largest: the largest ``log_e`` so far.
        rejected: whether the test ever rejected, at this look or before: ``largest`` reached log(1/α).
        samples: how many next tokens were counted, of all contexts together.
        alone: log e-value of every context by itself now, shape [C].
        biased: the contexts that were ever significant by themselves, in increasing order.
        worst: the context with the largest ``alone``, ``None`` if nothing was counted.
        tv_bounds: upper confidence bounds on the TV at every context, shape [C]; the smallest so far.
    """

    log_e: float
    largest: float
    rejected: bool
    samples: int
    alone: FloatArray = field(repr=False)
    biased: tuple[int, ...]
    worst: int | None
    tv_bounds: FloatArray = field(repr=False)


class Evidence:
    """Turns the e-values and bounds of every look into a ``Look``.

    Args:
        contexts: how many contexts are tested together.
        lengths: the number of tokens of every context, shape [C]; zeros by default.
        alpha: bound on the probability of a false alarm.
        across: see ``combined_log_e_values``.

    Attributes:
        levels: the confidence level's share of every context, shape [C]; their sum is at most alpha.
    """

    def __init__(
        self, contexts: int, lengths: npt.ArrayLike | None, alpha: float, *, across: bool = True
    ) -> None:
        self._across = across
        check_open_unit(alpha=alpha)
        self.lengths = checked_lengths(lengths, contexts)
        weights = context_weights(self.lengths)
        self.levels = alpha * weights
        self._threshold = -math.log(alpha)
        self._log_weights = np.log(weights)
        self._largest = -math.inf
        self._most = np.full(contexts, -math.inf)
        self._bounds = np.ones(contexts)

    def look(self, values: FloatArray, bounds: FloatArray, samples: int) -> Look:
        """Takes in the log e-values [C, K] and TV bounds [C] of a look."""
        log_e = combined_log_e_value(values, self.lengths, across=self._across)
        alone = log_mean(values)
        self._largest = max(self._largest, log_e)
        self._most = np.maximum(self._most, alone)
        self._bounds = np.minimum(self._bounds, bounds)
        biased = tuple(np.flatnonzero(self._most + self._log_weights >= self._threshold).tolist())
        return Look(
            log_e=log_e,
            largest=self._largest,
            # The combined e-value is no less than that of a biased context times its weight, but for
            # rounding.
            rejected=self._largest >= self._threshold or bool(biased),
            samples=samples,
            alone=alone,
            biased=biased,
            worst=int(np.argmax(alone)) if samples else None,
            tv_bounds=self._bounds,
        )
