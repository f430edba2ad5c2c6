"""Token trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from losslesscheck.errors import InputError
from losslesscheck.testing.strategies.arguments import checked_count, token_lists
from losslesscheck.tree import Tree


def trees(
    *,
    max_depth: int = 3,
    max_width: int = 3,
    max_size: int = 8,
    tokens: int | None = None,
    duplicates: bool = False,
    empty: bool = False,
) -> SearchStrategy[Tree]:
    """Ragged token trees, with leaves at any depth.

    Shrinks to a single draft token, or to none where the empty tree is allowed.

    Args:
        max_depth: the largest draft length γ.
        max_width: the largest number of siblings at a node.
        max_size: the largest number of draft tokens.
        tokens: V, for trees that fix their draft tokens; ``None`` for those whose tokens are drawn
            from the draft model.
        duplicates: whether siblings may be the same token.
        empty: whether the tree without a draft token may occur.

    Raises:
        InputError: for a bad argument.

    >>> from hypothesis import find
    >>> str(find(trees(tokens=4), lambda tree: tree.depth == 2))
    '[0[0]]'
    """
    for name, value in (("max_depth", max_depth), ("max_width", max_width), ("max_size", max_size)):
        checked_count(name, value, 1)
    if tokens is not None:
        checked_count("tokens", tokens, 1)
    elif duplicates:
        raise InputError("duplicates: without tokens, no siblings are the same token")
    places = token_lists(max_size, 0 if empty else 1, max_size)
    names = st.none() if tokens is None else token_lists(tokens, max_size, max_size)
    if tokens is not None and not duplicates:
        max_width = min(max_width, tokens)
    return _trees(places, names, max_depth, max_width, tokens, duplicates)


@st.composite
def _trees(
    draw: DrawFn,
    places: SearchStrategy[list[int]],
    names: SearchStrategy[list[int] | None],
    max_depth: int,
    max_width: int,
    vocabulary: int | None,
    duplicates: bool,
) -> Tree:
    """Each place names the node below which the next one is hung; where there is no room it is left out,
    not put elsewhere, so that leaving nodes out does not move the others."""
    wanted = draw(names)
    parents: list[int] = []
    tokens: list[int] = []
    depth = {-1: 0}
    below: dict[int, list[int]] = {-1: []}  # the tokens of a node's children
    for place in draw(places):
        node = len(parents)
        parent = place % (node + 1) - 1
        if depth[parent] == max_depth or len(below[parent]) == max_width:
            continue
        token = wanted[node] if wanted else 0
        if vocabulary is not None and not duplicates:
            left = [token for token in range(vocabulary) if token not in below[parent]]
            token = left[token % len(left)]
        parents.append(parent)
        tokens.append(token)
        below[parent].append(token)
        depth[node], below[node] = depth[parent] + 1, []
    return draw(_made(tuple(parents), None if vocabulary is None else tuple(tokens)))


@lru_cache(1024)
def _made(parents: tuple[int, ...], tokens: tuple[int, ...] | None) -> SearchStrategy[Tree]:
    # Hypothesis prints what st.builds() makes as the call, under the function's name.
    arguments = [parents] if tokens is None else [parents, tokens]
    return st.builds(_from_parents, *(st.just(list(argument)) for argument in arguments))


def _from_parents(parents: Sequence[int], tokens: Sequence[int] | None = None) -> Tree:
    return Tree.from_parents(parents, tokens)


_from_parents.__name__ = "Tree.from_parents"
