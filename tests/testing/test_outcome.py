"""Where in the tree an outcome went."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from losslesscheck.testing.outcome import NOWHERE, impossible, nodes, strayed
from losslesscheck.testing.subject import Batch, Emitted


def batch(lengths: int = 5) -> Batch:
    """One row: 3 and 4 below the root, 3 and 5 below the 3, 0 below that 5."""
    target = np.full((1, 6, 6), 1 / 6)
    target[0, 4] = [1, 0, 0, 0, 0, 0]
    return Batch(
        target=target,
        draft=np.full((1, 5, 6), 1 / 6),
        tokens=np.array([[3, 4, 3, 5, 0]]),
        parents=np.array([[-1, -1, 0, 0, 3]]),
        lengths=np.array([lengths]),
        coins=np.zeros((1, 5)),
        final=np.zeros(1),
        seed=0,
    )


def outcome(*tokens: int) -> Emitted:
    return Emitted(np.array([tokens + (-1,) * (4 - len(tokens))]), np.array([len(tokens) - 1]))


def test_every_token_has_its_node() -> None:
    assert nodes(batch(), outcome(3, 5, 0, 2)).tolist() == [[0, 1, 4, 5]]
    assert nodes(batch(), outcome(4, 1)).tolist() == [[0, 2, NOWHERE, NOWHERE]]
    assert nodes(batch(), outcome(2)).tolist() == [[0, NOWHERE, NOWHERE, NOWHERE]]


def test_a_path_that_is_not_in_the_tree_strays() -> None:
    assert strayed(batch(), outcome(3, 5, 0, 2)) is None
    assert strayed(batch(), outcome(2)) is None
    assert strayed(batch(), outcome(2, 1)) == (0, 0)
    assert strayed(batch(), outcome(4, 5, 0)) == (0, 1)


def test_either_of_two_equal_siblings_may_have_been_accepted() -> None:
    """3 and 3 below the root; 5 below the second alone."""
    equal = replace(
        batch(lengths=3), tokens=np.array([[3, 3, 5, 0, 0]]), parents=np.array([[-1, -1, 1, 0, 0]])
    )
    assert nodes(equal, outcome(3, 5, 1)).tolist() == [[0, 1, 3, NOWHERE]]
    assert strayed(equal, outcome(3, 5, 1)) is None
    assert strayed(equal, outcome(3, 4, 1)) == (0, 1)


def test_padding_is_no_draft() -> None:
    assert strayed(batch(lengths=3), outcome(3, 5, 0)) == (0, 1)
    assert strayed(batch(lengths=4), outcome(3, 5, 0)) is None


def test_a_token_of_probability_zero_is_found_where_it_was_drawn() -> None:
    assert impossible(batch(), outcome(3, 5, 0)) is None
    assert impossible(batch(), outcome(3, 5, 1)) == (0, 2)
