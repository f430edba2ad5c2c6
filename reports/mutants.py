"""Runs the conformance suite on all mutants, keeps what it found and renders it; some minutes.

python -m reports.mutants
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from losslesscheck.machines.monte_carlo.sampling import cores
from losslesscheck.testing import conformance
from tests.testing.mutants import EQUIVALENT, IMPLEMENTATIONS, MUTANTS, Mutant, subject_of

HERE = Path(__file__).parent
DATA = HERE / "data" / "mutants.json"
SETTINGS = conformance.Settings(min_tv=0.02)


def failed(results: Iterable[conformance.Result]) -> dict[str, int | None]:
    """The items that failed, and after how many steps a statistical one did."""
    return {result.id: result.data.get("steps") for result in results if result.outcome == "failed"}


def found(mutant: Mutant) -> dict[str, Any]:
    """What the whole suite says of a mutant; every check is given a fresh one."""
    items = [item for item in conformance.items(mutant.subject(), SETTINGS) if not item.skip]
    results = [conformance.perform(item, mutant.subject(), SETTINGS) for item in items]
    return {"items": len(items), "failed": failed(results)}


def collected() -> dict[str, Any]:
    with ProcessPoolExecutor(cores()) as pool:
        entries = dict(zip(MUTANTS, pool.map(_found, MUTANTS), strict=True))
        correct = [implementation.__name__ for implementation in (*IMPLEMENTATIONS, *EQUIVALENT)]
        passing = dict(zip(correct, pool.map(_alarms, range(len(correct))), strict=True))
    return {
        "versions": {name: version(name) for name in ("losslesscheck", "numpy")},
        "settings": {"alpha": SETTINGS.alpha, "min_tv": SETTINGS.min_tv, "seed": SETTINGS.seed},
        "mutants": entries,
        "correct": passing,
    }


def _found(name: str) -> dict[str, Any]:
    entry = found(MUTANTS[name])
    print(name, len(entry["failed"]), "of", entry["items"], file=sys.stderr)
    return entry


def _alarms(place: int) -> dict[str, int | None]:
    implementation = (*IMPLEMENTATIONS, *EQUIVALENT)[place]
    return failed(conformance.run(subject_of(implementation), SETTINGS))


def caught(entry: dict[str, Any], mutant: Mutant) -> bool:
    """Whether all that must find the mutant did."""
    return set(mutant.caught_by) <= set(entry["failed"])


def how_soon(item: str, failed: dict[str, int | None]) -> str:
    if item not in failed:
        return f"**not by {item}**"
    steps = failed[item]
    return f"{item} in {steps:,} steps" if steps else item


def table(data: dict[str, Any]) -> str:
    settings = data["settings"]
    entries = {mutant: data["mutants"][name] for name, mutant in MUTANTS.items()}
    count = sum(caught(entry, mutant) for mutant, entry in entries.items())
    alarms = sum(map(len, data["correct"].values()))
    lines = [
        "# What the conformance suite catches",
        "",
        f"{count} of {len(MUTANTS)} mutants of plain NumPy implementations (`tests/testing/mutants/`) are "
        f"caught by the checks that are there for their faults; {len(IMPLEMENTATIONS)} implementations and "
        f"{len(EQUIVALENT)} harmless variants raise {alarms or 'no'} alarms. `python -m reports.mutants` "
        f"writes this table, with α = {settings['alpha']:g}, min_tv = {settings['min_tv']} and seed "
        f"{settings['seed']}; losslesscheck {data['versions']['losslesscheck']}, numpy "
        f"{data['versions']['numpy']}.",
        "",
        "After how many steps a statistical check is sure; where none are given, no chance is involved. In "
        "all: how many of the items that apply fail.",
        "",
        "| mutant | rule | what is wrong | caught by | in all |",
        "|---|---|---|---|---|",
    ]
    for mutant, entry in entries.items():
        wrong = mutant.wrong.replace("|", "\\|") + (f" Seen: {mutant.seen}." if mutant.seen else "")
        names = ", ".join(how_soon(item, entry["failed"]) for item in mutant.caught_by)
        share = f"{len(entry['failed'])} of {entry['items']}"
        lines.append(f"| {mutant.name} | {mutant.rule} | {wrong} | {names} | {share} |")
    lines += [
        "",
        "No faults, and no alarm:",
        "",
        "| variant | rule | what is done | why not |",
        "|---|---|---|---|",
    ]
    for implementation, why in EQUIVALENT.items():
        what = " ".join((implementation.__doc__ or "").split())
        lines.append(f"| {implementation.__name__} | {implementation.rule} | {what} | {why} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    data = collected()
    DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    (HERE / "mutants.md").write_text(table(data))
