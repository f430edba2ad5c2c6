"""What follows from a mean alone: one α, by inverting Leviathan's Eq. 1, and nothing about its fit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import check_count, finite


@dataclass(frozen=True)
class MeanFit:
    """One α from a mean number of tokens per step.

    Attributes:
        alpha: the one under which a chain of ``draft_length`` draft tokens has that mean.
        tokens_per_step: the mean, with the bonus token.
        draft_length: γ.
        windows: how many means it is the mean of.
        lowest, highest: of those means.
        notes: what can and cannot be inferred.
    """

    alpha: float
    tokens_per_step: float
    draft_length: int
    windows: int
    lowest: float
    highest: float
    notes: tuple[str, ...]


NOTHING_ELSE = (
    "a mean alone gives one α (Eq. 1 inverted), no interval and no goodness of fit: whether acceptance "
    "differs from position to position it cannot tell"
)


def alpha_of_mean(tokens_per_step: float, *, draft_length: int) -> float:
    """The α of (1 − α^(γ+1)) / (1 − α) = tokens per step (Leviathan et al., Eq. 1; bonus token included).

    Raises:
        InputError: for a mean outside [1, γ + 1].

    >>> round(alpha_of_mean(3.3616, draft_length=4), 9)
    0.8
    """
    check_count("draft_length", draft_length, least=1)
    mean = finite("tokens_per_step", tokens_per_step)
    if not 1 <= mean <= draft_length + 1:
        advice = "; is the bonus token left out?" if mean < 1 else "; are there more draft tokens?"
        raise InputError(
            f"tokens_per_step: {mean} is outside [1, {draft_length + 1}], which {draft_length} draft tokens "
            f"and the bonus token allow{advice}"
        )
    if mean in (1.0, draft_length + 1.0):
        return float(mean > 1)
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        if math.fsum(middle**i for i in range(draft_length + 1)) < mean:
            low = middle
        else:
            high = middle
    return high


def from_means(
    means: list[float], *, draft_length: int, weights: list[float] | None = None, notes: tuple[str, ...] = ()
) -> MeanFit:
    """One α from means of tokens per step over several windows.

    Args:
        weights: how many steps every window stands for, up to a factor; equal by default.

    Raises:
        InputError: if there is none, or one is outside [1, γ + 1].
    """
    if not means:
        raise InputError("means: there is none")
    for mean in means:
        alpha_of_mean(mean, draft_length=draft_length)
    weights = [1.0] * len(means) if weights is None else weights
    mean = math.fsum(m * w for m, w in zip(means, weights, strict=True)) / math.fsum(weights)
    mean = min(max(mean, min(means)), max(means))  # rounding
    return MeanFit(
        alpha_of_mean(mean, draft_length=draft_length),
        mean,
        draft_length,
        len(means),
        min(means),
        max(means),
        (*notes, NOTHING_ELSE),
    )
