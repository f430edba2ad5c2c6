"""Sources that cost nothing, and what tests ask of a run's file."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from losslesscheck.machines.monte_carlo.tally import Counts, Plan
from losslesscheck.model import Model

FAIR = (0.25, 0.25, 0.5)


@dataclass(frozen=True)
class Die:
    """Emits one token, by ``law`` instead of the expected one.

    Attributes:
        dies_at: shards whose worker is killed, once each if it can be noted in the folder ``marks``.
    """

    law: tuple[float, ...] = FAIR
    expected: tuple[float, ...] = FAIR
    seed: int = 0
    instance: int = 0
    steps: int = 100
    name: str = "die"
    greedy: bool = False
    dies_at: tuple[int, ...] = ()
    marks: str = ""

    def problem(self) -> dict[str, Any]:
        return {"law": list(self.law), "expected": list(self.expected)}

    def plan(self) -> Plan:
        return Plan(Model([list(self.expected)]), Counter(), 1)

    def shard(self, seed: np.random.SeedSequence) -> Counts:
        for number in self.dies_at:
            mark = Path(self.marks) / f"{self.instance}-{number}"
            if seed.spawn_key == (self.instance, number) and not mark.exists():
                if self.marks:
                    mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        counts = np.random.default_rng(seed).multinomial(self.steps, self.law)
        return Counts(self.plan(), counts, self.steps, 0, {1: self.steps}, 0)


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file in the order of the file, without what differs from run to run."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: row[key] for key in row if key not in ("seconds", "worker", "sha256")} for row in found]


def content(path: Path) -> list[str]:
    """The same as sorted text, to be compared to the byte."""
    return sorted(json.dumps(row) for row in rows(path))
