"""Acceptance with confidence intervals, from counts.

All of it takes the steps as independent of one another. The steps of one text are not quite (easy and hard
stretches), so the intervals are somewhat too narrow for what other texts will show.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import betaincinv

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import check_count
from losslesscheck.sim.fit.histogram import Histogram
from losslesscheck.statistics.arguments import check_open_unit


@dataclass(frozen=True)
class Estimate:
    """An acceptance.

    Attributes:
        value: accepted / tried, the most likely value.
        low, high: its confidence interval.
        accepted, tried: coins that came up, and coins.
    """

    value: float
    low: float
    high: float
    accepted: int
    tried: int


def clopper_pearson(accepted: int, tried: int, *, confidence: float) -> Estimate:
    """The exact interval of a probability from independent trials (Clopper & Pearson 1934).

    It covers the probability with at least ``confidence``, whatever it is.

    Raises:
        InputError: if there was no trial or more successes than trials, or for a confidence outside (0, 1).

    >>> found = clopper_pearson(0, 10, confidence=0.95)
    >>> found.low, round(found.high, 4)
    (0.0, 0.3085)
    """
    check_open_unit(confidence=confidence)
    check_count("tried", tried, least=1)
    check_count("accepted", accepted)
    if accepted > tried:
        raise InputError(f"accepted: {accepted} of {tried} tried")
    tail = (1 - confidence) / 2
    low = 0.0 if accepted == 0 else float(betaincinv(accepted, tried - accepted + 1, tail))
    high = 1.0 if accepted == tried else float(betaincinv(accepted + 1, tried - accepted, 1 - tail))
    return Estimate(accepted / tried, low, high, accepted, tried)


def by_position(histogram: Histogram, *, confidence: float = 0.95) -> tuple[Estimate, ...]:
    """P(the draft token at a position is accepted | all before it were), position 1 first.

    The intervals hold together with at least ``confidence`` (family-wise): each of the k is at level
    1 − (1 − confidence)/k (Bonferroni). Given how many steps came to a position, those that pass it are
    binomial, so each interval is exact. Positions that no step came to are left out.

    On a token tree a position is a depth, and its acceptance is that of any sibling of the node.

    Raises:
        InputError: for a confidence outside (0, 1).

    >>> [round(a.value, 2) for a in by_position(Histogram((20, 30, 50)))]
    [0.8, 0.62]
    """
    check_open_unit(confidence=confidence)
    pairs = [(a, t) for a, t in zip(histogram.passed, histogram.tried, strict=True) if t]
    each = 1 - (1 - confidence) / len(pairs)
    return tuple(clopper_pearson(a, t, confidence=each) for a, t in pairs)


def constant(histogram: Histogram, *, confidence: float = 0.95) -> Estimate:
    """The one α of a chain under which every draft token is accepted alike.

    With S accepted and R rejected draft tokens in all, the likelihood is α^S (1 − α)^R whatever γ and the
    number of steps are, and largest at S / (S + R). A step that accepted all γ rejects none.

    The interval is that of Clopper and Pearson for S + R coins. The number of coins is itself random, so it
    is not exact, except for γ = 1; enumerating every outcome for small numbers of steps (see the tests) found
    no α at which it covers less than stated.

    Raises:
        InputError: for a confidence outside (0, 1).

    >>> round(constant(Histogram((20, 30, 50))).value, 4)  # 130 accepted, 50 rejected
    0.7222
    """
    return clopper_pearson(sum(histogram.passed), sum(histogram.tried), confidence=confidence)
