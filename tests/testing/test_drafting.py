"""Batches hold what they say: drafts drawn as the rule supposes, and the rows that belong to them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from losslesscheck import instances, rules
from losslesscheck.errors import InputError
from losslesscheck.machines.exact import exact_law
from losslesscheck.model import Model
from losslesscheck.statistics import log_e_value
from losslesscheck.testing import cases
from losslesscheck.testing.drafting import Drafter, distinct_seeds, flattened, standalone_tree
from losslesscheck.testing.problem import Problem, round_to
from losslesscheck.testing.subject import Batch
from losslesscheck.tree import Tree

RAGGED = Tree.from_parents([-1, -1, 0, 0, 2])


def drafted(
    name: str, tree: Tree | None = None, size: int = 4000, **options: object
) -> tuple[Problem, Batch]:
    problem = cases.problem(rules.get(name), tree=tree, **options).rounded("float32")  # type: ignore[arg-type]
    return problem, Drafter(problem, "float32").batch(size, np.random.default_rng(1))


def paths(batch: Batch, row: int) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for i, parent in enumerate(batch.parents[row]):
        above = () if parent < 0 else found[parent]
        found.append((*above, int(batch.tokens[row, i])))
    return found


@pytest.mark.parametrize("name", ["specinfer", "without_replacement", "naive_sampling"])
def test_rows_are_those_of_the_paths(name: str) -> None:
    problem, batch = drafted(name, RAGGED, size=50)
    for row in range(50):
        np.testing.assert_array_equal(batch.target[row, 0], problem.target.floats[problem.target.index(())])
        for i, path in enumerate(paths(batch, row)):
            expected = problem.target.floats[problem.target.index(path)]
            np.testing.assert_array_equal(batch.target[row, i + 1], expected)
            if problem.draft is None:
                assert batch.draft[row, i].tolist() == np.eye(8)[path[-1]].tolist()
            else:
                drawn_from = problem.draft.floats[problem.draft.index(path[:-1])]
                np.testing.assert_array_equal(batch.draft[row, i], drawn_from)


@pytest.mark.parametrize("name", ["chain", "specinfer"])
def test_drafts_are_drawn_from_q_independently(name: str) -> None:
    problem, batch = drafted(name, size=40_000)
    assert problem.draft is not None
    q = problem.draft.floats[int(problem.draft.index(()))]
    if name == "chain":
        second = problem.draft.floats[problem.draft.index((batch.tokens[:, 0],))]
        law = (
            q[:, None] * np.array([problem.draft.floats[problem.draft.index((x,))] for x in range(8)])
        ).ravel()
        assert second.shape == (40_000, 8)
    else:
        law = np.outer(q, q).ravel()
    counts = np.bincount(batch.tokens[:, 0] * 8 + batch.tokens[:, 1], minlength=64)
    assert log_e_value(counts, law) < math.log(1e9)


def test_siblings_without_replacement_have_their_law() -> None:
    problem, batch = drafted("without_replacement", Tree.regular((3,)), size=40_000, vocabulary=4, seed=3)
    assert problem.draft is not None
    q = problem.draft.floats[int(problem.draft.index(()))]
    law = np.zeros((4, 4, 4))
    for a in range(4):
        for b in {*range(4)} - {a}:
            for c in {*range(4)} - {a, b}:
                law[a, b, c] = q[a] * q[b] / (1 - q[a]) * q[c] / (1 - q[a] - q[b])
    code = (batch.tokens[:, 0] * 4 + batch.tokens[:, 1]) * 4 + batch.tokens[:, 2]
    assert log_e_value(np.bincount(code, minlength=64), law.ravel()) < math.log(1e9)


def test_an_exhausted_draft_goes_on_uniformly() -> None:
    problem, batch = drafted("without_replacement", Tree.regular((3,)), kind="one-hot draft", size=30_000)
    assert problem.draft is not None
    hot = int(problem.draft.floats[int(problem.draft.index(()))].argmax())
    assert set(batch.tokens[:, 0].tolist()) == {hot}
    pairs = np.bincount(batch.tokens[:, 1] * 8 + batch.tokens[:, 2], minlength=64)
    law = np.ones((8, 8)) - np.eye(8)
    law[hot] = law[:, hot] = 0
    assert log_e_value(pairs, law.ravel() / law.sum()) < math.log(1e9)


def test_a_greedy_draft_is_the_likeliest_token() -> None:
    problem, batch = drafted("blockwise", size=20)
    assert problem.draft is not None
    for row in range(20):
        assert (batch.draft[row].argmax(axis=1) == batch.tokens[row]).all()


def test_padding_would_be_accepted_if_it_were_looked_at() -> None:
    _, batch = drafted("specinfer", RAGGED, size=500, ragged=True)
    assert set(batch.lengths.tolist()) == {0, 1, 2, 3, 4, 5}
    for row in range(500):
        for i in range(int(batch.lengths[row]), 5):
            assert batch.tokens[row, i] == 0
            assert batch.draft[row, i, 0] == batch.target[row, i + 1, 0] == 1


def test_coins_are_those_that_engines_draw() -> None:
    _, batch = drafted("chain", size=10_000)
    scaled = batch.coins.astype(np.float64) * 2**24
    assert (scaled == np.rint(scaled)).all()
    assert (batch.coins >= 0).all()
    assert (batch.coins < 1).all()
    assert abs(float(batch.coins.mean()) - 0.5) < 0.02
    both = np.concatenate([batch.coins.ravel(), batch.final])
    assert len(np.unique(both)) > 0.99 * len(both)


def test_levels_come_one_after_the_other() -> None:
    assert flattened(RAGGED) == ([-1, -1, 0, 0, 2], [-1] * 5)
    assert flattened(Tree.regular((2, 2)))[0] == [-1, -1, 0, 0, 1, 1]


@pytest.mark.parametrize("settings", [(3, 1, 4), (2, 2, 4), (3, 2, 6)], ids=str)
def test_the_standalone_tree_is_the_one_that_the_rule_verifies(settings: tuple[int, int, int]) -> None:
    steps, topk, count = settings
    rule = rules.get("standalone").bind(steps=steps, topk=topk, draft_tokens=count)
    target, draft = instances.sampling_models(rule, rule.tree, 4, seed=5, positive_draft=True)
    assert draft is not None
    tree = standalone_tree(draft, steps=steps, topk=topk, draft_tokens=count)
    assert tree.size == count - 1
    verified = exact_law(rules.get("target_only"), target, None, tree)
    assert exact_law(rule, target, draft, rule.tree) == verified


def test_a_standalone_tree_needs_enough_proposals() -> None:
    with pytest.raises(InputError, match="draft_tokens: 9 with the root, but 2 are proposed"):
        standalone_tree(Model.constant(np.full(4, 0.25)), steps=2, topk=1, draft_tokens=9)


def test_rounding_is_to_nearest_even() -> None:
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(0).random(10_000)
    for dtype in ("float16", "bfloat16", "float32"):
        single = torch.from_numpy(values).float()
        expected = single.to(getattr(torch, dtype)).double().numpy()
        found = round_to(values.astype(np.float32).astype(np.float64), dtype)
        np.testing.assert_array_equal(found, expected)


def test_no_seed_comes_twice() -> None:
    seeds = list(itertools.islice(distinct_seeds(np.random.default_rng(0)), 100_000))
    assert len(set(seeds)) == 100_000
    assert 0 <= min(seeds) < max(seeds) < 2**31
