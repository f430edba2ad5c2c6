"""What strategies have in common: their arguments, checked before anything is drawn, and tokens."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from losslesscheck.errors import InputError

Vocabulary = int | SearchStrategy[int]
"""The number of tokens V, or a strategy that draws it."""


def checked_count(name: str, value: object, least: int) -> int:
    """``value``, which must be an integer of at least ``least``.

    Raises:
        InputError: naming the argument and the value.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name}: {value!r} is no integer of at least {least}")
    return value


def sizes(vocabulary: Vocabulary) -> SearchStrategy[int]:
    """The strategy for V; what a strategy of the user's draws is checked when it is drawn.

    Raises:
        InputError: if it is neither a positive integer nor a strategy.
    """
    if isinstance(vocabulary, SearchStrategy):
        return vocabulary.map(lambda drawn: checked_count("vocabulary", drawn, 1))
    return st.just(checked_count("vocabulary", vocabulary, 1))


def checked_dtype(dtype: object, allowed: Collection[str]) -> str:
    """The name of a dtype (``"float32"``, ``np.float32``, ``np.dtype("float32")``) that is allowed.

    Raises:
        InputError: naming the value.
    """
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", getattr(dtype, "name", None))
    if not isinstance(name, str) or name not in allowed:
        raise InputError(f"dtype: {dtype!r} is not one of {', '.join(allowed)}")
    return name


def token_lists(vocabulary: int, min_size: int, max_size: int) -> SearchStrategy[list[int]]:
    """Lists of tokens."""
    if vocabulary > 256:
        return st.lists(st.integers(0, vocabulary - 1), min_size=min_size, max_size=max_size)
    # A string of bytes is a single choice for Hypothesis, quickly drawn, and it shrinks whatever V is.
    drawn = st.binary(min_size=min_size, max_size=max_size)
    return drawn.map(lambda string: [byte % vocabulary for byte in string])
