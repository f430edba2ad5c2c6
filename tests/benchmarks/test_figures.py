"""The figures of the readings, each with its time, its goal and the peak memory of a fresh process.

pytest tests/benchmarks --dist no --benchmark-enable --benchmark-only --benchmark-json=FILE
python reports/benchmarks.py readings FILE
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

PATIENCE = 20.0

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
import itertools, random
from fractions import Fraction
from losslesscheck import rules
from losslesscheck.instances import Instance
from losslesscheck.law import rows
from losslesscheck.machines.exact import exact_law, vectors
from losslesscheck.tree import Tree
rng = random.Random(4)
def row(vocabulary):
    parts = [rng.randint(1, 100) for _ in range(vocabulary)]
    return [Fraction(part, sum(parts)) for part in parts]
def model(vocabulary, depth):
    contexts = (c for n in range(depth + 1) for c in itertools.product(range(vocabulary), repeat=n))
    return {c: row(vocabulary) for c in contexts}
target, draft = Instance(8, Tree.chain(4), model(8, 4), model(8, 3)).models()
p = vectors(target)
def work():
    return exact_law(rules.get("chain"), target, draft, Tree.chain(4))
law = work()
assert len(law) > 32000
assert not any(d for row in rows(law, 8, p) for d in row.differences)
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
SAMPLING = """
import numpy
from losslesscheck import instances, rules
from losslesscheck.machines.monte_carlo.sampling import sample
from losslesscheck.tree import Tree
rule = rules.get("chain")
def work(vocabulary, samples):
    target, draft = instances.sampling_models(rule, Tree.chain(1), vocabulary, 0)
    sample(rule, target, draft, Tree.chain(1), samples, numpy.random.default_rng(0))
"""
REPORT_MEMORY = """
print(int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024)
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
    script = f"import subprocess, resource; subprocess.run({line!r}, check=True, capture_output=True)"
    children = "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
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
    "chain V=3 gamma=4": ("chain", (1, 1, 1, 1), 3, "4 s"),
    "chain V=2 gamma=6": ("chain", (1,) * 6, 2, "3 s"),
    "block_verification V=3 gamma=2": ("block_verification", (1, 1), 3, ""),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_all_distributions(benchmark: Any, problem: str) -> None:
    name, widths, vocabulary, goal = PROBLEMS[problem]
    measure(benchmark, goal, ALL_DISTRIBUTIONS, name, widths, vocabulary)


RIVALS = {"z3": z3_proves, "sympy": sympy_proves}


@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize(
    "problem", [*list(PROBLEMS)[:4], "chain V=3 gamma=1", "specinfer V=2 k=2", "specinfer V=3 k=2"]
)
def test_all_distributions_by_others(benchmark: Any, problem: str, rival: str) -> None:
    small = {
        "chain V=3 gamma=1": ("chain", (1,), 3, ""),
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


@pytest.mark.parametrize("problem", ["specinfer V=2 k=2", "specinfer V=3 k=2", "chain V=3 gamma=1"])
def test_all_distributions_small(benchmark: Any, problem: str) -> None:
    name, widths, vocabulary = {
        "specinfer V=2 k=2": ("specinfer", (2,), 2),
        "specinfer V=3 k=2": ("specinfer", (2,), 3),
        "chain V=3 gamma=1": ("chain", (1,), 3),
    }[problem]
    measure(benchmark, "", ALL_DISTRIBUTIONS, name, widths, vocabulary)


def test_exact_joint_law_chain_v8_gamma4(benchmark: Any) -> None:
    measure(benchmark, "0.5 s", EXACT)


def test_exact_multi_step_level_v32000_k4(benchmark: Any) -> None:
    measure(benchmark, "0.5 s", WIDE)


@pytest.mark.parametrize("vocabulary", [1024, 32000])
def test_monte_carlo_chain_gamma1(benchmark: Any, vocabulary: int) -> None:
    samples = 20_000_000
    goal = "1e7 steps/s" if vocabulary == 1024 else "a third of that"
    measure(benchmark, goal, SAMPLING, vocabulary, samples)
    benchmark.extra_info["steps_per_second"] = samples / benchmark.stats.stats.min
