"""Numbers that callers hand in, checked before any work."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from losslesscheck.errors import InputError


def number(name: str, value: Any) -> float:
    """A real number.

    Raises:
        InputError: if it is none: numbers in strings are refused too.
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InputError(f"{name}: {value!r} is not a number")
    return float(value)


def whole(name: str, value: Any, least: int = 1, *, exponent: bool = False) -> int:
    """A whole number; with ``exponent`` a float may be one too, as 1e4.

    Raises:
        InputError: if it is none, or below ``least``, 0 or 1.
    """
    given = number(name, value)
    if not (given.is_integer() if exponent else isinstance(value, Integral)):
        raise InputError(f"{name}: {value!r} is not a whole number")
    if given < least:
        raise InputError(f"{name}: {value!r} is {'not positive' if least else 'negative'}")
    return int(value)


def level(value: Any) -> float:
    """A bound on the probability of a false alarm.

    Raises:
        InputError: if it is not between 0 and 1.
    """
    alpha = number("alpha", value)
    if not 0 < alpha < 1:
        raise InputError(f"alpha: {value!r} is not between 0 and 1")
    return alpha
