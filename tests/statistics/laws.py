"""Laws, biases of them, and log Γ in 60 digits, for the tests of statistics."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray


def law(vocabulary: int, seed: int = 0) -> NDArray[np.float64]:
    weights = np.random.default_rng(seed).random(vocabulary) ** 3
    return weights / weights.sum()


def biased(expected: NDArray[np.float64], tv: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Half of the probability loses what a random other half gains; exactly ``tv`` away."""
    order = rng.permutation(len(expected))
    gains = np.zeros(len(expected), dtype=bool)
    gains[order[np.cumsum(expected[order]) <= 0.5]] = True
    share = expected[gains].sum()
    return np.where(gains, expected * (1 + tv / share), expected * (1 - tv / (1 - share)))


def halves(vocabulary: int, seed: int = 0) -> NDArray[np.float64]:
    """A law whose first half of the tokens has probability exactly ½."""
    half = np.random.default_rng(seed).dirichlet(np.full(vocabulary // 2, 2.0)) / 2
    return np.concatenate([half, half[::-1]])


def least_favourable(expected: NDArray[np.float64], tv: float) -> NDArray[np.float64]:
    """The bias of a law of ``halves`` with the smallest chi² at this TV."""
    sign = np.repeat([1.0, -1.0], len(expected) // 2)
    return expected * (1 + 2 * tv * sign)


def _bernoulli(count: int) -> list[Fraction]:
    numbers = [Fraction(1)]
    for m in range(1, count):
        numbers.append(-sum(comb(m + 1, k) * numbers[k] for k in range(m)) / Fraction(m + 1))
    return numbers


_BERNOULLI = _bernoulli(41)
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def log_gamma(z: Decimal) -> Decimal:
    """log Γ(z) for z > 0, to 40 digits after the point: Stirling's series at z ≥ 60."""
    with localcontext() as context:
        context.prec = 70
        product = Decimal(1)
        while z < 60:
            product *= z
            z += 1
        series = sum(
            Decimal(b.numerator) / b.denominator / (k * (k - 1) * z ** (k - 1))
            for k, b in enumerate(_BERNOULLI)
            if k >= 2 and b
        )
        return (z - Decimal("0.5")) * z.ln() - z + (2 * _PI).ln() / 2 + series - product.ln()


def exact_log_e_value(
    counts: list[int], expected: list[float], concentration: float, copies: int = 1
) -> float:
    """The log e-value by its definition, of a law and counts that are repeated ``copies`` times.

    The law is ``expected`` divided by its exact sum.
    """
    with localcontext() as context:
        context.prec = 70
        exact = [Decimal(p) for p in expected]
        total, n, a = copies * sum(exact), Decimal(copies * sum(counts)), Decimal(concentration)
        value = Decimal(0)
        for count, p in zip(counts, exact, strict=True):
            x = a * p / total
            value += log_gamma(x + count) - log_gamma(x) - count * (p / total).ln()
        return float(copies * value + log_gamma(a) - log_gamma(a + n))
