"""What the references emit follows the rules' exact laws, on every rule, library and dtype.

Seeds are fixed. Were they not, each test would fail by chance with probability at most 2e-9.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from losslesscheck import rules
from losslesscheck.machines.exact import exact_law
from losslesscheck.rule import Rule
from losslesscheck.statistics import combined_log_e_value, log_e_value, log_e_values
from losslesscheck.testing import cases, reference
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.sampling import Sampler
from losslesscheck.testing.subject import Library
from losslesscheck.tree import Tree

STEPS = {"numpy": 200_000, "torch": 100_000}
REJECTED = math.log(1e9)

LOSSY = {
    "target_only threshold_acc": rules.get("target_only").bind(threshold_acc=0.7),
    "target_only threshold_single": rules.get("target_only").bind(threshold_single=0.3),
    "standalone threshold_acc": rules.get("standalone").bind(
        steps=2, topk=2, draft_tokens=5, threshold_acc=0.7
    ),
}
RULES = {name: rules.get(name) for name in rules.names()} | LOSSY
RULES["standalone"] = rules.get("standalone").bind(steps=2, topk=2, draft_tokens=5)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@functools.cache
def problem(name: str) -> Problem:
    """Rows that differ from context to context, on a tree with siblings where the rule takes one."""
    rule = RULES[name]
    tree = Tree.chain(3) if rule.single_path else Tree.from_parents([-1, -1, 0, 0, 1, 1, 2])
    return cases.problem(rule, vocabulary=4, tree=tree if rule.takes_tree else None, seed=1)


@functools.cache
def law(name: str) -> dict[tuple[int, ...], float]:
    p = problem(name)
    return {w: float(mass) for w, mass in exact_law(p.rule, p.target, p.draft, p.tree).items() if mass}


def check(name: str, subject_rule: Rule, array: Library, dtype: str, *, seeded: bool, steps: int) -> None:
    sampler = Sampler(
        reference.subject(subject_rule, array=array, dtype=dtype, seeded=seeded), problem(name), 5
    )
    sampler.run(steps)
    counts = sampler.counts()
    found, expected = counts.law(), law(name)
    assert found.keys() <= expected.keys()
    assert len(expected) > 8 or RULES[name].greedy
    observed = [found.get(w, 0) for w in expected]
    assert log_e_value(observed, list(expected.values())) < REJECTED
    if RULES[name].claims_lossless:
        rows = sampler.problem.expected
        groups = list(counts.groups())
        values = np.array([log_e_values(group.counts, rows[group.row]) for group in groups])
        assert combined_log_e_value(values, np.array([group.length for group in groups])) < REJECTED


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("array", ["numpy", "torch"])
@pytest.mark.parametrize("name", RULES)
def test_with_injected_coins(name: str, array: Library, dtype: str) -> None:
    check(name, RULES[name], array, dtype, seeded=False, steps=STEPS[array])


@pytest.mark.parametrize("array", ["numpy", "torch"])
@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if not rule.greedy])
def test_with_coins_of_its_own(name: str, array: Library) -> None:
    check(name, RULES[name], array, "float32", seeded=True, steps=STEPS[array] // 4)


def test_a_wrong_law_is_rejected() -> None:
    """The threshold is not so high that anything passes: 0.7 against 1."""
    with pytest.raises(AssertionError):
        check("target_only", LOSSY["target_only threshold_acc"], "numpy", "float32", seeded=False, steps=2000)
