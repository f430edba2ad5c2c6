"""Is one α enough, or does acceptance differ from position to position?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import gammaincc, xlogy

from losslesscheck.sim.fit.histogram import Histogram

FEW = 5.0
"""Expected counts below this make the χ² law of G a poor approximation (Cochran's rule)."""


@dataclass(frozen=True)
class Goodness:
    """The likelihood-ratio test of one α against an acceptance for every position.

    Attributes:
        g: twice the logarithm of the likelihood ratio; about χ² if one α holds.
        degrees: positions that were come to, less one.
        p_value: the probability of so large a G if one α holds, or of a larger one. By itself it says
            nothing about how much the difference matters.
        tokens_constant, tokens_by_position: tokens per step (with the bonus token) under the one α of
            greatest likelihood, and under the vector; the second is the observed mean.
        smallest_expected: the smallest count that one α expects in a cell; below 5 the p-value is rough.
        statement: what follows from it, in words.
    """

    g: float
    degrees: int
    p_value: float
    tokens_constant: float
    tokens_by_position: float
    smallest_expected: float
    statement: str


def goodness_of_fit(histogram: Histogram, *, level: float = 0.01) -> Goodness | None:
    """G = 2 Σ observed · log(observed / expected) over accepted and rejected at every position.

    The sum runs over the conditional counts: of the steps that came to a position, those that passed it and
    those that did not, against the one α that makes all of them most likely. ``None`` where only one position
    was come to, so that one α fits whatever was seen.

    Args:
        level: of the test, used for the statement only.
    """
    cells = [(p, t) for p, t in zip(histogram.passed, histogram.tried, strict=True) if t]
    if len(cells) < 2:
        return None
    tried = sum(t for _, t in cells)
    alpha = sum(p for p, _ in cells) / tried
    if alpha in (0.0, 1.0):
        return None  # never, or always, accepted: all positions agree
    g = 2.0 * math.fsum(
        float(xlogy(p, p / (t * alpha)) + xlogy(t - p, (t - p) / (t * (1 - alpha)))) for p, t in cells
    )
    g = max(0.0, g)
    degrees = len(cells) - 1
    p_value = float(gammaincc(degrees / 2, g / 2))
    constant = math.fsum(alpha**i for i in range(histogram.draft_length + 1))
    smallest = min(min(t * alpha, t * (1 - alpha)) for _, t in cells)
    observed = histogram.tokens_per_step
    return Goodness(
        g,
        degrees,
        p_value,
        constant,
        observed,
        smallest,
        _statement(p_value, level, alpha, constant, observed, smallest, cells[-1][1]),
    )


def _statement(
    p_value: float,
    level: float,
    alpha: float,
    constant: float,
    observed: float,
    smallest: float,
    deepest: int,
) -> str:
    effect = f"it gives {constant:.3f} tokens per step, {observed:.3f} were seen"
    if p_value < level:
        text = (
            f"One α does not fit (p = {p_value:.2g}): acceptance differs from position to position. "
            f"With α = {alpha:.4f} {effect}; use the vector."
        )
        if abs(constant - observed) < 0.01 * observed:
            text += " For this draft length the difference is below 1 %, for others it need not be."
    else:
        text = (
            f"One α = {alpha:.4f} is not refuted (p = {p_value:.2g}): {effect}. That does not prove it: the "
            f"last position rests on {deepest} steps, which tell its acceptance to about "
            f"±{1.96 * math.sqrt(alpha * (1 - alpha) / deepest):.2g}."
        )
    if smallest < FEW:
        text += f" The p-value is rough: a cell has only {smallest:.1f} expected counts."
    return text
