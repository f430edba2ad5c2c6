"""What the rows of a run add up to, and what that says.

A round n is the n-th shard of every source. Rounds are added up in order, as far as there are no gaps,
and judged after the rounds of a fixed schedule and after the last one that was asked for. So the totals,
the e-values and the round after which the law was refuted depend on the rows and on how many were asked
for: not on the order in which shards came in, nor on how many workers there were, nor on how often the
run was interrupted.

Nor may the looks be chosen by what is seen. Which shards are there when one looks may depend on their
content (a shard that rejects more may take longer), but the e-values of the totals of 1, 2, 3, … rounds
form one e-process: the shards are independent draws in the order of their numbers. With probability at
least 1 − α it stays below 1/α at all rounds at once (Ville's inequality), so also at those that someone
happens to look at, whatever they were chosen by.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from losslesscheck.machines import monte_carlo
from losslesscheck.machines.monte_carlo import MonteCarloResult
from losslesscheck.machines.monte_carlo.tally import Counts, Group
from losslesscheck.runs.record import Row
from losslesscheck.runs.source import Source
from losslesscheck.statistics import anytime_tv_bound

GROWTH = 16
"""A look is had whenever the rounds have grown by a sixteenth: at 1, 2, …, 32, 34, 36, …"""


@dataclass(frozen=True)
class Look:
    """What the shards of one source say so far.

    Attributes:
        log_e: natural logarithm of the e-value against the target's law.
        tv_bound: upper bound on the TV between the first token's law and the target's, which with
            probability at least 1 − α holds at all looks.
        detectable_tv: see ``MonteCarloResult``; of a look at no less than half of the shards, since it
            takes long to compute and only shrinks.
        refuted: the e-value has reached 1/α, or a step was undefined.
    """

    log_e: float
    tv_bound: float
    detectable_tv: float
    refuted: bool


@dataclass(frozen=True)
class Standing:
    """What the first ``rounds`` rounds say, of every source."""

    rounds: int
    looks: tuple[Look, ...]

    @property
    def refuted(self) -> bool:
        return any(look.refuted for look in self.looks)


class Total:
    """The shards of one source, added up in the order of their numbers.

    Args:
        alpha: bound on the probability that a source which follows the target's law is ever refuted.
    """

    def __init__(self, source: Source, alpha: float) -> None:
        self.source, self.alpha = source, alpha
        self.plan = source.plan()
        self.shards = 0
        self._counts = np.zeros(self.plan.slots * self.plan.vocabulary, dtype=np.int64)
        self._lengths: Counter[int] = Counter()
        self._undefined = self._skipped = 0
        self._seconds = 0.0
        self._rows = monte_carlo.expected_rows(self.plan.target, source.greedy)
        self._detectable = (0, 1.0)  # at how many shards, and what

    def add(self, row: Row) -> None:
        """Adds the next shard."""
        if row.shard != self.shards:
            raise ValueError(f"shard {row.shard} cannot come after {self.shards} shards")
        self.shards += 1
        self._counts += row.counts
        self._lengths.update(row.lengths)
        self._undefined += row.undefined
        self._skipped += row.skipped
        self._seconds += row.seconds

    @property
    def counts(self) -> Counts:
        return Counts(
            self.plan,
            self._counts,
            self.shards * self.source.steps,
            self._undefined,
            dict(sorted(self._lengths.items())),
            self._skipped,
        )

    def look(self) -> Look:
        """What can be said quickly."""
        counts = self.counts
        groups = list(counts.groups())
        log_e = monte_carlo.weigh(groups, self._rows)[1]
        first = groups[0]
        if self.shards >= 2 * self._detectable[0]:
            by_length = monte_carlo.detectable(groups, self._rows, self.alpha, longest=0)
            self._detectable = (self.shards, by_length[0] or 1.0)
        return Look(
            log_e=log_e,
            tv_bound=self._tv_bound(first),
            detectable_tv=self._detectable[1],
            refuted=monte_carlo.refuted(log_e, self._undefined, self.alpha),
        )

    def judge(self) -> MonteCarloResult:
        """All that can be said."""
        counts = self.counts
        result = monte_carlo.judge(counts, self.plan.target, self.source.greedy, self.alpha, self._seconds)
        return replace(result, tv_bound=self._tv_bound(next(counts.groups())))

    def _tv_bound(self, first: Group) -> float:
        return float(anytime_tv_bound(first.counts, self._rows[first.row], self.alpha))


def next_look(rounds: int, last: int) -> int:
    """After how many rounds to look again, having looked after ``rounds``; after the last in any case.

    >>> next_look(0, 40), next_look(1, 40), next_look(32, 40), next_look(39, 40)
    (1, 2, 34, 40)
    """
    return min(last, rounds + max(1, rounds // GROWTH))
