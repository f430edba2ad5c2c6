"""Experiments: false alarms, power, and what is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.testing import cases, experiment
from losslesscheck.testing.experiment import run, steps_for
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Subject


def sampler(bias: float = 0.0, after: int | None = None) -> Subject:
    """Draws from the target, but for a bias towards token 0 after some first token (or at the start)."""

    def verify(target: Any, tokens: Any, rng: Any) -> Any:
        rows = len(tokens)
        every = np.arange(rows)
        emitted = np.full((rows, 2), -1)
        weights = target[:, 0].astype(float)
        if after is None:
            weights[:, 0] += bias
        emitted[:, 0] = draw(weights, rng)
        hit = emitted[:, 0] == tokens[:, 0]
        weights = target[:, 1].astype(float)
        if after is not None:
            weights[emitted[:, 0] == after, 0] += bias
        emitted[every[hit], 1] = draw(weights, rng)[hit]
        return emitted

    return Subject(verify, dtype="float64")


def draw(weights: Any, rng: Any) -> Any:
    cumulative = weights.cumsum(axis=1)
    return (cumulative > (rng.random(len(weights)) * cumulative[:, -1])[:, None]).argmax(axis=1)


def problem(**options: Any) -> Problem:
    from losslesscheck.tree import Tree

    return cases.problem(rules.get("specinfer"), "dense", tree=Tree.chain(1), vocabulary=4, **options)


def test_a_correct_subject_is_not_refuted_and_all_contexts_are_listed() -> None:
    found = run(sampler(), problem(), steps=20_000, alpha=1e-9, seed=0)
    assert not found.refuted
    assert found.biased == ()
    assert found.steps == 20_000
    assert {c.context for c in found.contexts} == {(), (0,), (1,), (2,), (3,)}
    assert sum(found.accepted) == 20_000


def test_false_alarms_are_rare_even_at_a_high_level() -> None:
    alarms = sum(run(sampler(), problem(), steps=9000, alpha=0.05, seed=s).refuted for s in range(60))
    assert alarms <= 3  # the level says 3 on average at most, and e-processes have far fewer


def test_a_bias_is_named_where_it_sits() -> None:
    found = run(sampler(0.5, after=2), problem(), steps=200_000, alpha=1e-9, seed=0)
    assert found.refuted
    assert found.steps < 200_000
    assert [c.context for c in found.biased] == [(2,)]
    assert found.contexts[0].context == (2,)
    assert found.tv_bound < 0.1


def test_the_planned_steps_find_the_bias_they_are_planned_for() -> None:
    given = problem().rounded("float64")
    row = given.expected[int(given.target.index(()))]
    bias = 0.05
    # Towards one token: TV b (1 − p₀) / (1 + b), the size that is asked for.
    size = bias * (1 - row[0]) / (1 + bias)
    steps = steps_for(given, size, 1e-9)
    found = [run(sampler(bias), given, steps=steps, alpha=1e-9, seed=s).refuted for s in range(20)]
    assert sum(found) >= 14
    fewer = [run(sampler(bias), given, steps=steps // 8, alpha=1e-9, seed=s).refuted for s in range(20)]
    assert sum(fewer) <= 6


def test_the_law_of_a_lossy_rule_is_its_own() -> None:
    from losslesscheck.tree import Tree

    rule = rules.get("target_only").bind(threshold_acc=0.5)
    lossy = cases.problem(rule, "dense", tree=Tree.chain(1), vocabulary=4).rounded("float64")
    laws = experiment.Laws(lossy)
    assert sum(laws.sequences.values()) == pytest.approx(1)
    token = lossy.tree.children[0].token
    p = lossy.target.floats[int(lossy.target.index(()))]
    assert sum(w for s, w in laws.sequences.items() if s[0] == token) == pytest.approx(min(1, 2 * p[token]))
