"""Exact next-token distributions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from losslesscheck.errors import InputError
from losslesscheck.testing.strategies.arguments import Vocabulary, checked_count, sizes, token_lists

LARGEST_DENOMINATOR = 12

ExactRow = list[Fraction]
"""Length V, non-negative, summing to one."""


def distributions(
    vocabulary: Vocabulary, *, zeros: bool = True, max_denominator: int = LARGEST_DENOMINATOR
) -> SearchStrategy[ExactRow]:
    """Exact rows: lists of V fractions that sum to one.

    Shrinks to few tokens, small denominators and simple rows: the point mass on token 0, then
    (1/2, 1/2) and the like; without zeros to the flat row.

    Args:
        vocabulary: V, or a strategy for it.
        zeros: whether tokens of probability zero may occur.
        max_denominator: the largest common denominator of a row; at least V where there are no zeros.

    Raises:
        InputError: for a bad argument (when drawn, if it is a strategy's vocabulary that is bad).

    >>> from hypothesis import find
    >>> find(distributions(3), lambda row: max(row) < 1)
    [Fraction(1, 2), Fraction(1, 2), Fraction(0, 1)]
    """
    checked_count("max_denominator", max_denominator, 1)
    if isinstance(vocabulary, SearchStrategy):
        return sizes(vocabulary).flatmap(
            lambda size: distributions(size, zeros=zeros, max_denominator=max_denominator)
        )
    checked_count("vocabulary", vocabulary, 1)
    if not zeros and max_denominator < vocabulary:
        raise InputError(
            f"max_denominator: {max_denominator} is too small for {vocabulary} tokens of positive probability"
        )
    everywhere = 0 if zeros else 1
    tokens = token_lists(vocabulary, 1 - everywhere, max_denominator - everywhere * vocabulary)
    return _frequencies(tokens, vocabulary, everywhere)


@st.composite
def _frequencies(draw: DrawFn, tokens: SearchStrategy[list[int]], size: int, everywhere: int) -> ExactRow:
    """The row of how often each token was drawn.

    Unlike a weight for every token, this shrinks well together with the size of the vocabulary.
    """
    drawn = draw(tokens)
    parts = [drawn.count(token) + everywhere for token in range(size)]
    total = sum(parts)
    return [Fraction(part, total) for part in parts]
