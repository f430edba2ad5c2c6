"""Float arrays as an engine has them: next-token distributions and coins."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from losslesscheck.errors import InputError
from losslesscheck.testing.strategies.arguments import (
    Vocabulary,
    checked_count,
    checked_dtype,
    sizes,
    token_lists,
)
from losslesscheck.testing.strategies.distributions import distributions

FloatArray = npt.NDArray[Any]

DTYPES = ("float16", "float32", "float64")

COIN_BITS = {"float32": 24, "float64": 53}
"""An engine's coin is a multiple of 2**-bits: what ``torch.rand`` and ``Generator.random`` draw."""

PATTERN = 16
LEVELS = 41
"""Logits are multiples of 1/2 up to 20, at most 16 of them, which are repeated over a larger vocabulary."""

KINDS = st.sampled_from(["fractions", "softmax", "zero tail", "denormal", "off by an ulp"])
PLAIN = st.just("softmax")


class Printed(np.ndarray[Any, Any]):
    """An array whose repr has every digit, so that a falsifying example can be copied.

    NumPy's own shows eight digits, with which 1 - 2**-53 is 1.
    """

    def __repr__(self) -> str:
        if self.size == 0:
            return f"np.empty({self.shape}, {self.dtype.name!r})"
        return f"np.array({self.tolist()}, {self.dtype.name!r})"


def printed(values: list[Any] | FloatArray, dtype: str) -> FloatArray:
    """``values`` as an array that prints every digit."""
    return np.array(values, dtype).view(Printed)


def float_distributions(
    vocabulary: Vocabulary, *, dtype: npt.DTypeLike = "float64", awkward: bool = True
) -> SearchStrategy[FloatArray]:
    """Rows of floats that sum to one up to rounding: arrays of shape [V].

    Peaked, flat and tied rows come from a softmax in float64, rounded to ``dtype``. The awkward ones:
    small fractions (one-hot rows and zeros among them), a zero tail as of a padded vocabulary, a
    denormal probability, and a largest entry that is off by an ulp.

    Shrinks to the point mass on token 0, then (1/2, 1/2) and the like; without the awkward ones to the
    flat row.

    Args:
        vocabulary: V, or a strategy for it.
        dtype: float16, float32 or float64.
        awkward: whether the awkward rows are drawn too.

    Raises:
        InputError: for a bad argument.

    >>> from hypothesis import find
    >>> find(float_distributions(2), lambda row: row[0] > row[1])
    np.array([1.0, 0.0], 'float64')
    """
    name = checked_dtype(dtype, DTYPES)
    rows = sizes(vocabulary).flatmap(lambda size: float_values(size, name, awkward))
    return _arrays(rows, name)


@st.composite
def _arrays(draw: DrawFn, values: SearchStrategy[Any], dtype: str) -> FloatArray:
    # Not values.map(): Hypothesis would print that call, where it is shorter than the array.
    return printed(draw(values), dtype)


@st.composite
def float_values(draw: DrawFn, size: int, dtype: str, awkward: bool) -> list[float]:
    """The entries of a row, numbers of ``dtype``."""
    kind = draw(KINDS if awkward else PLAIN)
    if kind == "zero tail" and size > 1:
        kept = draw(st.integers(1, size - 1))
        row = [*draw(_softmax(kept)), *[0.0] * (size - kept)]
    elif kind == "denormal" and size > 1:
        at = draw(st.integers(0, size - 1))
        row = [float(value) for value in draw(distributions(size - 1))]
        row.insert(at, draw(st.integers(1, 3)) * float(np.finfo(dtype).smallest_subnormal))
    elif kind in ("fractions", "off by an ulp"):
        row = [float(value) for value in draw(distributions(size))]
    else:
        row = draw(_softmax(size))
    row = np.array(row, dtype).tolist()
    if kind == "off by an ulp":
        row = draw(neighbours(row, row.index(max(row)), dtype))
    return row


@st.composite
def _softmax(draw: DrawFn, size: int) -> list[float]:
    logits = np.resize(draw(token_lists(LEVELS, 1, min(size, PATTERN))), size)
    weights = np.exp((logits - logits.max()) / 2)
    values: list[float] = (weights / weights.sum()).tolist()
    return values


@st.composite
def neighbours(draw: DrawFn, row: list[float], at: int, dtype: str) -> list[float]:
    """The row with the entry ``at`` moved to the next float of ``dtype``, down or up."""
    limit = draw(st.sampled_from([0, 2]))
    moved = np.nextafter(np.array(row[at], dtype), np.array(limit, dtype))
    return [*row[:at], moved.item(), *row[at + 1 :]]


def coins(shape: int | tuple[int, ...], *, dtype: npt.DTypeLike = "float32") -> SearchStrategy[FloatArray]:
    """Uniform coins as an engine draws them: an array of multiples of 2**-24 (float64: 2**-53) in [0, 1).

    The extremes, 0 and 1 - 2**-24 (1 - 2**-53), are frequent. Shrinks to zeros.

    Args:
        shape: of the array.
        dtype: float32 or float64.

    Raises:
        InputError: for a bad argument.

    >>> from hypothesis import find
    >>> find(coins((2, 1)), lambda coin: coin[0, 0] < coin[1, 0]).shape
    (2, 1)
    """
    name = checked_dtype(dtype, COIN_BITS)
    lengths = (shape,) if isinstance(shape, int) else shape
    if not isinstance(lengths, tuple):
        raise InputError(f"shape: {shape!r} is neither an integer nor a tuple")
    for length in lengths:
        checked_count("shape", length, 0)
    levels = 2 ** COIN_BITS[name]
    level = st.one_of(st.just(0), st.just(levels - 1), st.integers(0, levels - 1))
    count = prod(lengths)
    drawn = st.lists(level, min_size=count, max_size=count)
    return _arrays(drawn.map(lambda k: (np.array(k) / levels).reshape(lengths)), name)
