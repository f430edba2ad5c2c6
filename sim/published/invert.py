"""Back from tokens per step to the α that would give them."""

from __future__ import annotations

from fractions import Fraction

from losslesscheck.sim.fit.mean import alpha_of_mean


def alpha_of(tokens: Fraction | float, draft_length: int) -> float:
    """The one α with Σ α^i = tokens, i = 0 … γ: Leviathan's Eq. 1 solved for α.

    NaN where there is none: tokens below 1 or above γ + 1.

    >>> round(alpha_of(2.44, 2), 6)
    0.8
    """
    wanted = float(tokens)
    if not 1.0 <= wanted <= draft_length + 1.0:
        return float("nan")
    return alpha_of_mean(wanted, draft_length=draft_length)
