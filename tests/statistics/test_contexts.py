"""Many contexts together, checked by simulation with fixed seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from losslesscheck.statistics import (
    combination_handicap,
    combined_log_e_value,
    combined_log_e_values,
    context_weights,
    contexts,
    log_e_values,
    mixture,
)
from losslesscheck.statistics.e_process import log_mean
from tests.statistics.laws import biased, law

LENGTHS = {
    "one": [0],
    "root-and-two": [0, 1, 1],
    "all-of-one-length": [2, 2, 2],
    "three-single": [0, 1, 2],
    "tree": [0] + [1] * 4 + [2] * 16,
}


@pytest.mark.parametrize("name", LENGTHS)
def test_the_combined_e_value_is_the_mean_of_three(name: str) -> None:
    lengths = np.array(LENGTHS[name])
    values = np.random.default_rng(0).normal(size=(len(lengths), 3))
    e = np.exp(values)
    levels = [e[lengths == length] for length in sorted(set(LENGTHS[name]))]
    product = e.prod(axis=0).mean()
    by_length = np.mean([level.prod(axis=0).mean() for level in levels])
    alone = np.mean([level.mean() for level in levels])
    expected = math.log((product + by_length + alone) / 3)
    assert combined_log_e_value(values, lengths) == pytest.approx(expected)


@pytest.mark.parametrize("name", LENGTHS)
def test_a_context_alone_has_its_weight_in_the_combined_e_value(name: str) -> None:
    lengths = np.array(LENGTHS[name])
    weights = context_weights(lengths)
    assert weights.sum() <= 1 + 1e-12
    for context in range(len(lengths)):
        # where all other e-values are 0, what is left is the context's own times its weight
        values = np.full((len(lengths), 2), -1e4)
        values[context] = 3.0
        assert combined_log_e_value(values, lengths) == pytest.approx(3.0 + math.log(weights[context]))


def test_rows_are_combined_one_by_one() -> None:
    lengths = np.array(LENGTHS["tree"])
    values = np.random.default_rng(1).normal(size=(5, 2, len(lengths), 3))
    together = combined_log_e_values(values, lengths)
    assert together.shape == (5, 2)
    assert together[3, 1] == pytest.approx(combined_log_e_value(values[3, 1], lengths))


def test_a_bias_at_one_of_many_contexts_is_not_drowned() -> None:
    rng, expected = np.random.default_rng(4), law(8)
    counts = rng.multinomial(5000, expected, size=300)
    counts[0] = rng.multinomial(5000, biased(expected, 0.1, rng))
    values = log_e_values(counts, expected)
    lengths = np.array([0] + [1] * 299)
    assert combined_log_e_value(values, lengths) > math.log(1e9)
    assert sum(mixture(v) for v in values) < 0


def test_a_small_bias_at_every_context_adds_up() -> None:
    rng, expected = np.random.default_rng(5), law(8)
    counts = [rng.multinomial(500, biased(expected, 0.06, rng)) for _ in range(200)]
    values = log_e_values(counts, expected)
    assert max(mixture(v) for v in values) < math.log(1e9)
    assert combined_log_e_value(values, np.ones(200, dtype=int)) > math.log(1e9)
    assert combination_handicap(1) == pytest.approx(math.log(3))


def test_an_impossible_token_at_one_context_settles_it() -> None:
    values = log_e_values([[1, 5], [5, 5]], [[0.0, 1.0], [0.5, 0.5]])
    assert combined_log_e_value(values, np.array([0, 1])) == math.inf


RUNS = 2000
TREE = np.array([0, 1, 1])


def runs_of_a_tree(first: list[float], looks: int, seed: int) -> tuple[int, int]:
    """How many of ``RUNS`` runs raise an alarm at α = .05, and name a context of length 1, at any look.

    The tree is the empty context and the two after one token, which are reached at random; ``first`` is
    the true law of the first token, expected to be (.7, .3). The contexts of length 1 have no bias.
    """
    rng = np.random.default_rng(seed)
    laws = np.array([[0.7, 0.3], [0.4, 0.6], [0.9, 0.1]])
    counts = np.zeros((RUNS, 3, 2), dtype=np.int64)
    alarmed, named = np.zeros((2, RUNS), dtype=bool)
    weights = np.log(context_weights(TREE))
    for look in range(looks):
        batch = rng.multinomial(1 + look * 20 // looks, first, size=RUNS)
        counts[:, 0] += batch
        counts[:, 1:] += rng.multinomial(batch, laws[1:])
        values = log_e_values(counts, laws)
        alarmed |= contexts.combined_log_e_values(values, TREE) >= math.log(1 / 0.05)
        named |= ((log_mean(values) + weights)[:, 1:] >= math.log(1 / 0.05)).any(axis=1)
    return int(alarmed.sum()), int(named.sum())


def test_false_alarms_stay_rare_over_many_contexts_and_looks() -> None:
    alarmed, named = runs_of_a_tree([0.7, 0.3], looks=120, seed=6)
    assert alarmed <= 0.05 * RUNS
    assert named <= alarmed


def test_contexts_without_bias_are_rarely_named_beside_one_that_has_it() -> None:
    alarmed, named = runs_of_a_tree([0.5, 0.5], looks=60, seed=7)
    assert alarmed > 0.9 * RUNS
    assert named <= 0.05 * RUNS


# The tests above must fail on a combination that is wrong.


def test_the_largest_e_value_of_all_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "combined_log_e_values", lambda values, lengths: values.max(axis=(-2, -1)))
    alarmed, _ = runs_of_a_tree([0.7, 0.3], looks=40, seed=6)
    assert alarmed > 0.05 * RUNS
