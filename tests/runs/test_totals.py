from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from losslesscheck.machines.monte_carlo import judge
from losslesscheck.runs.record import Row, decode
from losslesscheck.runs.shards import run_shard
from losslesscheck.runs.source import describe
from losslesscheck.runs.totals import Total, next_look
from losslesscheck.statistics import log_e_value
from tests.runs.sources import FAIR, Die


def row(source: Die, shard: int) -> Row:
    return decode(run_shard(source, describe(source), shard))


def total(source: Die, shards: int, alpha: float = 1e-9) -> Total:
    found = Total(source, alpha)
    for shard in range(shards):
        found.add(row(source, shard))
    return found


def test_totals_are_the_sum_of_their_shards() -> None:
    source = Die()
    found = total(source, 5)
    assert np.array_equal(found.counts.counts, sum(row(source, shard).counts for shard in range(5)))
    assert found.counts.samples == sum(found.counts.lengths.values()) == 500
    assert math.isclose(found.look().log_e, log_e_value(found.counts.counts, FAIR), rel_tol=1e-9)


def test_shards_are_added_in_order_and_once() -> None:
    found = total(Die(), 2)
    for shard in (0, 1, 3):
        with pytest.raises(ValueError, match=f"shard {shard} cannot come after 2"):
            found.add(row(Die(), shard))


def test_a_long_run_says_what_the_rung_says() -> None:
    source = Die(law=(0.3, 0.2, 0.5), steps=2000)
    found = total(source, 4)
    whole = judge(found.counts, source.plan().target, False, 1e-9, 1.0)
    long, look = found.judge(), found.look()
    assert (long.log_e, long.holds, long.detectable_tv) == (whole.log_e, whole.holds, whole.detectable_tv)
    assert (look.log_e, look.refuted, look.detectable_tv) == (
        whole.log_e,
        not whole.holds,
        whole.detectable_tv,
    )
    assert look.tv_bound == long.tv_bound > whole.tv_bound  # it holds at all looks


def test_the_detectable_tv_of_a_look_is_of_half_the_shards_at_least() -> None:
    found, seen = Total(Die(steps=10_000), 1e-9), []
    for shard in range(9):
        found.add(row(found.source, shard))  # type: ignore[arg-type]
        seen.append(found.look().detectable_tv)
        assert found.judge().detectable_tv <= seen[-1]
    assert len(set(seen)) == 4  # after 1, 2, 4 and 8 shards


def test_looks_are_had_at_the_end_and_grow_rarer() -> None:
    for last in (1, 2, 40, 1000):
        looks, rounds = [], 0
        while rounds < last:
            rounds = next_look(rounds, last)
            looks.append(rounds)
        assert looks[: min(last, 32)] == list(range(1, min(last, 32) + 1))
        assert looks[-1] == last
        assert len(looks) <= 32 + 20 * math.log(max(last / 32, 1)) + 2
        assert next_look(last, last) == last


def test_a_bias_is_refuted_and_its_size_bounded() -> None:
    look = total(Die(law=(0.35, 0.15, 0.5), steps=10_000), 3).look()
    assert look.refuted
    assert look.log_e > math.log(1e9)
    assert look.tv_bound > 0.1


def refuted_runs(runs: int, monkeypatch: pytest.MonkeyPatch, *, same_shard: bool) -> int:
    """How many runs of 20 shards of a fair die are refuted at α = .05 at some look."""
    monkeypatch.setattr("losslesscheck.machines.monte_carlo.detectable", lambda *_, **__: (0.1,))
    refuted = 0
    for seed in range(runs):
        found = Total(Die(seed=seed, steps=500), 0.05)
        first, looks = row(Die(seed=seed, steps=500), 0), []
        for shard in range(20):
            found.add(replace(first, shard=shard) if same_shard else row(Die(seed=seed, steps=500), shard))
            looks.append(found.look().refuted)
        refuted += any(looks)
    return refuted


def test_looking_after_every_shard_does_not_alarm_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of 200 runs at most 10 are expected; 28 or more have probability below 1e-6.
    assert refuted_runs(200, monkeypatch, same_shard=False) < 28


def test_shards_that_repeat_each_other_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refuted_runs(40, monkeypatch, same_shard=True) > 20
