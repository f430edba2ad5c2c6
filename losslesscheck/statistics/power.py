"""How small a bias a number of samples shows, and how many samples a bias needs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ndtri

from losslesscheck.errors import InputError
from losslesscheck.model import checked_rows
from losslesscheck.statistics.arguments import check_open_unit
from losslesscheck.statistics.e_process import CONCENTRATIONS, token_terms
from losslesscheck.statistics.gamma import stirling_remainder

FloatArray = npt.NDArray[np.float64]

MARGIN = 1.03
"""What ``detectable_tv`` adds for the rounding of probabilities to a grid and the normal tail."""

_MOST = 2.0**60


def detectable_tv(
    expected: npt.ArrayLike,
    samples: npt.ArrayLike,
    alpha: float = 1e-9,
    power: float = 0.9,
    handicap: float = 0.0,
) -> float:
    """The smallest TV bias that the test finds with probability at least ``power``.

    It is that of the bias which is hardest to find: at a given TV t, chi² = N Σ (r − p)²/p is at least
    4 N t² (Cauchy–Schwarz), with equality if and only if r = p (1 ± 2t), one half of the probability
    losing what the other half gains. A bias that is concentrated on few tokens is found when it is
    smaller. The log e-value's mean and variance under that bias are computed with independent Poisson
    counts, half an nat is subtracted for the degree of freedom that this adds, and the log e-value is
    taken as normal: an approximation, held against simulation by the tests.

    Args:
        expected: the law under the null hypothesis, shape [V], or of several contexts [C, V] that are
            tested together (their product) and all have the bias.
        samples: how many next tokens, one number or shape [C].
        alpha: bound on the probability of a false alarm.
        power: probability with which a bias of the returned size is found at a single look; looking
            more often finds it no less often.
        handicap: what further averaging takes off the log e-value.

    Returns:
        A number in (0, 1]; 1 if not even a bias of 1/2 in that direction would be found.

    Raises:
        InputError: for ``alpha`` or ``power`` outside (0, 1), and rows that are no distributions.
    """
    check_open_unit(alpha=alpha, power=power)
    rows = checked_rows(np.atleast_2d(np.asarray(expected, dtype=np.float64)), "expected")
    counts = np.broadcast_to(np.asarray(samples, dtype=np.float64), rows.shape[:1])
    total = float(counts.sum())
    if total <= 0:
        return 1.0
    if _point_masses(rows):
        return float(1 - (1 - power) ** (1 / total))
    finds = _finder(rows, counts, alpha, power, handicap)
    if not finds(0.5):
        return 1.0
    return min(1.0, MARGIN * _first(finds, 1e-9, 0.5))


def samples_needed(
    expected: npt.ArrayLike, tv: float, *, alpha: float = 1e-9, power: float = 0.9, handicap: float = 0.0
) -> int:
    """The number of next tokens with which a TV bias is found with probability at least ``power``.

    The inverse of ``detectable_tv``, with the same arguments.

    Args:
        expected: shape [V], or [C, V]; then the number is that of next tokens after every context.
        tv: the size of the bias.

    Raises:
        InputError: as ``detectable_tv``, and for a ``tv`` outside (0, 1) or too small for 2⁶⁰ samples.

    >>> samples_needed([0.5, 0.5], 0.0016)
    7606951
    """
    check_open_unit(tv=tv, alpha=alpha, power=power)
    rows = checked_rows(np.atleast_2d(np.asarray(expected, dtype=np.float64)), "expected")
    if _point_masses(rows):
        return math.ceil(math.log(1 - power) / math.log1p(-tv) / len(rows))
    bias = min(0.5, tv / MARGIN)

    def finds(samples: float) -> bool:
        return _finder(rows, np.full(len(rows), samples), alpha, power, handicap)(bias)

    if not finds(_MOST):
        raise InputError(f"tv: {tv} is not found with 2**60 samples")
    return math.ceil(_first(finds, 1.0, _MOST))


def _point_masses(rows: FloatArray) -> bool:
    """Whether any bias shows in a token of probability 0, which settles it."""
    return bool((rows > 0).sum(axis=1).max() == 1)


def _first(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where an increasing condition begins to hold, between ``low`` and ``high``, rounded up by < 1 %."""
    low, high = math.log(low), math.log(high)
    while high - low > 0.01:
        middle = (low + high) / 2
        if holds(math.exp(middle)):
            high = middle
        else:
            low = middle
    return math.exp(high)


def _finder(
    rows: FloatArray, counts: FloatArray, alpha: float, power: float, handicap: float
) -> Callable[[float], bool]:
    """Whether the least favourable bias of a size is found."""
    p, n, weight = _cells(rows, counts)
    threshold = math.log(len(CONCENTRATIONS) / alpha) + handicap + 0.5
    deviation = float(ndtri(power))
    # What log E has besides the terms of its tokens; see ``e_process``.
    freedom = ((rows > 0).sum(axis=1) - 1) / 2
    a, reached = CONCENTRATIONS[:, None], counts[counts > 0]
    constant = stirling_remainder(a) - stirling_remainder(a + reached)
    constant -= freedom[counts > 0] * np.log1p(reached / a)

    def finds(t: float) -> bool:
        mean, variance = constant.sum(axis=1), np.zeros(len(CONCENTRATIONS))
        for factor in (1 - 2 * t, 1 + 2 * t):
            first, second = _moments(p, n, factor)
            mean += first @ weight / 2
            variance += second @ weight / 2
        return bool((mean - deviation * np.sqrt(variance) >= threshold).any())

    return finds


def _cells(expected: FloatArray, samples: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Probabilities and sample counts, rounded to a grid of ratio 2^½, with how often each occurs.

    The weights are those that keep Σ p.
    """
    grid = 2.0
    context, token = np.nonzero((expected > 0) & (samples > 0)[:, None])
    p, n = expected[context, token], samples[context]
    key_p = np.rint(grid * np.log2(p)).astype(np.int64)
    key_n = np.rint(grid * np.log2(n)).astype(np.int64)
    key_p -= key_p.min()
    key_n -= key_n.min()
    key = key_p * (key_n.max() + 1) + key_n
    size = np.bincount(key)
    used = size > 0
    weight = size[used].astype(np.float64)
    return np.bincount(key, p)[used] / weight, np.bincount(key, n)[used] / weight, weight


_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(12)


def _moments(p: FloatArray, total: FloatArray, factor: float) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of ``token_terms`` for Poisson counts of mean total · p · factor, [K, cells]."""
    mean = total * p * factor
    few = mean < 9
    k = np.arange(32.0)
    rate = np.maximum(mean[few, None], 1e-300)
    poisson = np.exp(k * np.log(rate) - rate - gammaln(k + 1))
    normal = np.maximum(mean[~few, None] + np.sqrt(mean[~few, None]) * _NODES, 0.0)
    first, variance = np.empty((2, len(CONCENTRATIONS), len(p)))
    for chosen, n, weight in ((few, k, poisson), (~few, normal, _WEIGHTS / _WEIGHTS.sum())):
        n, cell_p, cell_total = np.broadcast_arrays(n, p[chosen, None], total[chosen, None])
        value = token_terms(n.ravel(), cell_p.ravel(), cell_total.ravel()).reshape(
            len(CONCENTRATIONS), *n.shape
        )
        level = (weight * value).sum(axis=2)
        first[:, chosen] = level
        variance[:, chosen] = (weight * (value - level[:, :, None]) ** 2).sum(axis=2)
    return first, variance
