"""Runs a rule many times, on all cores, and counts what it emits."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
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

    Raises:
        InputError: if ``samples`` or ``batch`` is not positive.
        RuleError: if the rule raises, does what no rule may do, or does not end.
        BudgetExceeded: when the time budget is used up.
    """
    for name, value in (("samples", samples), ("batch", batch)):
        if value < 1:
            raise InputError(f"{name}: {value} is not a positive number")
    deadline = None if seconds is None else time.monotonic() + seconds
    p = Source(target)
    q = p if draft is None else Source(draft)
    (pilot_rng,) = rng.spawn(1)

    def run(machine: Lanes, lanes: int, emit: Emit) -> None:
        at_target, at_draft = machine.model(p), machine.model(q)
        machine.run(lambda: rule.run(machine, at_target, at_draft, tree), lanes, emit)

    pilot: Counter[tuple[int, ...]] = Counter()
    machine = Lanes(target.vocabulary, pilot_rng, deadline)
    for lanes in (64, min(samples, PILOT)):  # a rule that does not end shows in few lanes first
        run(machine, lanes, gather(pilot))
    longest = max([tree.depth + 1, *map(len, pilot)])
    plan = Plan(target, pilot, longest, cells)

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

    workers = min(threads or _cores(), -(-samples // SHARD))
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


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
