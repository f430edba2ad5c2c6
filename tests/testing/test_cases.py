"""The awkward problems are what they are called."""

from __future__ import annotations

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.model import Model
from losslesscheck.testing import cases
from losslesscheck.testing.problem import Problem, round_to
from losslesscheck.tree import Tree


def made(kind: str, **options: object) -> tuple[np.ndarray, np.ndarray]:
    problem = cases.problem(rules.get("chain"), kind, **options)  # type: ignore[arg-type]
    assert problem.draft is not None
    return problem.target.floats, problem.draft.floats


@pytest.mark.parametrize("vocabulary", [1, 2, 8, 33, 64])
@pytest.mark.parametrize("kind", cases.KINDS)
def test_rows_are_exact_in_every_dtype(kind: str, vocabulary: int) -> None:
    for rows in made(kind, vocabulary=vocabulary):
        assert (rows >= 0).all()
        assert (rows.sum(axis=1) == 1).all()
        for dtype in ("bfloat16", "float16", "float32"):
            np.testing.assert_array_equal(round_to(rows, dtype), rows)


def test_the_kinds_are_what_they_are_called() -> None:
    p, q = made("disjoint")
    assert (p * q == 0).all()
    p, q = made("p = q")
    assert (p == q).all()
    p, q = made("p ≈ q")
    assert np.abs(p - q).max() == 1 / 256
    assert ((p != q).sum(axis=1) <= 2).all()
    p, q = made("zero tail")
    assert (p[:, 4:] == 0).all()
    assert (q[:, 6:] == 0).all()
    assert (q[:, 4:6] > 0).all()
    assert (made("one-hot target")[0].max(axis=1) == 1).all()
    assert (made("one-hot draft")[1].max(axis=1) == 1).all()
    assert (made("flat")[0] == 1 / 8).all()
    assert (made("flat draft")[1] == 1 / 8).all()
    p, q = made("sparse")
    assert (p == 0).any()
    assert (made("peaked")[0].max(axis=1) > 0.9).all()
    p, _ = made("ties")
    assert all(len(np.unique(row)) <= 3 for row in p)
    assert ((p == p.max(axis=1, keepdims=True)).sum(axis=1) > 1).mean() > 0.7


def test_mixed_has_all_kinds_of_rows_but_a_dense_one_to_begin_with() -> None:
    p, q = made("mixed")
    assert (p[0] > 0).all()
    assert ((p * q).sum(axis=1) == 0).any()
    assert (p == q).all(axis=1).any()
    assert (p.max(axis=1) == 1).any()
    assert (q.max(axis=1) == 1).any()


def test_padding_has_no_probability() -> None:
    p, q = made("dense", vocabulary=5, padded=3)
    assert p.shape == q.shape == (cases.ROWS, 8)
    assert (p[:, 5:] == 0).all()
    assert (q[:, 5:] == 0).all()


def test_fixed_tokens_are_distinct_siblings() -> None:
    problem = cases.problem(rules.get("target_only"), tree=Tree.regular((4, 2)), vocabulary=5, seed=3)
    for _, node in problem.tree.nodes():
        tokens = [child.token for child in node.children]
        assert len(set(tokens)) == len(tokens)
        assert None not in tokens
    with pytest.raises(InputError, match="6 siblings of a node in a vocabulary of 5"):
        cases.problem(rules.get("target_only"), tree=Tree.regular((6,)), vocabulary=5)


def test_rows_differ_from_context_to_context() -> None:
    target = cases.problem(rules.get("chain")).target
    rows = [int(target.index(c)) for c in [(), (0,), (1,), (0, 0), (0, 1), (1, 0)]]
    assert len(set(rows)) == len(rows)


def hashed(**changes: object) -> str:
    options: dict[str, object] = {"kind": "mixed", "seed": 0, "vocabulary": 8} | changes
    rule = rules.get(str(options.pop("rule", "chain")))
    parameters = options.pop("parameters", {})
    return cases.problem(rule.bind(**parameters), **options).hash  # type: ignore[arg-type]


def test_the_hash_names_the_problem() -> None:
    changes: list[dict[str, object]] = [
        {},
        {"kind": "dense"},
        {"seed": 1},
        {"vocabulary": 7},
        {"padded": 1},
        {"ragged": True},
        {"tree": Tree.chain(3)},
        {"rule": "specinfer"},
        {"rule": "target_only"},
        {"rule": "target_only", "parameters": {"threshold_acc": 0.5}},
    ]
    assert len({hashed(**change) for change in changes}) == len(changes)
    assert hashed() == hashed()


def test_the_hash_sees_which_row_a_context_selects() -> None:
    problem = cases.problem(rules.get("chain"))
    moved = type(problem.target)(problem.target.floats, lambda c: (problem.target.index(c) + 1) % cases.ROWS)
    other = Problem(problem.name, problem.rule, moved, problem.draft, problem.tree)
    assert other.hash != problem.hash


def test_bad_arguments() -> None:
    rule = rules.get("chain")
    with pytest.raises(InputError, match="kind: 'curly' is none of mixed, dense"):
        cases.problem(rule, "curly")
    with pytest.raises(InputError, match="vocabulary: 65 is not from 1 to 64"):
        cases.problem(rule, vocabulary=65)


def test_rows_that_a_dtype_cannot_hold_are_refused() -> None:
    thirds = cases.problem(rules.get("chain"))
    rows = np.array([[1 / 3, 1 / 3, 1 / 6, 1 / 6]])
    problem = Problem("thirds", thirds.rule, Model(rows), Model(rows), Tree.chain(1))
    assert problem.rounded("float32").target.count == 1
    with pytest.raises(InputError, match=r"model\[0\] sums to 0.999756 in float16; take rows that are exact"):
        problem.rounded("float16")
