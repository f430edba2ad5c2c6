"""Validation of numbers and arrays of numbers, with the index of the first bad one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError

FloatArray = npt.NDArray[np.float64]
Figures = float | FloatArray
"""One number, or an array of them."""


def figures(name: str, values: Any, *, least: float = -np.inf, most: float = np.inf) -> FloatArray:
    """``values`` as an array of finite numbers in [least, most].

    Raises:
        InputError: naming the argument, the index (of an array) and the value.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: {values!r} is no number and no array of numbers") from None
    for bad, why in (
        (~np.isfinite(array), "is not finite"),
        (array < least, f"is below {least:g}"),
        (array > most, f"is above {most:g}"),
    ):
        if bad.any():
            index = np.unravel_index(int(bad.argmax()), bad.shape)
            place = f"[{', '.join(map(str, index))}]" if index else ""
            raise InputError(f"{name}{place}: {array[index]:g} {why}")
    return array


def positive(name: str, value: Any) -> float:
    """``value`` as a finite number above 0."""
    number = float(figures(name, value))
    if number <= 0:
        raise InputError(f"{name}: {number:g} is not positive")
    return number


def plain(array: FloatArray) -> Figures:
    """A number for an array without dimensions, else the array."""
    return array.item() if array.ndim == 0 else array
