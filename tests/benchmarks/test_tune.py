"""Times of the tree program against the recurrence written out, and of sweeps.

pytest tests/benchmarks/test_tune.py --dist no --benchmark-enable --benchmark-only --benchmark-json=FILE
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from losslesscheck.sim.acceptance import Acceptance, BySibling, Constant
from losslesscheck.sim.cost import Cost, Linear, Sequential, speedup
from losslesscheck.sim.tune import Trees, best_size, draft_lengths, sglang

POINTS = 10**6
BUDGET, DEPTH = 1024, 32


def transcription(row: list[float], budget: int, depth: int) -> float:
    """T[n, b] = max_m T[n − m, b − 1] + P[b] · Tmax[m] as printed, n counting the root; its maximum."""
    worst = float("-inf")
    best = [1.0 if n == 1 else worst for n in range(budget + 2)]
    for _ in range(depth):
        before = [1.0 if n == 1 else worst for n in range(budget + 2)]
        level = before[:]
        for chance in row:
            after = [worst] * (budget + 2)
            for n in range(2, budget + 2):
                after[n] = max(before[n - m] + chance * best[m] for m in range(1, n))
            level = [max(pair) for pair in zip(level, after, strict=True)]
            before = after
        best = level
    return max(best)


def siblings(width: int, *, falling: bool) -> Acceptance:
    """Acceptances as a token tree sees them: most by the first, ever fewer, or two of them swapped."""
    row = 0.8 * 0.55 ** np.arange(width)
    row *= 0.95 / row.sum()
    if not falling:
        row[[0, 1]] = row[[1, 0]]
    return BySibling((tuple(row.tolist()),))


@pytest.mark.parametrize("width", [8, 32, BUDGET])
def test_tree_program_1024_tokens_32_levels_width(benchmark: Any, width: int) -> None:
    def run() -> int:
        return Trees(siblings(width, falling=True), budget=BUDGET, depth=DEPTH).tree(BUDGET, DEPTH).depth

    benchmark.pedantic(run, rounds=7, warmup_rounds=1)
    benchmark.extra_info |= {"goal": "under 1 s", "outcome": "the tree included"}


def test_tree_program_1024_tokens_32_levels_constant_of_any_width(benchmark: Any) -> None:
    benchmark.pedantic(
        lambda: Trees(Constant(0.7), budget=BUDGET, depth=DEPTH).tree(BUDGET, DEPTH),
        rounds=7,
        warmup_rounds=1,
    )
    benchmark.extra_info |= {"goal": "under 1 s", "outcome": "the tree included"}


@pytest.mark.parametrize("width", [8, 32])
def test_tree_program_1024_tokens_32_levels_not_falling_width(benchmark: Any, width: int) -> None:
    benchmark.pedantic(
        lambda: Trees(siblings(width, falling=False), budget=BUDGET, depth=DEPTH), rounds=3, warmup_rounds=1
    )
    benchmark.extra_info |= {"goal": "", "outcome": "by max-plus convolution"}


@pytest.mark.parametrize(("budget", "depth"), [(128, 8), (BUDGET, DEPTH)])
def test_tree_program_width_8_against_the_recurrence_in_python(
    benchmark: Any, budget: int, depth: int
) -> None:
    """The recurrence takes depth · width · budget² / 2 steps: at width 1024 about half an hour in Python."""
    width = 8
    model = siblings(width, falling=True)
    row = model.siblings(0, width).tolist()
    start = time.perf_counter()
    expected = transcription(row, budget, depth)
    written = time.perf_counter() - start
    trees = benchmark.pedantic(lambda: Trees(model, budget=budget, depth=depth), rounds=7, warmup_rounds=1)
    assert trees.tokens_per_step(depth)[-1] == pytest.approx(expected)
    times = written / benchmark.stats.stats.min
    benchmark.extra_info |= {
        "goal": "",
        "outcome": f"the recurrence in Python {written:.2f} s, {times:.0f} times as long",
    }


def test_sweep_of_a_million_alphas_lengths_and_costs(benchmark: Any) -> None:
    rng = np.random.default_rng(0)
    alphas, costs = rng.uniform(0, 0.999, POINTS), rng.uniform(0, 0.5, POINTS)
    lengths = rng.integers(1, 17, POINTS)

    def run() -> Any:
        tokens = (1 - alphas ** (lengths + 1)) / (1 - alphas)
        return speedup(tokens, draft_length=lengths, c=costs)

    benchmark.pedantic(run, rounds=7, warmup_rounds=1)
    benchmark.extra_info |= {
        "goal": "under 1 s",
        "outcome": f"{POINTS / benchmark.stats.stats.min:.2g} points/s",
    }


def test_best_draft_lengths_of_a_million_alphas_and_costs_to_16(benchmark: Any) -> None:
    rng = np.random.default_rng(0)
    alphas, costs = rng.uniform(0, 1, POINTS), rng.uniform(0, 0.5, POINTS)
    benchmark.pedantic(lambda: draft_lengths(alphas, costs, longest=16), rounds=5, warmup_rounds=1)
    benchmark.extra_info |= {"goal": "", "outcome": f"{POINTS / benchmark.stats.stats.min:.2g} points/s"}


LOADED = Cost(Linear(1.0, per_token=0.005), Sequential(Linear(0.05)))


def test_best_size_of_a_tree_to_1024_tokens_32_levels(benchmark: Any) -> None:
    benchmark.pedantic(
        lambda: best_size(Constant(0.7), LOADED, budget=BUDGET, depth=DEPTH), rounds=5, warmup_rounds=1
    )
    benchmark.extra_info |= {"goal": "", "outcome": "all sizes and depths"}


def test_sglang_settings_to_8_steps_8_branches_64_tokens(benchmark: Any) -> None:
    benchmark.pedantic(lambda: sglang(Constant(0.7), LOADED), rounds=3, warmup_rounds=1)
    benchmark.extra_info |= {"goal": "", "outcome": "all settings"}
