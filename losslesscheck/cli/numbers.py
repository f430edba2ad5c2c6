"""Numbers on the command line: one, a list, a range, rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import click

MOST = 10**6
"""Numbers in a range, at most."""


def _fraction(text: str) -> Fraction:
    """The number as it is written, if a float can hold it: an exponent is not worked out for minutes."""
    if "/" not in text and not math.isfinite(float(text)):
        raise ValueError
    if "e-" in text.lower() and float(text) == 0:
        raise ValueError
    return Fraction(text)


class Numbers(click.ParamType[tuple[float, ...]]):
    """``.8``, ``.6,.7,.8`` or ``.5:.9:.1``, from and to included.

    Args:
        whole: whether they are whole numbers; the step of a range is then 1 if left out.
    """

    name = "numbers"

    def __init__(self, *, whole: bool = False) -> None:
        self.whole = whole

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        try:
            found = self._range(value) if ":" in value else tuple(self._number(v) for v in value.split(","))
        except (ValueError, ArithmeticError):
            kind = "whole number" if self.whole else "number"
            example = "4, 2,4,8 or 1:10" if self.whole else ".8, .6,.8 or .5:.9:.1"
            self.fail(f"{value!r} is no {kind}, list or range such as {example}", param, ctx)
        if not found:
            self.fail(f"the range {value!r} is empty", param, ctx)
        return found

    def _number(self, text: str) -> float:
        number: float = int(text) if self.whole else float(_fraction(text))
        if not math.isfinite(number):
            raise ValueError
        return number

    def _range(self, text: str) -> tuple[float, ...]:
        parts = text.split(":")
        if self.whole and len(parts) == 2:
            parts.append("1")
        # As fractions, so that .5:.9:.1 ends at .9.
        first, last, step = map(_fraction, parts)
        if step <= 0 or (last - first) / step > MOST:
            raise ValueError
        count = math.floor((last - first) / step) + 1
        if self.whole:
            return tuple(self._number(str(first + step * i)) for i in range(count))
        return tuple(float(first + step * i) for i in range(count))


class Rows(click.ParamType[list[list[Fraction]]]):
    """Rows of numbers that are separated by semicolons: ``1/2,1/4,1/4;.2,.3,.5``."""

    name = "rows"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, list):
            return value
        try:
            return [[_fraction(number) for number in row.split(",")] for row in value.split(";")]
        except (ValueError, ArithmeticError):
            self.fail(f"{value!r} is no list of rows such as 1/2,1/4,1/4;.2,.3,.5", param, ctx)
