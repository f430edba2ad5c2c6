"""The stopping rule: when it stops, and whether its interval covers as often as it says."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import bdtrc

from losslesscheck.sim.acceptance import Acceptance, Constant, Correlated
from losslesscheck.sim.simulate import of_acceptance
from losslesscheck.sim.simulate.stopping import Source, bernstein, schedule, simulate
from losslesscheck.sim.tokens import predict

CONFIDENCE = 0.8
MODELS: dict[str, tuple[Acceptance, int, float]] = {
    "constant": (Constant(0.7), 200, 0.05),
    "correlated": (Correlated((0.9, 0.2), ((0.95, 0.05), (0.1, 0.9))), 60, 0.2),
}


@cache
def errors(name: str) -> list[float]:
    """By how many half widths of its interval every run, with a seed of its own, misses the truth."""
    acceptance, runs, precision = MODELS[name]
    truth = predict(acceptance, draft_length=2).tokens_per_step
    found = []
    for seed in range(runs):
        run = of_acceptance(
            acceptance, draft_length=2, precision=precision, confidence=CONFIDENCE, seed=seed, threads=1
        )
        assert run.interval is not None
        found.append(abs(run.tokens_per_step - truth) / ((run.interval[1] - run.interval[0]) / 2))
    return found


def misses(name: str, shrunk: float = 1.0) -> int:
    """How many intervals would miss the truth if they were so much narrower."""
    return sum(error > shrunk for error in errors(name))


def too_many(runs: int) -> int:
    """So many misses have probability below 1e-6 if an interval covers with at least ``CONFIDENCE``."""
    return next(k for k in range(runs + 1) if bdtrc(k - 1, runs, 1 - CONFIDENCE) < 1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_interval_covers(name: str) -> None:
    assert misses(name) < too_many(MODELS[name][1])


@pytest.mark.parametrize("name", MODELS)
def test_coverage_test_sees_a_narrow_interval(name: str) -> None:
    assert misses(name, shrunk=0.05) >= too_many(MODELS[name][1])


def test_stops_when_narrow_enough() -> None:
    steps = []
    for precision in (0.1, 0.01, 0.002):
        found = of_acceptance(Constant(0.6), draft_length=5, precision=precision)
        assert found.interval is not None
        assert found.steps is not None
        assert found.interval[1] - found.interval[0] <= 2 * precision
        assert found.interval[0] < found.tokens_per_step < found.interval[1]
        steps.append(found.steps)
    assert steps == sorted(steps)
    assert steps[-1] > 16 * steps[0]


def test_stops_after_most_steps_with_a_wider_interval() -> None:
    found = of_acceptance(Constant(0.6), draft_length=5, precision=1e-6, most_steps=50_001)
    assert found.steps == 50_001
    assert found.interval is not None
    assert found.interval[1] - found.interval[0] > 2e-6


def test_interval_stays_in_what_is_possible() -> None:
    found = of_acceptance(Constant(1.0), draft_length=2, precision=1e-9, most_steps=20_000)
    assert found.interval is not None
    assert found.interval[1] == found.tokens_per_step == 3
    assert found.interval[0] < 3


def test_looks_are_fixed_in_advance() -> None:
    assert schedule(1000, 300) == [300, 600, 1000]
    assert schedule(300, 300) == [300]
    assert schedule(2, 300) == [2]


def test_bernstein_bound_by_hand() -> None:
    log = math.log(4 / 0.05)
    assert bernstein(0.25, 101, 3.0, 0.05) == pytest.approx(math.sqrt(0.5 * log / 101) + 0.07 * log)


def test_an_error_in_a_thread_is_raised_and_ends_the_others() -> None:
    calls = []

    def draw(units: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        calls.append(units)
        raise ValueError("no coins left")

    with pytest.raises(ValueError, match="no coins left"):
        simulate(Source(draw, 1, batch=1), precision=1, confidence=0.9, most_steps=10**6, seed=0, threads=2)
    assert len(calls) <= 16
