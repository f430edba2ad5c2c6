"""Upper confidence bounds on the total variation distance of laws that are only sampled.

Let r be the true law, p the expected one, n the counts of N tokens and T = ½ Σ |n/N − p|. There is a
set A of tokens, unknown but fixed, with TV(r, p) = r(A) − p(A): those with r > p. Since T is the
largest n(B)/N − p(B) over all sets B,

    T  ≥  n(A)/N − p(A)  =  TV(r, p) − S/N,    S = Σ (r(A) − [token in A]) over the N tokens,

so a bound on how far a mean of N coins lies below its expectation bounds TV from above. T itself is
too large by about √(V/N) for V tokens: with many tokens the bounds are wide, though true.

The bounds are of two kinds. At a number of samples fixed in advance Hoeffding's inequality gives
P(S ≥ ε) ≤ exp(−2 ε²/N). The ``anytime`` bounds hold at all N at once, so that N may be random and may
depend on the samples. For every λ the product of exp(λ (r(A) − [token in A]) − λ²/8) is a
supermartingale (Hoeffding's lemma), hence also its mean over λ (Robbins 1970; Howard et al. 2021,
"Time-uniform, nonparametric, nonasymptotic confidence sequences", section 3.2), here over the normal
law of variance 4/M with M = ``PRIOR_SAMPLES``, and Ville's inequality bounds it.

What is assumed: given all tokens before it, every token has law r. For the tokens after one context
that is so if the steps are independent and are all run by the same implementation. How often a context
was reached, and when one looks, may then depend on the tokens in any way.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.statistics.arguments import check_open_unit

FloatArray = npt.NDArray[np.float64]

PRIOR_SAMPLES = 16.0
"""What the anytime bounds count as few; they are tightest a little above, and a quarter wider at 10¹⁰."""


def tv_upper_bound(counts: npt.ArrayLike, expected: npt.ArrayLike, alpha: float) -> float:
    """An upper confidence bound, at level 1 − alpha, on TV(true law, expected), for any true law.

    It is T + √(log(1/α) / 2N), and holds at a number of samples fixed in advance.

    Args:
        counts, expected: shape [V].

    Raises:
        InputError: for ``alpha`` outside (0, 1), and shapes that differ.
    """
    check_open_unit(alpha=alpha)
    plug_in, samples = _against(counts, expected)
    return float(_bound(plug_in, -math.log(alpha) / 2 * (1 / samples)))


def anytime_tv_bound(counts: npt.ArrayLike, expected: npt.ArrayLike, alpha: npt.ArrayLike) -> FloatArray:
    """Upper bounds on TV(true law, expected) that hold at all sample sizes at once, shape [...].

    With probability at least 1 − alpha none of the bounds that this gives for growing counts is ever
    too small.

    With λ from the half of the normal law above 0, S ≥ 0 and z = S / √((N + M)/4) the mean over λ is
    2 √(M/(N + M)) exp(z²/2) Φ(z) ≥ 2 √(M/(N + M)) (exp(z²/2) − ½), and Ville's inequality gives
    S < √((N + M)/2 · log ½(1 + √(1 + N/M)/α)).

    Args:
        counts, expected: shape [..., V], broadcast against each other.
        alpha: one number, or shape [...]; bounds for several contexts hold together with the sum of
            their alphas.

    Raises:
        InputError: for an ``alpha`` outside (0, 1), and shapes that do not fit.
    """
    levels = _levels(alpha)
    plug_in, samples = _against(counts, expected)
    growth = np.log((1 + np.sqrt(1 + samples / PRIOR_SAMPLES) / levels) / 2)
    return _bound(plug_in, (samples + PRIOR_SAMPLES) / 2 * growth / samples**2)


def two_sample_tv_bound(first: npt.ArrayLike, second: npt.ArrayLike, alpha: float) -> float:
    """An upper confidence bound, at level 1 − alpha, on the TV between two laws that are both sampled.

    As above with T = ½ Σ |n₁/N₁ − n₂/N₂|, for which Hoeffding's inequality gives
    T + √(log(1/α) · ½ (1/N₁ + 1/N₂)). It holds at numbers of samples fixed in advance.

    Args:
        first, second: counts, shape [V].

    Raises:
        InputError: for ``alpha`` outside (0, 1), and shapes that differ.
    """
    check_open_unit(alpha=alpha)
    plug_in, one, two = _between(first, second)
    return float(_bound(plug_in, -math.log(alpha) / 2 * (1 / one + 1 / two)))


def anytime_two_sample_tv_bound(
    first: npt.ArrayLike, second: npt.ArrayLike, alpha: npt.ArrayLike
) -> FloatArray:
    """Upper bounds on the TV between two sampled laws that hold at all sample sizes at once, shape [...].

    The supermartingales of the two samples, one for A and one for its complement, are averaged over
    independent λ₁ and λ₂ from the whole normal law; the mean of their product stays below 1/α if and
    only if S₁²/(N₁ + M) + S₂²/(N₂ + M) stays below ½ L, L = log(1/α) + ½ log(1 + N₁/M) + ½ log(1 + N₂/M),
    and the largest S₁/N₁ + S₂/N₂ in that ellipse is √(½ L ((N₁ + M)/N₁² + (N₂ + M)/N₂²)).

    Args:
        first, second: counts, shape [..., V]; independent samples.
        alpha: one number, or shape [...].

    Raises:
        InputError: for an ``alpha`` outside (0, 1), and shapes that do not fit.
    """
    levels = _levels(alpha)
    plug_in, one, two = _between(first, second)
    m = PRIOR_SAMPLES
    growth = (np.log1p(one / m) + np.log1p(two / m)) / 2 - np.log(levels)
    return _bound(plug_in, growth / 2 * ((one + m) / one**2 + (two + m) / two**2))


def _levels(alpha: npt.ArrayLike) -> FloatArray:
    levels = np.asarray(alpha, dtype=np.float64)
    if not ((levels > 0) & (levels < 1)).all():
        check_open_unit(alpha=float(levels[~((levels > 0) & (levels < 1))][0]))
    return levels


def _against(counts: npt.ArrayLike, expected: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """T and N; where nothing was counted, T is 1 and N 1, so that the bound is 1."""
    n, p = _pair(counts, expected, "counts", "expected")
    samples = n.sum(axis=-1)
    reached = np.maximum(samples, 1)
    plug_in = np.abs(n / reached[..., None] - p).sum(axis=-1) / 2
    return np.where(samples > 0, plug_in, 1.0), reached


def _between(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """T, N₁ and N₂; where one of the samples is empty, T is 1."""
    n, m = _pair(first, second, "first", "second")
    one, two = n.sum(axis=-1), m.sum(axis=-1)
    at_least_one = np.maximum(one, 1)
    plug_in, two_reached = _against(m, n / at_least_one[..., None])
    return np.where((one > 0) & (two > 0), plug_in, 1.0), at_least_one, two_reached


def _pair(a: npt.ArrayLike, b: npt.ArrayLike, *names: str) -> tuple[FloatArray, FloatArray]:
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    try:
        fit = a.ndim > 0 and b.ndim > 0 and a.shape[-1] == b.shape[-1]
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        fit = False
    if not fit:
        raise InputError(f"{names[0]}: shape {a.shape} does not fit {names[1]}, {b.shape}")
    return a, b


def _bound(plug_in: FloatArray, square: FloatArray) -> FloatArray:
    bound: FloatArray = np.minimum(1.0, plug_in + np.sqrt(square))
    return bound
