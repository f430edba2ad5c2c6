"""Ten thousand runs of correct implementations at α = 10⁻⁴: how many are refuted?

python -m reports.false_alarms reports/data/false_alarms.json
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import scipy
import torch

from losslesscheck import __version__, rules
from losslesscheck.machines.monte_carlo.sampling import cores
from losslesscheck.runs.record import device
from losslesscheck.testing import cases, reference
from losslesscheck.testing.experiment import run
from losslesscheck.testing.subject import Library

RUNS = 10_000
ALPHA = 1e-4
STEPS = 2**16
"""Steps of a run, looked at three times: after 4096, 16384 and 65536."""

VARIANTS: tuple[tuple[Library, str, bool], ...] = (
    ("numpy", "float32", False),
    ("numpy", "float64", True),
    ("torch", "float32", True),
    ("numpy", "float32", True),
    ("torch", "float64", False),
)
"""Library, dtype, and whether it draws its own coins."""


def one(seed: int) -> dict[str, Any]:
    """The run with this seed: every rule, kind of problem and variant in turn."""
    names, kinds = rules.names(), list(cases.KINDS)
    # Lengths without a common divisor, so that every combination has its turn.
    name, kind = names[seed % len(names)], kinds[seed % len(kinds)]
    array, dtype, seeded = VARIANTS[seed % len(VARIANTS)]
    subject = reference.subject(name, array=array, dtype=dtype, seeded=seeded)
    problem = cases.problem(rules.get(name), kind, seed=seed)
    found = run(subject, problem, steps=STEPS, alpha=ALPHA, seed=seed)
    what = {"rule": name, "kind": kind, "array": array, "dtype": dtype, "seed": seed}
    return what | {"steps": found.steps, "log_e": found.log_e, "refuted": found.refuted}


def measure(runs: int) -> dict[str, Any]:
    """So many runs, each with a seed of its own, on all cores."""
    started = time.perf_counter()
    with ProcessPoolExecutor(cores(), initializer=single_threaded) as pool:
        found = list(pool.map(one, range(runs), chunksize=20))
    return {
        "runs": runs,
        "alpha": ALPHA,
        "steps": sum(run["steps"] for run in found),
        "false_alarms": [run for run in found if run["refuted"]],
        "largest_log_e": max(run["log_e"] for run in found),
        "runs_by_rule": Counter(run["rule"] for run in found),
        "seconds": round(time.perf_counter() - started, 1),
        "versions": {"losslesscheck": __version__, "python": platform.python_version()}
        | {package.__name__: package.__version__ for package in (numpy, scipy, torch)},
        "device": f"{device()}, {cores()} cores",
    }


def single_threaded() -> None:
    torch.set_num_threads(1)


if __name__ == "__main__":
    result = measure(RUNS)
    Path(sys.argv[1]).write_text(json.dumps(result, indent=1) + "\n")
    print(f"{len(result['false_alarms'])} false alarms in {result['runs']} runs at alpha = {result['alpha']}")
