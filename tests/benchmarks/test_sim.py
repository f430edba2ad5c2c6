"""The figures of the simulator: steps a second of the simulations.

pytest tests/benchmarks/test_sim.py --dist no --benchmark-enable --benchmark-only --benchmark-json=FILE
"""

from __future__ import annotations

from typing import Any

import pytest

from losslesscheck.sim.acceptance import Acceptance, ByPosition, BySibling, Constant, Correlated, Mixed
from losslesscheck.sim.simulate import of_acceptance, of_rule, standalone
from losslesscheck.tree import Tree

THREADS = 2
CHAIN = Tree.chain(4)
TREE = Tree.regular((4, 2, 1))
V = 32
P = [(i + 1) / (V * (V + 1) / 2) for i in range(V)]
Q = P[::-1]

MODELS: dict[str, tuple[Acceptance, Tree, int]] = {
    "constant, chain": (Constant(0.8), CHAIN, 2**28),
    "constant, chain, always accepted but for one in a million": (Constant(1 - 1e-6), CHAIN, 2**28),
    "by position, chain": (ByPosition((0.75, 0.69, 0.67, 0.64)), CHAIN, 2**28),
    "constant, tree 4,2,1": (Constant(0.8), TREE, 2**26),
    "by sibling, tree 4,2,1": (BySibling(((0.6, 0.2, 0.05, 0.02),)), TREE, 2**26),
    "mixed per step, chain": (Mixed(0.8, 3.0, per="step"), CHAIN, 2**23),
    "correlated, chain": (Correlated((0.95, 0.5), ((0.95, 0.05), (0.1, 0.9))), CHAIN, 2**22),
}


def measure(benchmark: Any, total: int, goal: str, function: Any, *arguments: Any, **options: Any) -> None:
    def run() -> None:
        function(*arguments, precision=1e-12, most_steps=total, threads=THREADS, **options)

    benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    rate = total / benchmark.stats.stats.min
    benchmark.extra_info |= {"goal": goal, "steps_per_second": rate, "threads": THREADS}


@pytest.mark.parametrize("name", MODELS)
def test_simulation_of_acceptance(benchmark: Any, name: str) -> None:
    acceptance, tree, steps = MODELS[name]
    goal = "5e7 steps/s on two cores" if name == "constant, chain" else ""
    measure(benchmark, steps, goal, of_acceptance, acceptance, tree=tree)


@pytest.mark.parametrize(
    ("rule", "tree"),
    [("chain", CHAIN), ("block_verification", CHAIN), ("specinfer", TREE), ("target_only", TREE)],
    ids=lambda value: str(value),
)
def test_simulation_of_rule_v32(benchmark: Any, rule: str, tree: Tree) -> None:
    draft = None if rule == "target_only" else Q
    measure(benchmark, 2**20, "", of_rule, rule, P, draft, tree=tree)


def test_simulation_of_standalone_v32(benchmark: Any) -> None:
    measure(benchmark, 2**20, "", standalone, P, Q, steps=3, topk=2, draft_tokens=6)
