"""How far a run is, and what it came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from losslesscheck.machines.monte_carlo import MonteCarloResult
from losslesscheck.runs.totals import Standing


@dataclass(frozen=True)
class Status:
    """How far a run is.

    Attributes:
        name: of what is sampled.
        save: the file.
        workers: where shards are computed.
        done: shards of every source that stand in the file, of those that the run is to have.
        rounds: how many shards every source is to have.
        steps: of a shard, for every source.
        rate: steps a second since the run was begun or resumed; ``None`` before the first shard.
        standing: of the last look, or ``None``.
    """

    name: str
    save: Path
    workers: str
    done: tuple[int, ...]
    rounds: int
    steps: tuple[int, ...]
    rate: float | None
    standing: Standing | None

    @property
    def ended(self) -> bool:
        """All rounds have been looked at, or the law is refuted."""
        return self.standing is not None and (self.standing.refuted or self.standing.rounds == self.rounds)

    @property
    def steps_done(self) -> int:
        return sum(done * steps for done, steps in zip(self.done, self.steps, strict=True))

    @property
    def steps_wanted(self) -> int:
        return self.rounds * sum(self.steps)

    @property
    def seconds_left(self) -> float | None:
        """At the rate so far."""
        return None if not self.rate else (self.steps_wanted - self.steps_done) / self.rate


@dataclass(frozen=True)
class Sampled:
    """What a run came to.

    Attributes:
        results: for every source.
        counted: the rounds that they are of.
        rounds: how many rounds were to be sampled; more than ``counted`` if the law was refuted before.
        hashes: of the sources' problems.
        workers: where shards were computed.
        notes: what the user should know, one line each.
    """

    results: tuple[MonteCarloResult, ...]
    counted: int
    rounds: int
    hashes: tuple[str, ...]
    workers: str
    notes: tuple[str, ...]

    @property
    def stopped_early(self) -> bool:
        return self.counted < self.rounds


Watch = Callable[[Status], None]
"""Told how far a run is."""
