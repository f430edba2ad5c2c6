"""Bounds on TV, checked by simulation with fixed seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from losslesscheck.errors import InputError
from losslesscheck.statistics import (
    anytime_tv_bound,
    anytime_two_sample_tv_bound,
    bounds,
    tv_upper_bound,
    two_sample_tv_bound,
)
from tests.statistics.laws import biased, law

HALF = np.array([0.5, 0.5])
OFF = np.array([0.7, 0.3])
"""TV .2 from ``HALF``; with two tokens the plug-in estimate is hardly too large, which tests the bounds."""

RUNS, LOOKS = 2000, 500


@pytest.mark.parametrize("size", [0.0, 0.01, 0.1], ids="TV{}".format)
def test_the_tv_bound_covers(size: float) -> None:
    rng, expected, samples = np.random.default_rng(9), law(20), 3000
    covered = 0
    for _ in range(300):
        r = biased(expected, size, rng)
        covered += tv_upper_bound(rng.multinomial(samples, r), expected, 0.05) >= size
    assert covered >= 0.95 * 300


def test_the_tv_bound_needs_its_margin() -> None:
    rng, samples = np.random.default_rng(10), 3000
    draws = rng.multinomial(samples, OFF, size=300)
    assert sum(np.abs(d / samples - HALF).sum() / 2 >= 0.2 for d in draws) < 0.95 * 300
    assert sum(tv_upper_bound(d, HALF, 0.05) >= 0.2 for d in draws) >= 0.95 * 300
    assert all(tv_upper_bound(d, HALF, 0.05) < 0.27 for d in draws)


def test_the_two_sample_bound_covers_and_needs_its_margin() -> None:
    rng = np.random.default_rng(11)
    first, second = rng.multinomial(1000, OFF, size=1000), rng.multinomial(4000, HALF, size=1000)
    found = np.array([two_sample_tv_bound(a, b, 0.05) for a, b in zip(first, second, strict=True)])
    plug_in = np.abs(first / 1000 - second / 4000).sum(axis=1) / 2
    assert (found >= 0.2).mean() >= 0.95
    assert (plug_in >= 0.2).mean() < 0.6
    assert found.mean() < 0.2 + 2.5 * math.sqrt(math.log(20) / 2 * (1 / 1000 + 1 / 4000))


def ever_too_small(anytime: bool, alpha: float = 0.05) -> float:
    """In what share of runs a bound on TV(OFF, HALF) falls below .2 at any of ``LOOKS`` looks."""
    rng = np.random.default_rng(12)
    counts, wrong = np.zeros((RUNS, 2), dtype=np.int64), np.zeros(RUNS, dtype=bool)
    for look in range(LOOKS):
        counts += rng.multinomial(5 + look, OFF, size=RUNS)
        if anytime:
            bound = bounds.anytime_tv_bound(counts, HALF, alpha)
        else:
            samples = counts.sum(axis=1)
            bound = np.abs(counts / samples[:, None] - HALF).sum(axis=1) / 2
            bound += np.sqrt(math.log(1 / alpha) / (2 * samples))
        wrong |= bound < 0.2
    return float(wrong.mean())


def test_the_anytime_bound_covers_at_all_looks_at_once() -> None:
    assert ever_too_small(anytime=True) <= 0.05


def test_a_bound_for_one_look_does_not_cover_all() -> None:
    assert ever_too_small(anytime=False) > 0.05


def test_the_anytime_bound_covers_when_sampling_depends_on_what_was_seen() -> None:
    rng = np.random.default_rng(13)
    counts, wrong = rng.multinomial(20, OFF, size=RUNS), np.zeros(RUNS, dtype=bool)
    for _ in range(LOOKS):
        # runs in which the bias looks large draw one sample, the others fifty
        size = np.where(counts[:, 0] / counts.sum(axis=1) > 0.7, 1, 50)
        counts += rng.multinomial(size, OFF)
        wrong |= anytime_tv_bound(counts, HALF, 0.05) < 0.2
    assert wrong.mean() <= 0.05


def test_the_anytime_two_sample_bound_covers_at_all_looks_at_once() -> None:
    rng, wrong = np.random.default_rng(14), np.zeros(RUNS, dtype=bool)
    first, second = np.zeros((2, RUNS, 2), dtype=np.int64)
    for look in range(LOOKS):
        first += rng.multinomial(5 + look, OFF, size=RUNS)
        second += rng.multinomial(rng.integers(0, 10 + look), HALF, size=RUNS)
        wrong |= anytime_two_sample_tv_bound(first, second, 0.05) < 0.2
    assert wrong.mean() <= 0.05


@pytest.mark.parametrize("samples", [10**2, 10**4, 10**6, 10**8, 10**10], ids="N{:.0e}".format)
def test_holding_at_all_looks_widens_the_bounds_by_little(samples: int) -> None:
    counts = np.array([samples // 2, samples // 2])
    assert fixed(counts) < anytime_tv_bound(counts, HALF, 1e-9) < 1.3 * fixed(counts)
    both = two_sample_tv_bound(counts, counts, 1e-9)
    assert both < anytime_two_sample_tv_bound(counts, counts, 1e-9) < 1.5 * both


def fixed(counts: NDArray[np.int64]) -> float:
    return tv_upper_bound(counts, HALF, 1e-9)


def test_several_contexts_have_bounds_of_their_own() -> None:
    counts = np.array([[60, 40], [0, 0], [6000, 4000]])
    levels = np.array([0.01, 0.02, 0.03])
    together = anytime_tv_bound(counts, HALF, levels)
    assert together.shape == (3,)
    for place in (0, 2):
        assert together[place] == anytime_tv_bound(counts[place], HALF, levels[place])
    assert together[1] == 1
    assert together[2] < together[0] < 1
    two = anytime_two_sample_tv_bound(counts, counts[::-1], levels)
    assert two[1] == 1
    assert two[0] == anytime_two_sample_tv_bound(counts[0], counts[2], levels[0])


def test_nothing_seen_bounds_nothing() -> None:
    assert tv_upper_bound([0, 0], HALF, 0.05) == 1
    assert anytime_tv_bound([0, 0], HALF, 0.05) == 1
    assert two_sample_tv_bound([0, 0], [10**6, 10**6], 0.05) == 1
    assert anytime_two_sample_tv_bound([10**6, 10**6], [0, 0], 0.05) == 1


def test_arguments_are_checked() -> None:
    with pytest.raises(InputError, match="alpha: 1 is not between"):
        tv_upper_bound([1, 2], HALF, 1)
    with pytest.raises(InputError, match=r"alpha: 0\.0 is not between"):
        anytime_tv_bound([[1, 2], [1, 2]], HALF, [0.5, 0.0])
    with pytest.raises(InputError, match="counts: shape"):
        tv_upper_bound([1, 2, 3], HALF, 0.5)
    with pytest.raises(InputError, match="first: shape"):
        two_sample_tv_bound([[1, 2], [1, 2]], [[1, 2], [1, 2], [1, 2]], 0.5)


# The tests above must fail on a bound that is wrong.


def test_a_bound_without_its_growth_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    true = bounds._bound
    monkeypatch.setattr(bounds, "_bound", lambda plug_in, square: true(plug_in, square / 4))
    with pytest.raises(AssertionError):
        test_the_anytime_bound_covers_at_all_looks_at_once()
    with pytest.raises(AssertionError):
        test_the_anytime_two_sample_bound_covers_at_all_looks_at_once()
    with pytest.raises(AssertionError):
        test_the_tv_bound_needs_its_margin()
    with pytest.raises(AssertionError):
        test_the_two_sample_bound_covers_and_needs_its_margin()
