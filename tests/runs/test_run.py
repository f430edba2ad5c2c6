from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from losslesscheck.errors import InputError, Undecided
from losslesscheck.runs import Options, Sampled, Status, collect
from losslesscheck.runs.source import describe, digest
from tests.runs.sources import Die, content, rows

DICE = [Die(instance=number) for number in range(3)]
ALPHA = 1e-9


def run(
    path: Path,
    samples: int,
    executor: str | Executor = "serial",
    sources: list[Die] = DICE,
    watch: Callable[[Status], None] | None = None,
) -> Sampled:
    return collect(sources, samples, ALPHA, Options(path, executor, watch=watch))


def figures(sampled: Sampled) -> list[tuple[Any, ...]]:
    return [
        (r.samples, r.log_e, r.tv_bound, r.detectable_tv, r.holds, r.accepted, r.tokens_per_step)
        for r in sampled.results
    ]


class Shuffled(ThreadPoolExecutor):
    """Four workers, every shard of which takes another time."""

    def __init__(self, seed: int) -> None:
        super().__init__(4)
        self.random = random.Random(seed)

    def submit(self, job: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        pause = self.random.choice((0.0, 0.002, 0.01))

        def late() -> Any:
            time.sleep(pause)
            return job(*arguments)

        return super().submit(late)


def test_executors_agree(tmp_path: Path) -> None:
    wanted = run(tmp_path / "serial", 3600)
    assert wanted.counted == wanted.rounds == 12
    for name, executor in {"processes:2": "processes:2", "shuffled": Shuffled(0)}.items():
        found = run(tmp_path / name, 3600, executor)  # type: ignore[arg-type]
        assert figures(found) == figures(wanted), name
        assert content(tmp_path / name) == content(tmp_path / "serial"), name


def test_every_shard_is_counted_once_with_a_seed_of_its_own(tmp_path: Path) -> None:
    sampled = run(tmp_path / "runs", 3600)
    found = rows(tmp_path / "runs")
    assert len({(row["hash"], row["shard"]) for row in found}) == len(found) == 36
    assert {tuple(row["seed"]) for row in found} == {(0, i, n) for i in range(3) for n in range(12)}
    assert [result.samples for result in sampled.results] == [1200] * 3


def test_going_on_changes_nothing_where_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "runs"
    first = run(path, 1500)
    before = path.read_bytes()
    again = run(path, 1500)
    assert path.read_bytes() == before
    assert figures(again) == figures(first)
    assert not again.notes


def test_more_samples_go_on_and_fewer_use_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "runs"
    run(path, 900)
    before = path.read_bytes()
    more = run(path, 2100)
    assert path.read_bytes().startswith(before)
    assert figures(more) == figures(run(tmp_path / "at once", 2100))
    fewer = run(path, 900)
    assert figures(fewer) == figures(more)
    assert fewer.notes == (
        f"{path} already had 2,100 steps, more than were asked for; all of them count",
    )  # fmt: skip


def test_samples_are_rounded_up_to_whole_shards(tmp_path: Path) -> None:
    assert run(tmp_path / "a", 301).rounds == 2
    assert run(tmp_path / "b", 300).rounds == 1
    one = run(tmp_path / "c", 1)
    assert one.rounds == 1
    assert one.notes == ("300 steps are the fewest in whole shards (--shard makes them smaller)",)


def test_wherever_the_last_row_was_cut_the_run_ends_alike(tmp_path: Path) -> None:
    whole, path, certain = tmp_path / "whole", tmp_path / "cut", [Die((1.0, 0.0), (1.0, 0.0))]
    wanted = run(whole, 300, sources=certain)
    lines = whole.read_bytes().splitlines(keepends=True)
    for length in range(len(lines[-1])):
        path.write_bytes(b"".join(lines[:-1]) + lines[-1][:length])
        assert figures(run(path, 300, sources=certain)) == figures(wanted)
        assert content(path) == content(whole)
        assert path.read_bytes().startswith(b"".join(lines[:-1]))


def test_rows_may_be_missing_anywhere_and_stand_in_any_order(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole", tmp_path / "some"
    wanted = run(whole, 1800)
    chance = random.Random(0)
    for _ in range(5):
        lines = whole.read_bytes().splitlines(keepends=True)
        chance.shuffle(lines)
        path.write_bytes(b"".join(lines[: chance.randrange(len(lines))]))
        assert figures(run(path, 1800, Shuffled(1))) == figures(wanted)
        assert content(path) == content(whole)


def test_problems_share_a_file_and_leave_each_other_alone(tmp_path: Path) -> None:
    path, loaded = tmp_path / "runs", [replace(die, law=(0.3, 0.2, 0.5)) for die in DICE]
    run(path, 600)
    mixed = run(path, 600, sources=loaded)
    assert figures(mixed) == figures(run(tmp_path / "alone", 600, sources=loaded))
    assert mixed.notes == (
        f"{path} also has rows of 3 other problems, which do not count here "
        "(the nearest differs in: law)",
    )  # fmt: skip
    assert figures(run(path, 600)) == figures(run(tmp_path / "fair", 600))


def test_a_law_that_is_off_is_refuted_after_the_same_steps_whoever_computes_them(tmp_path: Path) -> None:
    wrong = [*DICE[:2], replace(DICE[2], law=(0.35, 0.15, 0.5))]
    wanted = run(tmp_path / "serial", 30_000, sources=wrong)
    assert wanted.stopped_early
    assert [result.holds for result in wanted.results] == [True, True, False]
    assert 1 < wanted.counted < 20
    for seed in range(3):
        found = run(tmp_path / f"shuffled-{seed}", 30_000, Shuffled(seed), sources=wrong)
        assert found.counted == wanted.counted
        assert figures(found) == figures(wanted)
    before = (tmp_path / "serial").read_bytes()
    again = run(tmp_path / "serial", 30_000, sources=wrong)
    assert figures(again) == figures(wanted)
    assert (tmp_path / "serial").read_bytes() == before
    longer = run(tmp_path / "serial", 60_000, sources=wrong)
    assert figures(longer) == figures(wanted)


def test_an_impossible_token_stops_the_run_at_once(tmp_path: Path) -> None:
    never = [Die(law=(0.5, 0.25, 0.25), expected=(0.5, 0.5, 0.0))]
    assert run(tmp_path / "runs", 10_000, sources=never).counted == 1


def test_shards_whose_worker_dies_are_run_again(tmp_path: Path) -> None:
    mortal = [replace(die, dies_at=(2,), marks=str(tmp_path)) for die in DICE[:1]]
    sampled = run(tmp_path / "runs", 600, "processes:2", mortal)
    assert (tmp_path / "0-2").exists()  # the death has happened
    wanted = run(tmp_path / "alive", 600, sources=mortal)
    assert figures(sampled) == figures(wanted)
    assert content(tmp_path / "runs") == content(tmp_path / "alive")


def test_a_shard_that_kills_every_worker_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("losslesscheck.runs.run.MOST_LOSSES", 1)
    deadly = [replace(DICE[0], dies_at=(1,))]  # without a folder for marks it dies every time
    with pytest.raises(Undecided, match=r"workers were lost .* shards are kept in .* goes on from there"):
        run(tmp_path / "runs", 300, "processes:1", deadly)


def test_an_executor_that_breaks_ends_the_run_and_what_it_did_is_kept(tmp_path: Path) -> None:
    mortal = [replace(DICE[0], dies_at=(3,), marks=str(tmp_path))]
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as own,
        pytest.raises(Undecided, match="workers were lost"),
    ):
        run(tmp_path / "runs", 600, own, mortal)
    assert len(rows(tmp_path / "runs")) == 3
    assert figures(run(tmp_path / "runs", 600, sources=mortal)) == figures(
        run(tmp_path / "alive", 600, sources=mortal)
    )


def test_what_a_source_raises_is_raised(tmp_path: Path) -> None:
    broken = [replace(DICE[0], law=(0.7, 0.7, 0.0))]
    with pytest.raises(ValueError, match="pvals"):
        run(tmp_path / "runs", 600, sources=broken)


def test_a_worker_with_another_problem_is_refused(tmp_path: Path) -> None:
    class Elsewhere(Executor):
        def submit(self, job: Any, /, source: Any, *arguments: Any, **options: Any) -> Future[Any]:
            future: Future[Any] = Future()
            try:
                future.set_result(job(replace(source, law=(0.5, 0.0, 0.5)), *arguments))
            except InputError as error:
                future.set_exception(error)
            return future

    with pytest.raises(InputError, match="its own differs in law"):
        run(tmp_path / "runs", 600, Elsewhere())


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path) -> None:
    def stop(status: Status) -> None:
        if sum(status.done) == 5:
            raise KeyboardInterrupt

    path = tmp_path / "runs"
    with pytest.raises(KeyboardInterrupt, match=r"5 of 12 shards are kept in .* goes on from there"):
        run(path, 1200, watch=stop)
    assert len(rows(path)) == 5
    assert figures(run(path, 1200)) == figures(run(tmp_path / "at once", 1200))


def test_the_watch_is_told_how_far_it_is(tmp_path: Path) -> None:
    seen: list[Status] = []
    run(tmp_path / "runs", 1200, watch=seen.append)
    first = seen[0]
    assert (first.done, first.rounds, first.ended) == ((1, 0, 0), 4, False)
    last = seen[-1]
    assert last.done == (4, 4, 4)
    assert last.steps_done == last.steps_wanted == 1200
    assert last.ended
    assert last.seconds_left == 0
    assert last.standing is not None
    assert last.standing.rounds == 4
    done = [sum(status.done) for status in seen]
    assert done == sorted(done)


@pytest.mark.parametrize(
    ("executor", "why"),
    [
        ("threads", "is none of"),
        ("processes:0", "is none of"),
        ("processes:9999", "is none of"),
        ("processes:two", "is none of"),
        ("dask://", "is none of"),
        ("dask://localhost", "is none of"),
        ("dask://localhost:1:x", "is none of"),
        ("", "is none of"),
        (4, "is no string"),
    ],
)
def test_a_bad_executor_is_refused_before_any_work(tmp_path: Path, executor: Any, why: str) -> None:
    with pytest.raises(InputError, match=f"executor: .*{why}"):
        Options(tmp_path / "runs", executor).check()
    assert list(tmp_path.iterdir()) == []


def test_dask_is_asked_for_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("losslesscheck.runs.executor.importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'losslesscheck\[distributed\]'"):
        Options(tmp_path / "runs", "dask://localhost:8786").check()


@pytest.mark.parametrize("shard", [0, -1, 10**9 + 1, 1.5, "many"])
def test_a_bad_shard_is_refused(tmp_path: Path, shard: Any) -> None:
    with pytest.raises(InputError, match="shard: "):
        Options(tmp_path / "runs", shard=shard).check()


def test_problems_have_hashes_of_their_own() -> None:
    assert len({digest(describe(die)) for die in DICE}) == 3
