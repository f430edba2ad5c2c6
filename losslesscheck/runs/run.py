"""A run: shards computed by workers, kept in a file, and added up."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path

from losslesscheck.errors import InputError, Undecided
from losslesscheck.runs.executor import Workers, check_executor, workers
from losslesscheck.runs.file import RunFile, check_file
from losslesscheck.runs.record import MOST_STEPS, decode
from losslesscheck.runs.shards import run_shard
from losslesscheck.runs.source import Source, describe, differences, digest
from losslesscheck.runs.status import Sampled, Status, Watch
from losslesscheck.runs.totals import Standing, Total, next_look

TICK = 0.5
"""Seconds between two reports of how far the run is."""

MOST_LOSSES = 3
"""How often in a row workers may be lost without any shard coming back."""


@dataclass(frozen=True)
class Options:
    """How a run is to be done.

    Attributes:
        save: the file that keeps the shards.
        executor: see ``executor.workers``.
        shard: steps of a shard, or ``None`` for as many as take some 5 to 30 seconds.
        watch: told how far the run is, about twice a second.
    """

    save: Path
    executor: str | Executor = "processes"
    shard: int | None = None
    watch: Watch | None = None

    def check(self) -> None:
        """Finds fault with the options before any work is done.

        Raises:
            InputError: naming the option and what is wrong with it.
        """
        if self.shard is not None and not (isinstance(self.shard, int) and 1 <= self.shard <= MOST_STEPS):
            raise InputError(f"shard: {self.shard!r} is not an integer from 1 to {MOST_STEPS:.0e}")
        if not isinstance(self.executor, str | Executor):
            raise InputError(f"executor: {self.executor!r} is no string and no concurrent.futures.Executor")
        check_file(self.save)
        check_executor(self.executor)


def collect(sources: Sequence[Source], samples: int, alpha: float, options: Options) -> Sampled:
    """Samples at least ``samples`` steps in whole shards, as many of each source, or goes on with it.

    Stops early once a source is refuted.

    Args:
        alpha: bound on the probability that sources which all follow their targets are refuted.

    Raises:
        InputError: for bad options, a damaged file, or a worker that has another problem.
        Undecided: if workers are lost again and again.
        KeyboardInterrupt: saying how to go on.
    """
    with RunFile(options.save) as file, workers(options.executor) as pool:
        run = _Run(sources, samples, alpha, file, pool, options.watch)
        try:
            run.go()
            return run.sampled()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted; {run.kept}") from None


class _Run:
    def __init__(
        self,
        sources: Sequence[Source],
        samples: int,
        alpha: float,
        file: RunFile,
        pool: Workers,
        watch: Watch | None,
    ) -> None:
        self.sources, self.file, self.pool, self.watch = sources, file, pool, watch
        self.problems = [describe(source) for source in sources]
        self.hashes = tuple(digest(problem) for problem in self.problems)
        self.totals = [Total(source, alpha / len(sources)) for source in sources]
        self.samples = samples
        self.asked = max(1, math.ceil(samples / sum(source.steps for source in sources)))
        self.rounds = max(self.asked, self._complete())
        self.standing: Standing | None = None
        self.running: dict[Future[bytes], tuple[int, int]] = {}
        self.started = time.monotonic()
        self.fresh = 0  # steps since then
        self.losses = 0  # of workers, since a shard came back
        have = [file.shards(hash_) for hash_ in self.hashes]
        self.waiting = [
            (number, place)
            for number in range(self.rounds)
            for place, shards in enumerate(have)
            if number not in shards
        ]
        heapify(self.waiting)

    def go(self) -> None:
        looks = self._looks()
        while looking := next(looks):  # what is there may settle it
            self._report()
        try:
            while looking or ((self.waiting or self.running) and not self._refuted):
                lost = self._hand_over()
                done, _ = wait(self.running, 0 if looking else TICK, FIRST_COMPLETED)
                lost = self._take(done) or lost
                if lost is not None:
                    self._make_up(lost)
                self._report()
                looking = next(looks)
        finally:
            for future in self.running:
                future.cancel()
        self._report()

    def _hand_over(self) -> BaseException | None:
        """Gives workers the shards that come next; the error if they are gone."""
        while self.waiting and len(self.running) < self.pool.window:
            number, place = job = heappop(self.waiting)
            try:
                future = self.pool.submit(run_shard, self.sources[place], self.problems[place], number)
            except self.pool.lost as error:
                heappush(self.waiting, job)
                return error
            self.running[future] = job
        return None

    def _take(self, done: Iterable[Future[bytes]]) -> BaseException | None:
        """Keeps what workers hand back; the error if one of them is gone."""
        lost = None
        for future in done:
            number, place = job = self.running.pop(future)
            try:
                line = future.result()
            except self.pool.lost as error:
                heappush(self.waiting, job)
                lost = error
                continue
            row = decode(line)
            if (row.hash, row.shard) != (self.hashes[place], number):
                raise InputError(f"executor: a worker handed back shard {row.shard}, not {number}")
            self.file.append(row, line)
            self.fresh += self.sources[place].steps
            self.losses = 0
        return lost

    def _make_up(self, lost: BaseException) -> None:
        self.losses += 1
        if self.losses > MOST_LOSSES or not self.pool.renew():
            why = f"{type(lost).__name__}: {lost}".removesuffix(": ")
            raise Undecided(f"workers were lost ({why}); {self.kept}")
        self._take([future for future in self.running if future.done()])

    def _complete(self) -> int:
        """How many rounds the file has without a gap."""
        have = [self.file.shards(hash_) for hash_ in self.hashes]
        number = self.totals[0].shards
        while all(number in shards for shards in have):
            number += 1
        return number

    def _looks(self) -> Iterator[bool]:
        """Looks at what is there, one source at a time; whether there is more to look at now.

        A look may take longer than a shard, and what workers hand back must not wait for it.
        """
        rounds = 0
        while not self._refuted:
            upcoming = next_look(rounds, self.rounds)
            if not rounds < upcoming <= self._complete():
                yield False
                continue
            looks = []
            for total, hash_ in zip(self.totals, self.hashes, strict=True):
                while total.shards < upcoming:
                    total.add(self.file.row(hash_, total.shards))
                looks.append(total.look())
                yield True
            self.standing, rounds = Standing(upcoming, tuple(looks)), upcoming
        while True:
            yield False

    @property
    def _refuted(self) -> bool:
        return self.standing is not None and self.standing.refuted

    def _report(self) -> None:
        if self.watch is not None:
            self.watch(self._status())

    def _status(self) -> Status:
        return Status(
            name=self.sources[0].name,
            save=self.file.path,
            workers=self.pool.label,
            done=tuple(
                sum(number < self.rounds for number in self.file.shards(hash_)) for hash_ in self.hashes
            ),
            rounds=self.rounds,
            steps=tuple(source.steps for source in self.sources),
            rate=self.fresh / (time.monotonic() - self.started) if self.fresh else None,
            standing=self.standing,
        )

    @property
    def kept(self) -> str:
        """What an interrupted run says of itself."""
        status = self._status()
        return (
            f"{sum(status.done)} of {len(self.sources) * self.rounds} shards are kept in {self.file.path}: "
            "the same command goes on from there"
        )

    def sampled(self) -> Sampled:
        assert self.standing is not None
        notes = list(self.file.notes)
        steps = sum(source.steps for source in self.sources)
        if self.rounds > self.asked and not self.standing.refuted:
            notes.append(
                f"{self.file.path} already had {self.rounds * steps:,} steps, more than were asked for; "
                "all of them count"
            )
        if self.rounds == self.asked and self.rounds * steps >= 2 * self.samples:
            notes.append(
                f"{self.rounds * steps:,} steps are the fewest in whole shards (--shard makes them smaller)"
            )
        mine = self.problems[0]
        others = {hash_: other for hash_, other in self.file.problems.items() if hash_ not in self.hashes}
        if others:
            nearest = min((differences(mine, other) for other in others.values()), key=len)
            notes.append(
                f"{self.file.path} also has rows of {len(others)} other problem"
                f"{'s'[: len(others) > 1]}, which do not count here (the nearest differs in: {nearest})"
            )
        results = tuple(total.judge() for total in self.totals)
        return Sampled(results, self.standing.rounds, self.rounds, self.hashes, self.pool.label, tuple(notes))
