"""A printed figure beside the computed one, and whether the one follows from the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal

Verdict = Literal["follows", "within rounding", "does not follow", "derived"]
"""``follows``: the value computed from the printed inputs rounds to the printed figure. ``within rounding``:
some inputs that round to the printed ones give it. ``does not follow``: none do. ``derived``: no printed
figure to hold it against."""

Formula = Callable[..., Fraction]


@dataclass(frozen=True)
class Comparison:
    """One figure.

    Attributes:
        row, what: which row of the table, and what of it.
        printed: as printed; empty if derived.
        computed: to one digit more than is printed.
        arithmetic: how it was computed.
    """

    row: str
    what: str
    printed: str
    computed: str
    verdict: Verdict
    arithmetic: str


def rounding(printed: str) -> tuple[Fraction, Fraction]:
    """The numbers that round to the printed one: half a unit of its last digit either way.

    >>> rounding("2.5")
    (Fraction(49, 20), Fraction(51, 20))
    """
    value = Fraction(printed)
    digits = len(printed.partition(".")[2])
    half = Fraction(1, 2 * 10**digits)
    return value - half, value + half


def rounds_to(value: Fraction, printed: str) -> bool:
    """Whether a number rounds to the printed one, a tie to either side."""
    low, high = rounding(printed)
    return low <= value <= high


def span(formula: Formula, *inputs: str) -> tuple[Fraction, Fraction]:
    """The least and the greatest value of a formula, monotone in every input, over what rounds to these."""
    values = [formula(*corner) for corner in product(*map(rounding, inputs))]
    return min(values), max(values)


def compare(row: str, what: str, printed: str, formula: Formula, *inputs: str, arithmetic: str) -> Comparison:
    """The printed figure against ``formula``, which must be monotone in each of the printed inputs.

    What the formula takes besides them was not rounded: counts, or inputs that the table chose.
    """
    value = formula(*map(Fraction, inputs))
    low, high = rounding(printed)
    verdict: Verdict = "does not follow"
    if low <= value <= high:
        verdict = "follows"
    else:
        least, greatest = span(formula, *inputs)
        if least <= high and greatest >= low:
            verdict = "within rounding"
        elif inputs:
            arithmetic += f"; with inputs that round to these {show(least)} to {show(greatest)}"
    digits = len(printed.partition(".")[2]) + 1
    return Comparison(row, what, printed, show(value, digits), verdict, arithmetic)


def derived(row: str, what: str, value: Fraction | float | str, *, arithmetic: str) -> Comparison:
    """A figure that no table prints."""
    computed = value if isinstance(value, str) else show(value)
    return Comparison(row, what, "", computed, "derived", arithmetic)


def show(value: Fraction | float, digits: int = 3) -> str:
    """A number to so many digits after the point."""
    return f"{float(value):.{digits}f}"
