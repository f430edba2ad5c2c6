"""Renders the JSON that pytest-benchmark wrote as the table `reports/benchmarks.md`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def table(results: dict[str, Any]) -> str:
    machine = results["machine_info"]
    lines = [
        "# Figures of the readings",
        "",
        f"{machine['cpu'].get('brand_raw', machine['machine'])}, {machine['cpu'].get('count', '?')} cores, "
        f"Python {machine['python_version']}, {results['datetime'][:10]}. "
        "Minimum of several runs; the peak is the resident memory of a fresh process.",
        "",
        "| what | goal | time | peak | |",
        "|---|---|---|---|---|",
    ]
    for entry in results["benchmarks"]:
        facts = entry["extra_info"]
        name = entry["name"].removeprefix("test_").replace("_", " ").replace("gamma=", "γ=")
        name = name.replace("[", ": ").rstrip("]")
        peak = f"{facts['peak_mib']} MiB" if "peak_mib" in facts else ""
        note = facts.get("outcome", "")
        if "steps_per_second" in facts:
            note = f"{facts['steps_per_second']:.2e} steps/s"
        lines.append(f"| {name} | {facts['goal']} | {entry['stats']['min']:.3g} s | {peak} | {note} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python reports/benchmarks.py FILE.json")
    Path(__file__).with_suffix(".md").write_text(table(json.loads(Path(sys.argv[1]).read_text())))
