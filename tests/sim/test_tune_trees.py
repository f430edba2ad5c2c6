"""The tree program against every tree there is, and against the recurrence written out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import Acceptance, ByPosition, BySibling, Constant
from losslesscheck.sim.cost import Cost, Draft, Linear, Parallel, Sequential
from losslesscheck.sim.tokens.prediction import predict
from losslesscheck.sim.tune import Trees, best_size, best_tree
from losslesscheck.sim.tune.growth import Convolved, Leaf, Level, Merged, grow
from losslesscheck.tree import Tree

MODELS = {
    "constant": Constant(0.6),
    "by-position": ByPosition((0.9, 0.5, 0.8, 0.7, 0.4, 0.3, 0.2, 0.1)),
    "falling": BySibling(((0.5, 0.2, 0.1, 0.05, 0.05, 0.01, 0.01, 0.01),)),
    "rising": BySibling(((0.1, 0.2, 0.35, 0.05, 0.15, 0.01, 0.01, 0.01),)),
    "falling-by-depth": BySibling(((0.7, 0.2, 0.05), (0.5, 0.3, 0.1), (0.3, 0.2, 0.2))),
    "mixed-by-depth": BySibling(((0.7, 0.2, 0.05), (0.1, 0.6, 0.1), (0.5, 0.2, 0.2))),
    "zeros": BySibling(((0.5, 0.0, 0.4), (0.0, 0.9), (1.0, 0.0))),
    "certain": BySibling(((1.0, 0.0),)),
}
WIDEST = {"falling-by-depth": 3, "mixed-by-depth": 3, "zeros": 2, "certain": 2}


@cache
def forests(nodes: int) -> tuple[tuple[Tree, ...], ...]:
    """Every ordered forest of that many nodes."""
    if nodes == 0:
        return ((),)
    return tuple(
        (Tree(below), *rest)
        for first in range(nodes)
        for below in forests(first)
        for rest in forests(nodes - 1 - first)
    )


def every_tree(nodes: int, depth: int, width: int) -> Iterator[Tree]:
    for forest in forests(nodes):
        tree = Tree(forest)
        if tree.depth <= depth and tree.width <= width:
            yield tree


@pytest.mark.parametrize("depth", [1, 2, 3, 8])
@pytest.mark.parametrize("name", MODELS)
def test_no_tree_of_up_to_eight_nodes_is_better(name: str, depth: int) -> None:
    model, width = MODELS[name], WIDEST.get(name, 8)
    trees = Trees(model, budget=8, depth=depth, width=width)
    best = 1.0
    for nodes in range(1, 9):
        found = (predict(model, tree=tree).tokens_per_step for tree in every_tree(nodes, depth, width))
        best = max(best, max(found, default=0.0))
        assert trees.tokens_per_step(depth)[nodes] == pytest.approx(best, abs=1e-12)


def transcription(row: list[float], budget: int, depth: int) -> np.ndarray:
    """Sequoia's recurrence as printed: n counts the root, T[1, 0] = 1; [depth + 1, budget + 2]."""
    worst = float("-inf")
    best = np.full((depth + 1, budget + 2), worst)
    best[0, 1] = 1.0
    for level in range(1, depth + 1):
        table = np.full((budget + 2, len(row) + 1), worst)
        table[1, 0] = 1.0
        for n in range(2, budget + 2):
            for b in range(1, len(row) + 1):
                table[n, b] = max(table[n - m, b - 1] + row[b - 1] * best[level - 1, m] for m in range(1, n))
        best[level] = table.max(axis=1)
    return best


@pytest.mark.parametrize("falling", [True, False], ids=["falling", "any-order"])
def test_the_recurrence_written_out_agrees(falling: bool) -> None:
    rng = np.random.default_rng(5)
    for _ in range(4):
        row = rng.dirichlet(np.ones(5)) * rng.uniform(0.5, 1)
        if falling:
            row = np.sort(row)[::-1]
        trees = Trees(BySibling((tuple(row),)), budget=24, depth=5)
        written = transcription(row.tolist(), 24, 5)
        for depth in range(1, 6):
            # A tree of at most n nodes may have fewer, the recurrence's has exactly n.
            at_most = np.maximum.accumulate(written[depth, 1:])
            np.testing.assert_allclose(trees.tokens_per_step(depth), at_most, rtol=1e-12)


def test_merging_and_convolving_agree_where_both_apply() -> None:
    rng = np.random.default_rng(6)
    for _ in range(10):
        rows = [np.sort(rng.dirichlet(np.full(7, 0.5)))[::-1] for _ in range(6)]
        level: Level = Leaf(300)
        for merged, row in zip(grow(rows, 300), reversed(rows), strict=True):
            level = Convolved(row, level)
            assert isinstance(merged, Merged)
            np.testing.assert_allclose(merged.values, level.values, rtol=1e-12)


@pytest.mark.parametrize("row", [(0.3, 0.2, 0.1), (0.2, 0.3, 0.1)], ids=["falling", "rising"])
def test_levels_that_gain_nothing_are_not_computed_again(row: tuple[float, ...]) -> None:
    levels = grow([np.array(row)] * 40, 12)
    assert levels[-1] is levels[-20]
    assert (np.diff([level.values[12] for level in levels]) >= 0).all()
    tree = Trees(BySibling((row,)), budget=12, depth=40)
    assert predict(BySibling((row,)), tree=tree.tree(12, 40)).tokens_per_step == pytest.approx(
        tree.tokens_per_step(40)[12], rel=1e-12
    )


@pytest.mark.parametrize("name", MODELS)
def test_the_tree_has_the_tokens_per_step_that_it_is_credited_with(name: str) -> None:
    model = MODELS[name]
    trees = Trees(model, budget=25, depth=8)
    for depth in range(1, 9):
        for tokens in range(26):
            tree = trees.tree(tokens, depth)
            assert tree.size <= tokens
            assert tree.depth <= depth
            expected = trees.tokens_per_step(depth)[tokens]
            assert predict(model, tree=tree).tokens_per_step == pytest.approx(expected, rel=1e-12)


def test_a_big_tree_is_full_and_within_its_bounds() -> None:
    tree, tokens = best_tree(Constant(0.7), budget=1024, depth=32)
    assert (tree.size, tree.depth <= 32) == (1024, True)
    assert predict(Constant(0.7), tree=tree).tokens_per_step == pytest.approx(tokens, rel=1e-12)


def test_no_siblings_that_cannot_be_accepted() -> None:
    tree, tokens = best_tree(BySibling(((1.0, 0.0),)), budget=9, depth=4)
    assert (str(tree), tokens) == ("1,1,1,1", 5.0)


def test_width_one_gives_the_chain() -> None:
    tree, tokens = best_tree(Constant(0.5), budget=9, depth=4, width=1)
    assert (str(tree), tokens) == ("1,1,1,1", 1.9375)


def sizes(model: Acceptance, cost: Cost, budget: int, depth: int) -> list[float]:
    trees = Trees(model, budget=budget, depth=depth)
    return [
        float(cost.speedup(trees.tokens_per_step(bound)[size], Draft.of(trees.tree(size, bound))))
        for bound in range(1, depth + 1)
        for size in range(1, budget + 1)
    ]


def test_best_size_is_the_best_of_all_sizes_and_depths() -> None:
    cost = Cost(Linear(1.0, per_token=0.02), Sequential(Linear(0.04, per_token=0.002)))
    choice = best_size(Constant(0.7), cost, budget=30, depth=6, sizes=tuple(range(1, 31)))
    assert choice is not None
    assert choice.speedup == pytest.approx(max(sizes(Constant(0.7), cost, 30, 6)), rel=1e-12)
    assert (choice.tree.size, choice.tree.depth) == (choice.draft_tokens, choice.depth)


def test_best_size_with_parallel_heads_ignores_the_depth() -> None:
    cost = Cost(Linear(1.0, per_token=0.001), Parallel(Linear(0.1)))
    deep = best_size(Constant(0.9), cost, budget=16, depth=16)
    assert deep is not None
    # Up to the same budget a sequential drafter pays for every level.
    shallow = best_size(
        Constant(0.9), Cost(Linear(1.0, per_token=0.001), Sequential(Linear(0.4))), budget=16, depth=16
    )
    assert shallow is not None
    assert shallow.depth < deep.depth


def test_best_size_says_when_nothing_pays() -> None:
    assert best_size(Constant(0.3), Cost.relative(2.0), budget=16, depth=4) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": 0}, "budget: 0 is below 1"),
        ({"budget": 2001}, "budget: 2001 draft tokens are more than 2000"),
        ({"depth": 0}, "depth: 0 is below 1"),
        ({"depth": 129}, "depth: 129 is more than 128"),
        ({"width": 0}, "width: 0 is below 1"),
        ({"budget": 2.5}, "budget: 2.5 is not an integer"),
    ],
    ids=str,
)
def test_bad_bounds(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        Trees(Constant(0.5), **{"budget": 8, "depth": 4} | arguments)


def test_bad_models() -> None:
    with pytest.raises(InputError, match=r"acceptance: 0\.5 is no acceptance model"):
        Trees(0.5, budget=3, depth=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="depth: 3, but alphas has 2 positions"):
        Trees(ByPosition((0.5, 0.4)), budget=3, depth=3)
    with pytest.raises(InputError, match="tokens: 9 are more than the budget of 8"):
        Trees(Constant(0.5), budget=8, depth=2).tree(9, 1)
    with pytest.raises(InputError, match="tree: it has no draft tokens"):
        Draft.of(Tree())
