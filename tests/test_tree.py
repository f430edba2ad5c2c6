from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslesscheck.errors import InputError
from losslesscheck.tree import Tree


def test_regular_tree_has_one_node_per_path() -> None:
    tree = Tree.regular((3, 2))
    assert (tree.size, tree.depth, tree.width) == (3 + 6, 2, 3)


def test_chain_is_a_path() -> None:
    assert Tree.chain(4) == Tree.regular((1, 1, 1, 1))
    assert Tree.chain(0).size == 0


def test_siblings_keep_their_order() -> None:
    tree = Tree.from_parents([-1, -1, 0, 0], tokens=[5, 4, 3, 2])
    assert [c.token for c in tree.children] == [5, 4]
    assert [c.token for c in tree.children[0].children] == [3, 2]


def test_labelled_numbers_siblings_afresh_at_every_node() -> None:
    tree = Tree.regular((2, 2)).labelled()
    assert [c.token for c in tree.children] == [0, 1]
    assert all([g.token for g in c.children] == [0, 1] for c in tree.children)


@given(st.lists(st.integers(0, 5), max_size=12))
def test_parents_that_point_back_always_make_a_tree(steps: list[int]) -> None:
    parents = [max(-1, i - 1 - step) for i, step in enumerate(steps)]
    tree = Tree.from_parents(parents)
    assert tree.size == len(parents)
    assert sorted(len(path) for path, _ in tree.nodes())[0] == 0


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([-1, 5], r"parents\[1\] = 5 dangles"),
        ([-1, -2], r"parents\[1\] = -2 dangles"),
        ([1, 2, 0], r"parents\[0\] = 1 lies on a cycle"),
        ([0], r"parents\[0\] = 0 lies on a cycle"),
        ([-1, 2, 1], r"parents\[1\] = 2 lies on a cycle"),
    ],
    ids=["dangling", "below-the-root", "cycle", "self", "cycle-beside-the-root"],
)
def test_bad_parents_are_named(parents: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Tree.from_parents(parents)


@pytest.mark.parametrize(
    "widths",
    [(10,) * 100, (1000, 1000, 1000), (1,) * 100_000, (2001,)],
    ids=["deep", "bushy", "long", "flat"],
)
def test_trees_too_large_to_walk_are_refused_before_they_are_built(widths: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"more than 2000 draft tokens|longer than 128"):
        Tree.regular(widths)


def test_parents_of_too_large_a_tree_are_refused() -> None:
    with pytest.raises(InputError, match="a path of 129 draft tokens is longer than 128"):
        Tree.from_parents(range(-1, 128))
    with pytest.raises(InputError, match="2001 draft tokens are more than 2000"):
        Tree.from_parents([-1] * 2001)
    assert Tree.from_parents([-1] * 2000).width == 2000


def test_tokens_must_match_parents() -> None:
    with pytest.raises(InputError, match="1 tokens for 2 parents"):
        Tree.from_parents([-1, 0], tokens=[1])


@pytest.mark.parametrize("widths", [(0,), (2, -1), (1.5,)])
def test_bad_widths_are_named(widths: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="is not a positive integer"):
        Tree.regular(widths)


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (Tree.regular((4, 2, 1)), "4,2,1"),
        (Tree.chain(0), "0"),
        (Tree.siblings([1, 0]), "[1 0]"),
        (Tree((Tree((Tree(),)), Tree())), "[[·] ·]"),
    ],
)
def test_trees_print_shortly(tree: Tree, text: str) -> None:
    assert str(tree) == text
