"""What is sampled: a problem, cut into shards that do not depend on one another."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

import numpy as np

from losslesscheck.machines.monte_carlo.tally import Counts, Plan

Problem = dict[str, Any]
"""All that settles what a shard's counts are, as plain JSON."""


class Source(Protocol):
    """Something that emits tokens by a law which is to be tested.

    It is handed to other processes and other machines, so it must be small, picklable and the same
    wherever it is taken; a frozen dataclass is.
    """

    @property
    def name(self) -> str:
        """What it is called in reports."""

    @property
    def seed(self) -> int:
        """Seed of every random choice."""

    @property
    def instance(self) -> int:
        """Its number among the sources that one run samples."""

    @property
    def steps(self) -> int:
        """Draft-and-verify steps of a shard: some 5 to 30 seconds of one core.

        They are part of the problem, so they must not depend on how fast a machine is.
        """

    @property
    def greedy(self) -> bool:
        """The emitted tokens should be the target's most probable ones."""

    def problem(self) -> Problem:
        """What else settles the counts: the text, the parameters, the models' rows, the tree, the code."""

    def plan(self) -> Plan:
        """What is counted, with the target's rows that the counts are judged by."""

    def shard(self, seed: np.random.SeedSequence) -> Counts:
        """The counts of ``steps`` steps; a function of the problem and the seed."""


def describe(source: Source) -> Problem:
    """The whole problem, with what the runs themselves settle."""
    return source.problem() | {"seed": source.seed, "instance": source.instance, "steps": source.steps}


def digest(problem: Problem) -> str:
    """SHA-256 of a problem, in hexadecimal digits.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})
    True
    """
    return hashlib.sha256(json.dumps(problem, sort_keys=True).encode()).hexdigest()


def differences(mine: Problem, other: Problem) -> str:
    """The names of the entries in which two problems differ."""
    return ", ".join(sorted(key for key in mine | other if mine.get(key) != other.get(key)))


def spawn_key(source: Source, number: int) -> tuple[int, ...]:
    """What tells the random numbers of a shard from those of all others with the same seed."""
    return (source.instance, number)


def shard_seed(source: Source, number: int) -> np.random.SeedSequence:
    """The seed of a shard, whatever computes it and when."""
    return np.random.SeedSequence(source.seed, spawn_key=spawn_key(source, number))


def plan_hash(plan: Plan) -> str:
    """SHA-256 of what every counter of a plan counts, and of the row that it is judged by."""
    kept = [(context, int(plan.target.index(context))) for context in plan.contexts]
    pooled = [(pool.length, pool.row) for pool in plan.pools]
    return hashlib.sha256(repr((plan.vocabulary, kept, pooled)).encode()).hexdigest()


@cache
def code_hash(modules: tuple[str, ...]) -> str:
    """SHA-256 of modules of this package, named by their paths in it."""
    package = files("losslesscheck")
    total = hashlib.sha256()
    for module in modules:
        total.update(package.joinpath(*module.split("/")).read_bytes() + b"\0")
    return total.hexdigest()
