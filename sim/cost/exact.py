"""Leviathan's formulas for one constant α, in fractions: what printed digits are held against."""

from __future__ import annotations

from fractions import Fraction

from losslesscheck.errors import InputError
from losslesscheck.sim.tokens.closed_forms import chain


def tokens(alpha: Fraction, draft_length: int) -> Fraction:
    """Eq. 1: Σ α^i, i = 0 … γ: tokens per step, the bonus token included.

    Raises:
        InputError: if α is outside [0, 1] or γ no count.

    >>> tokens(Fraction(1, 2), 2)
    Fraction(7, 4)
    """
    check_alpha(alpha)
    return Fraction(chain(Fraction(alpha), draft_length=draft_length))


def speedup(alpha: Fraction, draft_length: int, c: Fraction) -> Fraction:
    """Theorem 3.8."""
    check_c(c)
    return tokens(alpha, draft_length) / (draft_length * c + 1)


def operations_factor(alpha: Fraction, draft_length: int, c_hat: Fraction) -> Fraction:
    """Theorem 3.11."""
    check_c(c_hat, "c_hat")
    return (draft_length * c_hat + draft_length + 1) / tokens(alpha, draft_length)


def check_alpha(alpha: Fraction) -> None:
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha: {alpha} is outside [0, 1]")


def check_c(c: Fraction, name: str = "c") -> None:
    if not c >= 0:
        raise InputError(f"{name}: {c} is negative")
