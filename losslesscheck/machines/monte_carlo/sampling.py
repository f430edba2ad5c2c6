"""Runs a rule many times, on all cores, and counts what it emits."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.machines.monte_carlo.lanes import Lanes, Source
from losslesscheck.machines.monte_carlo.paths import Emit
from losslesscheck.machines.monte_carlo.tally import CELLS, Counts, Plan, Tally, gather
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

SHARD = 2**20
"""Samples that are drawn from one stream of random numbers, whatever thread they fall to."""

BATCH = 2**17
"""Lanes that are run together: few enough for the cache, enough for threads not to wait on each other."""

PILOT = 2**14
"""Samples of the pilot run, which settles what is counted and is not counted itself."""


def sample(
    rule: Rule,
    target: Model,
    draft: Model | None,
    tree: Tree,
    samples: int,
    rng: np.random.Generator,
    batch: int = BATCH,
    threads: int | None = None,
    cells: int = CELLS,
    seconds: float | None = None,
    plan: Plan | None = None,
) -> Counts:
    """Runs ``samples`` draft-and-verify steps.

    The result depends on the generator's seed, ``samples``, ``batch`` and ``cells`` only: the steps
    are cut into shards with streams of their own (``rng.spawn``), so the number of threads does not
    matter. Coins and draws have a resolution of 2⁻⁵³.

    Args:
        rule: the rule, with its parameters bound.
        target, draft: models over the same vocabulary; ``draft`` may be ``None`` for a rule that
            never asks for it.
        tree: the token tree, as ``rule.fit`` returns it.
        rng: spawned from, not drawn from.
        batch: how many lanes run together.
        threads: by default as many as there are cores to run on.
        cells: bound on the number of counters (8 bytes each, in every thread).
        seconds: time budget.
        plan: what is counted; by default what ``survey`` finds. Counts add up only under one plan.

    Raises:
        InputError: if ``samples`` or ``batch`` is not positive.
        RuleError: if the rule raises, does what no rule may do, or does not end.
        BudgetExceeded: when the time budget is used up.
    """
    for name, value in (("samples", samples), ("batch", batch)):
        if value < 1:
            raise InputError(f"{name}: {value} is not a positive number")
    deadline = None if seconds is None else time.monotonic() + seconds
    run = _runner(rule, target, draft, tree)
    if plan is None:
        (pilot_rng,) = rng.spawn(1)
        plan, _ = survey(rule, target, draft, tree, pilot_rng, min(samples, PILOT), cells, deadline)

    starts = iter(range(0, samples, SHARD))
    lock = Lock()
    failed: list[BaseException] = []

    def mine() -> Iterator[tuple[int, np.random.Generator]]:
        while not failed:
            with lock:
                start = next(starts, None)
                if start is None:
                    return
                (stream,) = rng.spawn(1)
            yield min(SHARD, samples - start), stream

    def work() -> tuple[Tally, int]:
        tally, undefined = Tally(plan), 0
        try:
            for size, stream in mine():
                machine = Lanes(target.vocabulary, stream, deadline)
                for start in range(0, size, batch):
                    run(machine, min(batch, size - start), tally.add)
                undefined += machine.undefined
        except BaseException as error:
            failed.append(error)
            raise
        tally.flush()
        return tally, undefined

    workers = min(threads or cores(), -(-samples // SHARD))
    if workers == 1:
        results = [work()]
    else:
        with ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(work) for _ in range(workers)]
        if failed:
            raise failed[0]
        results = [future.result() for future in futures]
    lengths: Counter[int] = Counter()
    total = np.zeros_like(results[0][0].counts)
    for tally, _ in results:
        lengths.update(tally.lengths)
        total += tally.counts
    return Counts(
        plan,
        total,
        samples,
        sum(undefined for _, undefined in results),
        dict(sorted(lengths.items())),
        sum(tally.skipped for tally, _ in results),
    )


def survey(
    rule: Rule,
    target: Model,
    draft: Model | None,
    tree: Tree,
    rng: np.random.Generator,
    samples: int = PILOT,
    cells: int = CELLS,
    deadline: float | None = None,
) -> tuple[Plan, float]:
    """A pilot run: which contexts get counters, and how much work a step is.

    The work is the number of primitives that a step asks the machine for, on average; it depends on
    the generator's seed only, not on the time that anything takes.

    Args:
        rule, target, draft, tree, cells: see ``sample``.
        rng: drawn from.
        samples: steps of the pilot run, which are not counted.
        deadline: value of ``time.monotonic`` after which ``BudgetExceeded`` is raised.

    Raises:
        RuleError: if the rule raises, does what no rule may do, or does not end.
    """
    run = _runner(rule, target, draft, tree)
    pilot: Counter[tuple[int, ...]] = Counter()
    machine = Lanes(target.vocabulary, rng, deadline)
    trial = 64  # a rule that does not end shows in few lanes first
    for lanes in (trial, samples):
        run(machine, lanes, gather(pilot))
    longest = max([tree.depth + 1, *map(len, pilot)])
    return Plan(target, pilot, longest, cells), machine.work / (trial + samples)


def _runner(rule: Rule, target: Model, draft: Model | None, tree: Tree) -> Callable[[Lanes, int, Emit], None]:
    """What runs the rule in so many lanes of a machine."""
    p = Source(target)
    q = p if draft is None else Source(draft)

    def run(machine: Lanes, lanes: int, emit: Emit) -> None:
        at_target, at_draft = machine.model(p), machine.model(q)
        machine.run(lambda: rule.run(machine, at_target, at_draft, tree), lanes, emit)

    return run


def cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
