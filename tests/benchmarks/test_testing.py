"""The figures of the testing kit: steps a second of the references and of the sampling, cost of a look.

pytest tests/benchmarks/test_testing.py --dist no --benchmark-enable --benchmark-only --benchmark-json=FILE
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

from losslesscheck import rules, statistics
from losslesscheck.testing import cases, reference
from losslesscheck.testing.drafting import Drafter
from losslesscheck.testing.experiment import BETWEEN_LOOKS, FIRST_LOOK
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.sampling import Sampler, keep_memory
from losslesscheck.testing.subject import Library
from losslesscheck.tree import Tree

PROCESSES = 2
CHAIN = (1, 1, 1)
TREE = (4, 2, 1)
ROWS: dict[Library, int] = {"numpy": 4096, "torch": 16384}
"""Rows of a batch: a call costs torch four times what it costs NumPy."""

STEPS = 2**20
"""Steps that a process verifies, or samples, in a round."""

ROUNDS = 20
"""Of a figure with a goal, else ``FEW``. The fastest one counts: on a shared machine a core is at times half
as fast as at others."""

FEW = 5


def posed(name: str, widths: Sequence[int], vocabulary: int = 32) -> Problem:
    rule = rules.get(name)
    tree = Tree.regular(widths) if rule.takes_tree else None
    return cases.problem(rule, "dense", vocabulary=vocabulary, tree=tree)


class Worker:
    """A reference and the batches that it is given again and again, in a process of its own."""

    here: Worker

    def __init__(self, name: str, array: Library, widths: Sequence[int]) -> None:
        if array == "torch":
            import torch

            torch.set_num_threads(1)
        keep_memory()
        subject = reference.subject(name, array=array)
        drafter = Drafter(posed(name, widths).rounded(subject.dtype), subject.dtype)
        batches = [drafter.batch(ROWS[array], np.random.default_rng(seed)) for seed in range(2)]
        self.function = subject.function
        self.arguments = [
            {argument: subject.to_library(getattr(batch, argument), argument) for argument in subject.takes}
            for batch in batches
        ]
        self.calls = STEPS // ROWS[array]

    @classmethod
    def start(cls, *arguments: Any) -> None:
        cls.here = cls(*arguments)

    @classmethod
    def verify(cls, _: int) -> None:
        for call in range(cls.here.calls):
            cls.here.function(**cls.here.arguments[call % 2])


def everywhere(pool: Executor) -> None:
    list(pool.map(Worker.verify, range(PROCESSES)))


def measure(benchmark: Any, goal: str, name: str, array: Library, widths: Sequence[int]) -> None:
    with ProcessPoolExecutor(
        PROCESSES, multiprocessing.get_context("spawn"), Worker.start, (name, array, widths)
    ) as pool:
        benchmark.pedantic(everywhere, (pool,), rounds=ROUNDS if goal else FEW, warmup_rounds=1)
    rate = PROCESSES * STEPS / benchmark.stats.stats.min
    benchmark.extra_info |= {"goal": goal, "steps_per_second": rate}


@pytest.mark.parametrize("array", ["numpy", "torch"])
@pytest.mark.parametrize("name", rules.names())
def test_reference_v32_gamma3(benchmark: Any, name: str, array: Library) -> None:
    measure(benchmark, "1e7 steps/s" if name == "chain" else "", name, array, CHAIN)


@pytest.mark.parametrize("array", ["numpy", "torch"])
@pytest.mark.parametrize("name", [name for name in rules.names() if not rules.get(name).single_path])
def test_reference_v32_tree_421(benchmark: Any, name: str, array: Library) -> None:
    measure(benchmark, "", name, array, TREE)


@pytest.mark.parametrize("array", ["numpy", "torch"])
@pytest.mark.parametrize("name", ["chain", "specinfer", "target_only", "block_verification"])
def test_sampling_v32_gamma3(benchmark: Any, name: str, array: Library) -> None:
    """Drafting, verifying and counting, in one process."""
    sampler = Sampler(reference.subject(name, array=array), posed(name, CHAIN), seed=0)
    benchmark.pedantic(sampler.run, (STEPS // 4,), rounds=5, warmup_rounds=1)
    benchmark.extra_info |= {"goal": "", "steps_per_second": STEPS // 4 / benchmark.stats.stats.min}


@pytest.mark.parametrize("vocabulary", [8, 32])
def test_all_looks_of_a_run_chain_gamma3(benchmark: Any, vocabulary: int) -> None:
    """The looks of a run of 2²² steps, as ``experiment.run`` has them, against its sampling."""
    sampler = Sampler(reference.subject("chain"), posed("chain", CHAIN, vocabulary), seed=0)
    groups = list(sampler.counts().groups())
    expected = sampler.problem.expected[[group.row for group in groups]]
    lengths = [group.length for group in groups]
    seen, sampling, following = [], 0.0, FIRST_LOOK
    while following <= 2**22:
        start = time.perf_counter()
        sampler.run(following - sampler.steps)
        sampling += time.perf_counter() - start
        seen.append(sampler.counts().counts.reshape(expected.shape).copy())
        following *= BETWEEN_LOOKS

    def looks() -> None:
        test = statistics.SequentialTest(expected, lengths)
        for counts in seen:
            test.look(counts)

    benchmark.pedantic(looks, rounds=3, warmup_rounds=1)
    share = benchmark.stats.stats.min / sampling
    benchmark.extra_info |= {
        "goal": "under 5 % of the sampling",
        "outcome": f"{share:.1%} of the sampling: {len(seen)} looks at {len(groups)} contexts",
    }
