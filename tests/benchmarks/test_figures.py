"""The figures of the readings, each with its time, its goal and the peak memory of a fresh process.

pytest tests/benchmarks --benchmark-enable --benchmark-only --benchmark-json=FILE
python reports/benchmarks.py FILE
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from losslesscheck import rules
from losslesscheck.budget import Budget
from losslesscheck.errors import BudgetExceeded
from losslesscheck.tree import Tree
from tests.benchmarks.rivals import sympy_proves, z3_proves

PATIENCE = 30.0

ANY_VOCABULARY = """
from losslesscheck import rules
from losslesscheck.machines.any_vocabulary import prove
def work(name="chain", siblings=3):
    assert prove(rules.get(name), siblings=siblings).holds
"""
ALL_DISTRIBUTIONS = """
from losslesscheck import rules
from losslesscheck.machines.all_distributions import prove
from losslesscheck.tree import Tree
def work(name, widths, vocabulary):
    rule = rules.get(name)
    assert prove(rule, rule.fit(Tree.regular(widths), vocabulary), vocabulary).holds
"""
EXACT = """
from losslesscheck import instances, rules
from losslesscheck.search import examine
from losslesscheck.tree import Tree
def work(name, widths, vocabulary):
    rule = rules.get(name)
    assert examine(rule, instances.arbitrary(rule, Tree.regular(widths), vocabulary, seed=4)) is None
"""
WIDE = """
from losslesscheck import instances, rules
from losslesscheck.machines.wide import IntegerRow, node_law
from losslesscheck.tree import Tree
rule = rules.get("specinfer")
target, draft = instances.sampling_models(rule, Tree.regular((4,)), 32000, 0)
rows = IntegerRow.from_floats(target.floats[0]), IntegerRow.from_floats(draft.floats[0])
def work():
    assert node_law(rule, *rows, 4).tv == 0
"""
MONTE_CARLO = """
import numpy
from losslesscheck import instances, rules
from losslesscheck.machines.monte_carlo import monte_carlo
from losslesscheck.tree import Tree
rule = rules.get("chain")
def work(vocabulary, samples):
    target, draft = instances.sampling_models(rule, Tree.chain(1), vocabulary, 0)
    found = monte_carlo(rule, target, draft, Tree.chain(1), samples, numpy.random.default_rng(0))
    assert found.holds
"""
REPORT_MEMORY = """
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def load(setup: str) -> Callable[..., None]:
    names: dict[str, Any] = {}
    exec(setup, names)
    work: Callable[..., None] = names["work"]
    return work


def peak(setup: str, call: str) -> int:
    """MiB of resident memory at the peak of a fresh process that does the work once."""
    script = f"{setup}\n{call}\n{REPORT_MEMORY}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return int(done.stdout)


def measure(benchmark: Any, goal: str, setup: str, *arguments: Any, rounds: int = 3, **facts: Any) -> None:
    benchmark.extra_info |= {"goal": goal, **facts}
    benchmark.extra_info["peak_mib"] = peak(setup, f"work(*{arguments!r})")
    benchmark.pedantic(load(setup), arguments, rounds=rounds, warmup_rounds=1, iterations=1)


def command(benchmark: Any, goal: str, *arguments: str) -> None:
    line = [sys.executable, "-m", "losslesscheck", *arguments]
    benchmark.extra_info["goal"] = goal
    script = f"import subprocess; subprocess.run({line!r}, check=True, capture_output=True)"
    children = REPORT_MEMORY.replace("RUSAGE_SELF", "RUSAGE_CHILDREN")
    benchmark.extra_info["peak_mib"] = peak("", f"{script}\n{children}\nraise SystemExit")
    benchmark.pedantic(subprocess.run, (line,), {"check": True, "capture_output": True}, rounds=5)


def test_help(benchmark: Any) -> None:
    command(benchmark, "0.3 s", "--help")


def test_verify_specinfer_cold(benchmark: Any) -> None:
    command(benchmark, "5 s", "verify", "--rule", "specinfer")


def test_verify_real_rows(benchmark: Any) -> None:
    file = "examples/smollm2_draft_target.npz"
    command(benchmark, "20 s", "verify", "--rule", "chain", "--distributions", file)


@pytest.mark.parametrize("name", ["chain", "specinfer", "target_only", "without_replacement"])
def test_any_vocabulary(benchmark: Any, name: str) -> None:
    measure(benchmark, "0.1 s" if name != "target_only" else "", ANY_VOCABULARY, name)


PROBLEMS = {
    "specinfer V=4 k=4": ("specinfer", (4,), 4, "2 s"),
    "specinfer V=5 k=4": ("specinfer", (4,), 5, "10 s"),
    "chain V=3 γ=4": ("chain", (1, 1, 1, 1), 3, "4 s"),
    "chain V=2 γ=6": ("chain", (1,) * 6, 2, "3 s"),
    "block_verification V=3 γ=2": ("block_verification", (1, 1), 3, ""),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_all_distributions(benchmark: Any, problem: str) -> None:
    name, widths, vocabulary, goal = PROBLEMS[problem]
    measure(benchmark, goal, ALL_DISTRIBUTIONS, name, widths, vocabulary)


RIVALS = {"z3": z3_proves, "sympy": sympy_proves}


@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize(
    "problem", [*list(PROBLEMS)[:4], "chain V=3 γ=1", "specinfer V=2 k=2", "specinfer V=3 k=2"]
)
def test_all_distributions_by_others(benchmark: Any, problem: str, rival: str) -> None:
    small = {
        "chain V=3 γ=1": ("chain", (1,), 3, ""),
        "specinfer V=2 k=2": ("specinfer", (2,), 2, ""),
        "specinfer V=3 k=2": ("specinfer", (2,), 3, ""),
    }
    name, widths, vocabulary, _ = {**PROBLEMS, **small}[problem]

    def attempt() -> str:
        try:
            proved = Budget(PATIENCE).run(
                lambda: RIVALS[rival](rules.get(name), Tree.regular(widths), vocabulary)
            )
        except BudgetExceeded as reason:
            return str(reason)
        return "proved" if proved else "not proved"

    outcome = benchmark.pedantic(attempt, rounds=1)
    benchmark.extra_info |= {"goal": "", "outcome": outcome}


@pytest.mark.parametrize("problem", ["specinfer V=2 k=2", "specinfer V=3 k=2", "chain V=3 γ=1"])
def test_all_distributions_small(benchmark: Any, problem: str) -> None:
    name, widths, vocabulary = {
        "specinfer V=2 k=2": ("specinfer", (2,), 2),
        "specinfer V=3 k=2": ("specinfer", (2,), 3),
        "chain V=3 γ=1": ("chain", (1,), 3),
    }[problem]
    measure(benchmark, "", ALL_DISTRIBUTIONS, name, widths, vocabulary)


def test_exact_joint_law_chain_v8_gamma4(benchmark: Any) -> None:
    measure(benchmark, "0.5 s", EXACT, "chain", (1, 1, 1, 1), 8)


def test_exact_multi_step_level_v32000_k4(benchmark: Any) -> None:
    measure(benchmark, "0.5 s", WIDE)


@pytest.mark.parametrize("vocabulary", [1024, 32000])
def test_monte_carlo_chain_gamma1(benchmark: Any, vocabulary: int) -> None:
    samples = 20_000_000
    measure(benchmark, "1e7 steps/s at V = 1024, a third of it at 32000", MONTE_CARLO, vocabulary, samples)
    benchmark.extra_info["steps_per_second"] = samples / benchmark.stats.stats.min
