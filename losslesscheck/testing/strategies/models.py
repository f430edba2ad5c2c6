"""Models whose next-token distribution depends on the context."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from losslesscheck.model import Model
from losslesscheck.testing.problem import by_context
from losslesscheck.testing.strategies.arguments import Vocabulary, checked_count, sizes, token_lists
from losslesscheck.testing.strategies.distributions import LARGEST_DENOMINATOR, distributions

MOST_CONTEXTS = 4

Row = TypeVar("Row")


def models(
    vocabulary: Vocabulary,
    depth: int,
    *,
    zeros: bool = True,
    max_denominator: int = LARGEST_DENOMINATOR,
    max_contexts: int = MOST_CONTEXTS,
    name: str = "model",
) -> SearchStrategy[Model]:
    """Exact models: one row for every context, but for a few contexts that have a row of their own.

    Shrinks to the same row everywhere. An example prints as the call of ``by_context`` that makes it.

    Args:
        vocabulary: V, or a strategy for it.
        depth: the length of the longest context that may have a row of its own.
        zeros, max_denominator: of the rows, see ``distributions``.
        max_contexts: the largest number of contexts with a row of their own.
        name: how errors call the model.

    Raises:
        InputError: for a bad argument.

    >>> from hypothesis import find
    >>> model = find(models(2, 1), lambda model: model.exact((0,)) != model.exact((1,)))
    >>> [str(value) for value in model.exact((1,))]
    ['1', '0']
    """
    checked_count("depth", depth, 0)
    checked_count("max_contexts", max_contexts, 0)
    distributions(vocabulary, zeros=zeros, max_denominator=max_denominator)  # checks them

    @cache
    def of_size(size: int) -> SearchStrategy[Model]:
        row = distributions(size, zeros=zeros, max_denominator=max_denominator)
        rows = context_rows(row, size, depth, max_contexts)
        return st.builds(by_context, rows, name=st.just(name))

    return sizes(vocabulary).flatmap(of_size)


def context_rows(
    row: SearchStrategy[Row], size: int, depth: int, most: int
) -> SearchStrategy[dict[tuple[int, ...], Row]]:
    """What ``row`` draws for the empty context, and for at most ``most`` others of up to ``depth`` tokens."""
    if depth == 0:
        most = 0
    context = token_lists(size, 1, max(1, depth)).map(tuple)
    return _context_rows(st.lists(st.tuples(context, row), min_size=1, max_size=1 + most))


@st.composite
def _context_rows(
    draw: DrawFn, listed: SearchStrategy[list[tuple[tuple[int, ...], Row]]]
) -> dict[tuple[int, ...], Row]:
    # The first is for the empty context, whatever was drawn: when it is left out the next takes its
    # place, and a failure at a long context shrinks to one at the root.
    (_, first), *others = draw(listed)
    return {(): first, **dict(others)}
