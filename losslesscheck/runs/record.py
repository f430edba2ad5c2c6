"""One row of a run's file: what a shard counted, and everything that it was counted under.

A row is a line of JSON. Its last entry is the SHA-256 of what stands before it, so that a row which
was damaged in any way is told from a whole one.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import platform
import socket
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from losslesscheck import __version__
from losslesscheck.machines.monte_carlo.tally import CountArray, Counts, Plan
from losslesscheck.runs.source import Problem, digest

FORMAT = 1

START = f'{{"format":{FORMAT},"hash":"'.encode()
"""The bytes that every row begins with."""

READABLE = 4096
"""Up to so many counters are written as a table; more are packed."""

MOST_STEPS = 10**9
"""Steps of a shard: a counter of a packed row has 32 bits."""

_CHECK = b',"sha256":"'


@dataclass(frozen=True)
class Row:
    """A shard's counts.

    Attributes:
        hash: of the problem.
        problem: see ``source.describe``.
        shard: its number.
        seed: the entropy and the spawn key of its ``numpy.random.SeedSequence``, one after the other.
        counts: how often every token followed every context of the plan, shape [slots · V].
        lengths: how many steps emitted so many tokens.
        undefined: how many steps reached an undefined value.
        skipped: emitted tokens that the plan has no counter for.
        seconds: that sampling took.
    """

    hash: str
    problem: Problem
    shard: int
    seed: tuple[int, ...]
    counts: CountArray
    lengths: dict[int, int]
    undefined: int
    skipped: int
    seconds: float

    def same_counts(self, other: Row) -> bool:
        """Whether both counted alike."""
        return (
            np.array_equal(self.counts, other.counts)
            and (self.lengths, self.undefined, self.skipped)
            == (other.lengths, other.undefined, other.skipped)
        )  # fmt: skip


def encode(problem: Problem, shard: int, seed: tuple[int, ...], counts: Counts, seconds: float) -> bytes:
    """The line of a shard that was computed here and now, line feed included."""
    plan = counts.plan
    content = {
        "format": FORMAT,
        "hash": digest(problem),
        "shard": shard,
        "seed": seed,
        "problem": problem,
        "lengths": counts.lengths,
        "undefined": counts.undefined,
        "skipped": counts.skipped,
        "counts": _table(counts.counts, plan) if plan.slots * plan.vocabulary <= READABLE
        else _packed(counts.counts),
        "versions": {
            "losslesscheck": __version__, "numpy": np.__version__, "python": platform.python_version()
        },
        "device": device(),
        "seconds": round(seconds, 3),
        "worker": f"{socket.gethostname()}:{os.getpid()}",
    }  # fmt: skip
    body = json.dumps(content, separators=(",", ":")).encode()
    check = hashlib.sha256(body).hexdigest().encode()
    return body[:-1] + _CHECK + check + b'"}\n'


def decode(line: bytes) -> Row:
    """The row that a line holds.

    Raises:
        ValueError: saying what is wrong with the line.
    """
    head, found, check = line.rpartition(_CHECK)
    if not line.startswith(START) or not found:
        raise ValueError("is no row of a run")
    body = head + b"}"
    if check != hashlib.sha256(body).hexdigest().encode() + b'"}\n':
        raise ValueError("is damaged: its checksum does not fit")
    content = json.loads(body)
    row = Row(
        hash=content["hash"],
        problem=content["problem"],
        shard=content["shard"],
        seed=tuple(content["seed"]),
        counts=_unpacked(content["counts"]),
        lengths={int(length): steps for length, steps in content["lengths"].items()},
        undefined=content["undefined"],
        skipped=content["skipped"],
        seconds=content["seconds"],
    )
    if digest(row.problem) != row.hash:
        raise ValueError("is damaged: its hash is not that of its problem")
    if sum(row.lengths.values()) + row.undefined != row.problem["steps"]:
        raise ValueError(f"is damaged: its lengths do not add up to {row.problem['steps']} steps")
    return row


def _table(counts: CountArray, plan: Plan) -> list[list[int]]:
    table: list[list[int]] = counts.reshape(plan.slots, plan.vocabulary).tolist()
    return table


def _packed(counts: CountArray) -> dict[str, Any]:
    """Which counters are not zero (the gaps between them), and what they are: 32 bits each."""
    (places,) = np.nonzero(counts)
    pairs = np.array([np.diff(places, prepend=0), counts[places]], dtype="<u4")
    return {
        "counters": len(counts),
        "not_zero": len(places),
        "zlib": base64.b64encode(zlib.compress(pairs.tobytes())).decode(),
    }


def _unpacked(stored: list[list[int]] | dict[str, Any]) -> CountArray:
    if isinstance(stored, list):
        return np.array(stored, dtype=np.int64).ravel()
    content = zlib.decompress(base64.b64decode(stored["zlib"]))
    gaps, values = np.frombuffer(content, dtype="<u4").reshape(2, stored["not_zero"])
    counts = np.zeros(stored["counters"], dtype=np.int64)
    counts[np.cumsum(gaps, dtype=np.int64)] = values
    return counts


@functools.cache
def device() -> str:
    """The processor and the system that this process runs on."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {sys.platform}"
