"""A target's and a draft's next-token distribution, together."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import lcm
from typing import Any, overload

import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from losslesscheck.testing.strategies.arguments import Vocabulary, checked_count, checked_dtype, sizes
from losslesscheck.testing.strategies.distributions import LARGEST_DENOMINATOR, ExactRow, distributions
from losslesscheck.testing.strategies.floats import DTYPES, FloatArray, float_values, neighbours, printed

RELATION = st.sampled_from(["equal", "independent", "disjoint", "near"])

Row = list[Any]
Pair = tuple[Row, Row]


@overload
def pairs(
    vocabulary: Vocabulary, *, dtype: None = None, max_denominator: int = LARGEST_DENOMINATOR
) -> SearchStrategy[tuple[ExactRow, ExactRow]]: ...


@overload
def pairs(
    vocabulary: Vocabulary, *, dtype: npt.DTypeLike, max_denominator: int = LARGEST_DENOMINATOR
) -> SearchStrategy[tuple[FloatArray, FloatArray]]: ...


def pairs(
    vocabulary: Vocabulary,
    *,
    dtype: npt.DTypeLike | None = None,
    max_denominator: int = LARGEST_DENOMINATOR,
) -> SearchStrategy[tuple[Any, Any]]:
    """Target and draft rows over the same tokens.

    The draft is equal to the target, or independent of it, or has a disjoint support, or is nearly
    equal: one unit of the common denominator has moved to another token, or one float is off by an
    ulp. Shrinks to the same simple row twice.

    Args:
        vocabulary: V, or a strategy for it.
        dtype: ``None`` for the exact rows of ``distributions``; else float16, float32 or float64, for
            those of ``float_distributions``.
        max_denominator: of exact rows, see ``distributions``.

    Raises:
        InputError: for a bad argument.

    >>> from hypothesis import find
    >>> find(pairs(2), lambda pair: pair[0] != pair[1])
    ([Fraction(1, 1), Fraction(0, 1)], [Fraction(0, 1), Fraction(1, 1)])
    """
    checked_count("max_denominator", max_denominator, 1)
    if isinstance(vocabulary, SearchStrategy):
        return sizes(vocabulary).flatmap(
            lambda size: pairs(size, dtype=dtype, max_denominator=max_denominator)
        )
    checked_count("vocabulary", vocabulary, 1)
    if dtype is None:
        return _related(
            vocabulary, cache(lambda size: distributions(size, max_denominator=max_denominator)), _moved
        )
    name = checked_dtype(dtype, DTYPES)
    return _float_pairs(vocabulary, name)


@st.composite
def _float_pairs(draw: DrawFn, size: int, dtype: str) -> tuple[FloatArray, FloatArray]:
    target, draft = draw(
        _related(size, lambda n: float_values(n, dtype, True), lambda row: _next(row, dtype))
    )
    return printed(target, dtype), printed(draft, dtype)


@st.composite
def _related(
    draw: DrawFn,
    size: int,
    rows: Callable[[int], SearchStrategy[Row]],
    near: Callable[[Row], SearchStrategy[Row]],
) -> Pair:
    """Target and draft in one of the four relations.

    Args:
        size: V.
        rows: draws a row over so many tokens.
        near: draws a row close to the given one.
    """
    relation = draw(RELATION)
    if relation == "disjoint" and size > 1:
        bits = draw(st.integers(1, 2**size - 2))
        tokens = [token for token in range(size) if bits >> token & 1]
        others = [token for token in range(size) if token not in tokens]
        target, draft = draw(rows(len(tokens))), draw(rows(len(others)))
        return _spread(target, tokens, size), _spread(draft, others, size)
    target = draw(rows(size))
    if relation == "independent":
        return target, draw(rows(size))
    return target, draw(near(target)) if relation == "near" else list(target)


def _spread(row: Row, tokens: list[int], size: int) -> Row:
    """The entries of ``row`` at ``tokens``, zeros elsewhere."""
    spread = [row[0] * 0] * size
    for token, value in zip(tokens, row, strict=True):
        spread[token] = value
    return spread


@st.composite
def _moved(draw: DrawFn, row: ExactRow) -> ExactRow:
    if len(row) == 1:
        return row
    unit = Fraction(1, lcm(*(value.denominator for value in row)))
    giver = draw(st.sampled_from([token for token, value in enumerate(row) if value > 0]))
    taker = draw(st.sampled_from([token for token in range(len(row)) if token != giver]))
    return [value + unit * ((token == taker) - (token == giver)) for token, value in enumerate(row)]


@st.composite
def _next(draw: DrawFn, row: list[float], dtype: str) -> list[float]:
    at = draw(st.sampled_from([token for token, value in enumerate(row) if value > 0]))
    return draw(neighbours(row, at, dtype))
