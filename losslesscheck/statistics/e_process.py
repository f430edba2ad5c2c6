"""E-values of counts against the law that they should have, and of many contexts together.

An e-process (Ville 1939; Shafer et al. 2011; Ramdas et al. 2023) is non-negative and lies below a
martingale that starts at 1 under the null hypothesis, so that P(sup E ≥ 1/α) ≤ α. One may look at it
after every sample and stop whenever one likes.

For one context with next-token law p the alternative is a Dirichlet(a·p) mixture of laws around p
(Good 1965); E is its marginal likelihood over the likelihood under p. The smaller a, the larger the
deviations that it looks for. E is the average over a = 4⁰, 4¹, …, 4¹⁶, which suits deviations of
every size: with N samples spread over V tokens a deviation with chi² = N Σ (r − p)²/p is found when
chi² is a small multiple of √V, as in the best chi² test.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.statistics.gamma import stirling_remainder

FloatArray = npt.NDArray[np.float64]

CONCENTRATIONS: FloatArray = np.exp2(np.arange(0, 34, 2, dtype=np.float64))
"""The concentrations a of the Dirichlet mixtures, K of them; fixed in advance, as validity demands."""

_BLOCK = 512
"""Tokens that are worked on at once: their arrays [K, tokens] stay in the cache."""


def log_e_values(counts: npt.ArrayLike, expected: npt.ArrayLike) -> FloatArray:
    """Natural logarithms of the e-values for every concentration, shape [..., K].

    Precise to 1e-7 plus 1e-12 of the result, for up to 10¹² samples and probabilities down to 5e-324.

    Args:
        counts: how often every token was seen, shape [..., V].
        expected: its probability under the null hypothesis, broadcast to the shape of ``counts``. A
            law whose sum is off by rounding counts as divided by its sum.

    Returns:
        +inf for every concentration where a token of probability 0 was seen.

    Raises:
        InputError: for shapes that do not fit, and for a count or a probability that is negative or
            not a number.
    """
    counts = np.asarray(counts, dtype=np.float64)
    expected = np.asarray(expected, dtype=np.float64)
    try:
        laws = np.broadcast_to(expected, counts.shape)
        fits = 0 < counts.shape[-1] == expected.shape[-1]
    except (ValueError, IndexError):
        fits = False
    if not fits:
        raise InputError(f"counts: shape {counts.shape} does not fit expected, {expected.shape}")
    for name, array in (("counts", counts), ("expected", expected)):
        if not (array >= 0).all():
            raise InputError(f"{name}: {array[~(array >= 0)][0]} is negative or not a number")
    vocabulary = counts.shape[-1]
    values = _rows(counts.reshape(-1, vocabulary), laws.reshape(-1, vocabulary))
    return values.reshape(*counts.shape[:-1], len(CONCENTRATIONS))


def _rows(counts: FloatArray, expected: FloatArray) -> FloatArray:
    """``log_e_values`` of rows [R, V].

    log E = log Γ(a) − log Γ(a + N) + Σ [log Γ(a p + n) − log Γ(a p) − n log p] is a small difference
    of large numbers. With d = n − N p, t = log(1 + d / (p (a + N))) and Stirling's remainder s it is

        Σ [(a p + n) t − d]  −  ½ Σ t  −  ½ (V − 1) log(1 + N/a)
            +  Σ [s(a p + n) − s(a p)]  −  s(a + N)  +  s(a),

    whose first sum has no negative term, being a + N times a Kullback–Leibler divergence, and whose
    terms hardly depend on the rounding of d. Tokens that were not seen add up to one term, so that
    only those that were seen are gone through.
    """
    a = CONCENTRATIONS
    seen = counts > 0
    total = counts.sum(axis=1)
    unseen_mass = np.where(seen, 0.0, expected).sum(axis=1)
    growth = np.log1p(total[:, None] / a)
    values: FloatArray = unseen_mass[:, None] * (total[:, None] - a * growth)
    values -= (seen.sum(axis=1)[:, None] - 1) / 2 * growth
    values += stirling_remainder(a) - stirling_remainder(a + total[:, None])

    row, token = np.nonzero(seen & (expected > 0))
    for start in range(0, len(row), _BLOCK):
        block = row[start : start + _BLOCK]
        place = (block, token[start : start + _BLOCK])
        terms = token_terms(counts[place], expected[place], total[block])
        first = np.flatnonzero(np.diff(block, prepend=-1))
        values[block[first]] += np.add.reduceat(terms, first, axis=1).T
    values[(seen & (expected == 0)).any(axis=1)] = np.inf
    return values


def token_terms(n: FloatArray, p: FloatArray, total: FloatArray) -> FloatArray:
    """What tokens with counts n and probabilities p > 0 add to log E, shape [K, tokens]."""
    a = CONCENTRATIONS[:, None]
    x = a * p
    z = x + n
    d = n - total * p
    mean = (a + total) * p
    with np.errstate(over="ignore", divide="ignore"):
        off = d / mean
        t = np.log1p(off)
    far = np.abs(off) > 0.5
    if far.any():
        t[far] = np.log(z[far]) - np.log(mean[far])
    terms: FloatArray = (z - 0.5) * t - d + stirling_remainder(z) - stirling_remainder(x)
    return terms


def log_mean(values: FloatArray, axis: int = -1) -> FloatArray:
    """log of the mean of exp(values) along an axis; the mean of e-values is an e-value."""
    top = values.max(axis=axis, keepdims=True)
    shift = np.where(np.isposinf(top), 0.0, top)
    with np.errstate(over="ignore"):  # where one value is +inf, nothing is shifted
        mean: FloatArray = np.log(np.exp(values - shift).mean(axis=axis)) + shift.squeeze(axis)
    return mean


def mixture(values: FloatArray) -> float:
    """The logarithm of the average of e-values that are given by their logarithms.

    The average of e-values is an e-value.
    """
    return float(log_mean(np.ravel(values)))


def log_e_value(counts: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    """Natural logarithm of the e-value of counts [V] against their expected law [V].

    Under the null hypothesis the e-value ever reaches 1/α with probability at most α.

    >>> log_e_value([50, 50], [0.5, 0.5]) < 0
    True
    >>> log_e_value([1, 99], [0.0, 1.0])
    inf
    """
    return mixture(log_e_values(counts, expected))
