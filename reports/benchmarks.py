"""Keeps what matters of pytest-benchmark's JSON in `reports/data/readings.json` and renders it.

python reports/benchmarks.py FILE.json
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGES = ("numpy", "scipy", "python-flint", "sympy", "z3-solver")


def kept(results: dict[str, Any]) -> dict[str, Any]:
    """Device, versions and, for every figure, its goal, times in seconds and peak in MiB."""
    machine = results["machine_info"]
    return {
        "date": results["datetime"][:10],
        "device": f"{machine['cpu'].get('brand_raw', machine['machine'])}, {machine['cpu']['count']} cores",
        "versions": {"python": machine["python_version"]} | {name: version(name) for name in PACKAGES},
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


def table(data: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in data["versions"].items())
    lines = [
        "# Figures of the readings",
        "",
        f"{data['device']}; {versions}; {data['date']}. Times are the minimum of several runs, in a warm "
        "process except for the whole commands; the peak is the resident memory of a fresh process. The "
        "problems given to z3 and to sympy are the rule's law in their own expressions "
        "(tests/benchmarks/rivals.py), within 20 s and 2 GiB.",
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
    if len(sys.argv) != 2:
        sys.exit("usage: python reports/benchmarks.py FILE.json")
    data = kept(json.loads(Path(sys.argv[1]).read_text()))
    (HERE / "data" / "readings.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    (HERE / "benchmarks.md").write_text(table(data))
