"""Keeps what matters of pytest-benchmark's JSON in `reports/data/` and renders it.

python reports/benchmarks.py readings FILE.json      # of tests/benchmarks/test_figures.py
python reports/benchmarks.py testing FILE.json       # of tests/benchmarks/test_testing.py
python reports/benchmarks.py simulator FILE.json     # of tests/benchmarks/test_sim.py and test_tune.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGES = {
    "readings": ("numpy", "scipy", "python-flint", "sympy", "z3-solver"),
    "testing": ("numpy", "scipy", "torch"),
    "simulator": ("numpy", "scipy"),
}
ABOUT = {
    "readings": (
        "# Figures of the readings\n\n{device}; {versions}; {date}. Times are the minimum of several runs, "
        "in a warm process except for the whole commands; the peak is the resident memory of a fresh "
        "process. The problems given to z3 and to sympy are the rule's law in their own expressions "
        "(tests/benchmarks/rivals.py), within 20 s and 2 GiB."
    ),
    "testing": (
        "# Figures of the testing kit\n\n{device}; {versions}; {date}. Steps a second: of references with "
        "batches given, on two processes; of drafting, verifying and counting together, on one."
    ),
    "simulator": (
        "# Figures of the simulator\n\n{device}; {versions}; {date}. Steps a second of simulations, on two "
        "threads."
    ),
}


def kept(results: dict[str, Any], packages: Sequence[str]) -> dict[str, Any]:
    """Device, versions and, for every figure, its goal, times in seconds and peak in MiB."""
    machine = results["machine_info"]
    return {
        "date": results["datetime"][:10],
        "device": f"{machine['cpu'].get('brand_raw', machine['machine'])}, {machine['cpu']['count']} cores",
        "versions": {"python": machine["python_version"]} | {name: version(name) for name in packages},
        "figures": [
            {
                "name": entry["name"].removeprefix("test_"),
                "minimum_s": round(entry["stats"]["min"], 5),
                "median_s": round(entry["stats"]["median"], 5),
                "rounds": entry["stats"]["rounds"],
                **entry["extra_info"],
            }
            for entry in results["benchmarks"]
        ],
    }


def table(data: dict[str, Any], about: str) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in data["versions"].items())
    lines = [
        about.format(device=data["device"], versions=versions, date=data["date"]),
        "",
        "| what | goal | time | peak | |",
        "|---|---|---|---|---|",
    ]
    for figure in data["figures"]:
        name = figure["name"].replace("_", " ").replace("gamma=", "γ=").replace("[", ": ").rstrip("]")
        peak = f"{figure['peak_mib']} MiB" if "peak_mib" in figure else ""
        note = figure.get("outcome", "")
        if "steps_per_second" in figure:
            note = f"{figure['steps_per_second']:.2g} steps/s"
        lines.append(f"| {name} | {figure['goal']} | {figure['minimum_s']:.3g} s | {peak} | {note} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ABOUT:
        sys.exit(f"usage: python reports/benchmarks.py {'|'.join(ABOUT)} FILE.json")
    measured = kept(json.loads(Path(sys.argv[2]).read_text()), PACKAGES[sys.argv[1]])
    file = HERE / "data" / f"{sys.argv[1]}.json"
    file.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
    files = {name: HERE / "data" / f"{name}.json" for name in ABOUT}
    tables = [table(json.loads(f.read_text()), ABOUT[name]) for name, f in files.items() if f.is_file()]
    (HERE / "benchmarks.md").write_text("\n".join(tables))
