"""Runs a subject on a problem, batch after batch, and counts what it emits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.machines.monte_carlo.tally import CELLS, Counts, Plan, Tally, gather
from losslesscheck.testing.drafting import Drafter, distinct_seeds
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Emitted, Subject

PILOT = 4096
"""Steps of the pilot run, which settles what is counted and is not counted itself."""

NUMBERS = 2**20
"""Probabilities of the target in a batch."""

LARGEST_BATCH = 8192
"""Rows of a batch, enough that the calls cost little, unless the subject takes more."""

COUNTERS = 2**14
"""Counters where contexts with the same row of the target may be pooled: a look at so few costs little
beside the sampling. If pooling takes more, there are more."""


class Sampler:
    """Runs a subject on a problem.

    What is counted, and every batch, depends on the seed and on the sizes of the batches before.

    Args:
        subject: the implementation.
        problem: what it is run on; its probabilities are rounded to the subject's dtype.
        seed: of drafts, coins and the seeds that the subject is handed.
        pilot: steps of the pilot run.

    Attributes:
        problem: the rounded problem.
        steps: how many steps have been counted.

    Raises:
        InputError: if the problem has what the subject does not take: siblings, or rows of
            different lengths.
        SubjectError: if the subject fails in the pilot run.
    """

    def __init__(self, subject: Subject, problem: Problem, seed: int, *, pilot: int = PILOT) -> None:
        if problem.tree.width > 1 and "parents" not in subject.takes:
            raise InputError(f"{subject.name} takes no parents, so no tree {problem.tree}")
        if problem.ragged and "lengths" not in subject.takes:
            raise InputError(f"{subject.name} takes no lengths, so no rows of different lengths")
        self.subject, self.problem = subject, problem.rounded(subject.dtype)
        self.steps = 0
        keep_memory()
        self._drafter = Drafter(self.problem, subject.dtype)
        self._rng = np.random.default_rng([seed, 1])  # the problem's rows may come from the seed itself
        self._seeds = distinct_seeds(np.random.default_rng([seed, 3]))
        rows = (problem.tree.size + 1) * problem.vocabulary
        self._block = max(1, min(LARGEST_BATCH, NUMBERS // rows), subject.batch or 0)
        seen: Counter[tuple[int, ...]] = Counter()
        emit = gather(seen)
        for emitted in self._emitted(pilot):
            for lanes, columns in by_length(emitted):
                emit(columns, lanes)
        longest = problem.tree.depth + 1
        self._plan = Plan(self.problem.target, seen, longest, _cells(self.problem, longest))
        self._tally = Tally(self._plan)

    def run(self, steps: int) -> None:
        """Runs and counts so many more steps.

        Raises:
            SubjectError: if the subject fails.
        """
        for emitted in self._emitted(steps):
            for lanes, columns in by_length(emitted):
                self._tally.add(columns, lanes)
            self.steps += len(emitted.accepted)
        self._tally.flush()

    def counts(self) -> Counts:
        """What was emitted so far."""
        tally = self._tally
        lengths = dict(sorted(tally.lengths.items()))
        return Counts(self._plan, tally.counts, self.steps, 0, lengths, tally.skipped)

    def _emitted(self, steps: int) -> Iterator[Emitted]:
        """What the subject emits in so many steps, call by call."""
        for start in range(0, steps, self._block):
            block = self._drafter.batch(min(self._block, steps - start), self._rng)
            most = self.subject.batch or block.size
            for first in range(0, block.size, most):
                rows = block.rows(slice(first, first + most))
                yield self.subject(replace(rows, seed=next(self._seeds)))


def _cells(problem: Problem, longest: int) -> int:
    """How many counters the plan may have."""
    if not problem.rule.claims_lossless:
        return CELLS  # the law differs from context to context
    pools = longest * problem.target.count
    # Half of what the plan has left goes to single contexts.
    return min(CELLS, max(COUNTERS, (1 + 2 * pools) * problem.vocabulary))


def keep_memory() -> None:
    """Has glibc keep what the process frees, up to some 60 MiB.

    It returns the arrays of every batch to the system otherwise, and a third to two thirds of the time
    goes into page faults. Both of its thresholds follow the largest block that was freed, up to 32 MiB.
    """
    np.empty(31 * 2**20, dtype=np.uint8)


def by_length(emitted: Emitted) -> list[tuple[int, list[np.ndarray]]]:
    """The rows of a batch by how many tokens they emitted: how many rows, and their tokens by place."""
    found = []
    for accepted in range(int(emitted.accepted.max(initial=-1)) + 1):
        chosen = np.flatnonzero(emitted.accepted == accepted)
        if len(chosen):
            tokens = emitted.tokens[chosen, : accepted + 1]
            found.append((len(chosen), [tokens[:, place] for place in range(accepted + 1)]))
    return found
