"""Tests of a sampled law against the law it should have, and bounds on how far off it is.

The tests are e-processes (Ville 1939; Shafer et al. 2011; Ramdas et al. 2023): a martingale E that
starts at 1 and is non-negative under the null hypothesis, so that P(sup E ≥ 1/α) ≤ α. One may look at
it after every sample and stop whenever one likes.

For one context with next-token law p the alternative is a Dirichlet(a·p) mixture of laws around p
(Good 1965); E is its marginal likelihood over the likelihood under p. The smaller a, the larger the
deviations that it looks for. E is the average over a = 4⁰, 4¹, …, 4¹⁶, which suits deviations of
every size: with N samples spread over V tokens a deviation with chi² = N Σ (r − p)²/p is found when
chi² is a small multiple of √V, as in the best chi² test.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, logsumexp, ndtri

from losslesscheck.errors import InputError

FloatArray = npt.NDArray[np.float64]

MARGIN = 1.03
"""What ``detectable_tv`` adds for the rounding of probabilities to a grid and the normal tail."""

CONCENTRATIONS: FloatArray = np.exp2(np.arange(0, 34, 2, dtype=np.float64))
"""The concentrations a of the Dirichlet mixtures; fixed in advance, as validity demands."""


def log_e_values(counts: npt.ArrayLike, expected: npt.ArrayLike) -> FloatArray:
    """Natural logarithms of the e-values for every concentration, shape [K].

    Args:
        counts: how often every token was seen, shape [V].
        expected: its probability under the null hypothesis, shape [V], summing to one.

    Returns:
        +inf throughout if a token of probability 0 was seen.

    Raises:
        InputError: for shapes that differ.
    """
    counts = np.asarray(counts, dtype=np.float64)
    expected = np.asarray(expected, dtype=np.float64)
    if counts.shape != expected.shape or counts.ndim != 1:
        raise InputError(f"counts: shape {counts.shape} does not fit expected, {expected.shape}")
    seen = counts > 0
    if not seen.any():
        return np.zeros(len(CONCENTRATIONS))
    if (expected[seen] == 0).any():
        return np.full(len(CONCENTRATIONS), np.inf)
    total = counts.sum()
    # A token seen once contributes log(a p) − log(a p) = 0.
    several = counts > 1
    n, p = counts[several], expected[several]
    # log E = log Γ(a) − log Γ(a + N) + Σ [log Γ(a p + n) − log Γ(a p) − n log p], and N log a cancels.
    rising: FloatArray = _rising(CONCENTRATIONS[:, None] * p, n).sum(axis=1)
    return rising - _rising(CONCENTRATIONS, total)


def mixture(values: FloatArray) -> float:
    """The logarithm of the average of e-values that are given by their logarithms.

    The average of e-values is an e-value.
    """
    return float(logsumexp(values) - math.log(np.size(values)))


def log_e_value(counts: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    """Natural logarithm of the e-value of counts [V] against their expected law [V].

    Under the null hypothesis the e-value ever reaches 1/α with probability at most α.

    >>> log_e_value([50, 50], [0.5, 0.5]) < 0
    True
    >>> log_e_value([1, 99], [0.0, 1.0])
    inf
    """
    return mixture(log_e_values(counts, expected))


def combined_log_e_value(values: FloatArray, lengths: npt.NDArray[np.int_]) -> float:
    """One e-value for the next tokens after many contexts.

    Why products are allowed: put the tokens of all samples in one sequence. Under the null hypothesis
    the next token, given everything before it and that the sample goes on after context w, has law
    p(· | w). Every token thus multiplies the e-value of its own context, for a fixed concentration,
    by a factor with conditional mean 1, and the product over any fixed set of contexts is again a
    martingale. Contexts may be pooled if their law is the same. Averages of e-processes with fixed
    weights are e-processes; the contexts are fixed by a pilot run whose samples do not count.

    A product over many contexts finds a bias that all of them have, an average one that few have. The
    result is the average of three e-values: the product over all contexts; the average over the
    lengths of the product over the contexts of that length; the average over the lengths of the
    average over its contexts. Products share one concentration, averaged over last: a context without
    bias then costs nothing.

    Args:
        values: ``log_e_values`` of every context, shape [C, K]; zeros for one that was not reached,
            which must not be left out, or the weights would depend on the samples.
        lengths: the number of tokens of every context, shape [C].
    """
    if np.isposinf(values).any():
        return math.inf
    levels = [values[lengths == length] for length in np.unique(lengths)]
    everywhere = mixture(values.sum(axis=0))
    by_length = mixture(np.array([mixture(level.sum(axis=0)) for level in levels]))
    alone = mixture(np.array([mixture(level) for level in levels]))
    return mixture(np.array([everywhere, by_length, alone]))


def combination_handicap(lengths: int) -> float:
    """What ``combined_log_e_value`` costs a bias at one length: its weight is 1 / (3 · lengths)."""
    return math.log(3 * lengths)


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
    taken as normal.

    Args:
        expected: the law under the null hypothesis, shape [V], or of several contexts [C, V] that are
            tested together (their product) and all have the bias.
        samples: how many next tokens, one number or shape [C].
        alpha: bound on the probability of a false alarm.
        power: probability with which a bias of the returned size is found.
        handicap: what further averaging takes off the log e-value.

    Returns:
        A number in (0, 1]; 1 if not even a bias of 1/2 in that direction would be found.

    Raises:
        InputError: for ``alpha`` or ``power`` outside (0, 1).
    """
    for name, value in (("alpha", alpha), ("power", power)):
        if not 0 < value < 1:
            raise InputError(f"{name}: {value} is not between 0 and 1")
    expected = np.atleast_2d(np.asarray(expected, dtype=np.float64))
    counts = np.broadcast_to(np.asarray(samples, dtype=np.float64), expected.shape[:1])
    total = float(counts.sum())
    if total <= 0:
        return 1.0
    if (expected > 0).sum(axis=1).max() == 1:
        # Point masses: any bias shows in a token of probability 0, which settles it.
        return float(1 - (1 - power) ** (1 / total))
    p, n, weight = _cells(expected, counts)
    threshold = math.log(len(CONCENTRATIONS) / alpha) + handicap + 0.5
    deviation = float(ndtri(power))

    def found(t: float) -> bool:
        for a in CONCENTRATIONS:
            mean, variance = -float(_rising(a, counts).sum()), 0.0
            for factor in (1 - 2 * t, 1 + 2 * t):
                first, second = _moments(a * p, n * p * factor, np.log1p(n / a))
                mean += float((weight * first).sum()) / 2
                variance += float((weight * second).sum()) / 2
            if mean - deviation * math.sqrt(variance) >= threshold:
                return True
        return False

    low, high = math.log(1e-9), math.log(0.5)
    if not found(0.5):
        return 1.0
    while high - low > 0.01:
        middle = (low + high) / 2
        if found(math.exp(middle)):
            high = middle
        else:
            low = middle
    return min(1.0, MARGIN * math.exp(high))


def tv_upper_bound(counts: npt.ArrayLike, expected: npt.ArrayLike, alpha: float) -> float:
    """An upper confidence bound, at level 1 − alpha, on TV(true law, expected), for any true law.

    Let T = ½ Σ |n/N − p|. By Jensen's inequality E[T] ≥ TV(true law, p), and T changes by at most 1/N
    when one sample does, so by McDiarmid's inequality P(T < E[T] − ε) ≤ exp(−2 N ε²). The bound is
    T + sqrt(log(1/alpha) / 2N). It is valid at a number of samples fixed in advance.

    Raises:
        InputError: for ``alpha`` outside (0, 1).
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha: {alpha} is not between 0 and 1")
    counts = np.asarray(counts, dtype=np.float64)
    total = counts.sum()
    if total == 0:
        return 1.0
    plug_in = np.abs(counts / total - np.asarray(expected, dtype=np.float64)).sum() / 2
    return min(1.0, float(plug_in + math.sqrt(-math.log(alpha) / (2 * total))))


def _rising(x: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
    """log Γ(x + n) − log Γ(x) − n log x, without cancellation where x is large."""
    x, n = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(n, dtype=np.float64))
    result = np.zeros(x.shape)
    large = x >= 16
    y, k = x[large], n[large]
    result[large] = (y + k - 0.5) * np.log1p(k / y) - k + _stirling(y + k) - _stirling(y)
    y, k = x[~large], n[~large]
    result[~large] = gammaln(y + k) - gammaln(y) - k * np.log(y)
    return result


def _stirling(x: FloatArray) -> FloatArray:
    """log Γ(x) − (x − ½) log x + x − ½ log 2π, to 1e-12 for x ≥ 16."""
    inverse = 1 / (x * x)
    series: FloatArray = (1 / 12 - inverse * (1 / 360 - inverse / 1260)) / x
    return series


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


def _moments(x: FloatArray, mean: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean of ``_rising(x, n)``, and variance of ``_rising(x, n) − slope · n``, for n Poisson.

    The counts of all tokens have a fixed sum, so what depends on n linearly does not vary in total.
    """
    first, variance = np.empty(len(x)), np.empty(len(x))
    few = mean < 9
    k = np.arange(32.0)
    rate = np.maximum(mean[few, None], 1e-300)
    poisson = np.exp(k * np.log(rate) - rate - gammaln(k + 1))
    nodes, weights = _NODES, _WEIGHTS
    normal = np.maximum(mean[~few, None] + np.sqrt(mean[~few, None]) * nodes, 0.0)
    for chosen, n, weight in ((few, k, poisson), (~few, normal, weights / weights.sum())):
        value = _rising(x[chosen, None], n) - slope[chosen, None] * n
        level = (weight * value).sum(axis=1)
        first[chosen] = level + slope[chosen] * mean[chosen]
        variance[chosen] = (weight * (value - level[:, None]) ** 2).sum(axis=1)
    return first, variance
