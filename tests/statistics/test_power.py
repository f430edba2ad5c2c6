"""Detectable biases and the samples that they need, held against simulation with fixed seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from losslesscheck.errors import InputError
from losslesscheck.statistics import (
    combination_handicap,
    detectable_tv,
    log_e_value,
    log_e_values,
    power,
    samples_needed,
)
from losslesscheck.statistics.e_process import log_mean
from tests.statistics.laws import biased, halves, law, least_favourable

CLAIMS = [(8, 0.0016), (8, 0.0031), (32, 0.0016), (32, 0.0031)]


def found(vocabulary: int, tv: float, samples: int, runs: int = 1000) -> float:
    """In what share of runs the least favourable bias is found, at α = 1e-9."""
    expected = halves(vocabulary)
    counts = np.random.default_rng(1).multinomial(samples, least_favourable(expected, tv), size=runs)
    return float((log_mean(log_e_values(counts, expected)) >= math.log(1e9)).mean())


@pytest.mark.parametrize(("vocabulary", "tv"), CLAIMS, ids=lambda value: str(value))
def test_the_samples_needed_are_enough_and_not_far_too_many(vocabulary: int, tv: float) -> None:
    samples = samples_needed(halves(vocabulary), tv)
    # .9 less three standard deviations of a share of 1000
    assert found(vocabulary, tv, samples) >= 0.9 - 3 * math.sqrt(0.9 * 0.1 / 1000)
    assert found(vocabulary, tv, samples * 3 // 4) < 0.85
    assert found(vocabulary, tv, samples // 4) < 0.05


@pytest.mark.parametrize("vocabulary", [2, 8, 1000, 32_000], ids="V{}".format)
@pytest.mark.parametrize("tv", [0.0005, 0.0031, 0.05, 0.3], ids="TV{}".format)
def test_samples_needed_is_the_inverse_of_detectable_tv(vocabulary: int, tv: float) -> None:
    expected = halves(vocabulary)
    samples = samples_needed(expected, tv, handicap=3)
    assert detectable_tv(expected, samples, handicap=3) == pytest.approx(tv, rel=0.03)


def test_samples_needed_depends_on_its_arguments_as_it_should() -> None:
    expected = law(30)
    base = samples_needed(expected, 0.01)
    assert samples_needed(expected, 0.005) == pytest.approx(4 * base, rel=0.2)
    assert samples_needed(expected, 0.01, alpha=0.01) < base < samples_needed(expected, 0.01, power=0.999)
    assert base < samples_needed(expected, 0.01, handicap=5)
    assert samples_needed(np.array([expected] * 10), 0.01) < base / 3


@pytest.mark.parametrize(
    ("vocabulary", "samples"), [(2, 10**5), (50, 10**4), (1000, 10**4), (1000, 10**6)], ids=str
)
def test_a_detectable_bias_is_found_and_a_far_smaller_one_is_not(vocabulary: int, samples: int) -> None:
    expected = np.array([0.5, 0.5]) if vocabulary == 2 else law(vocabulary)
    rng, runs = np.random.default_rng(6), 100
    tv = detectable_tv(expected, samples)

    def hits(tv: float) -> int:
        laws = np.array([biased(expected, tv, rng) for _ in range(runs)])
        assert np.abs(laws - expected).sum(axis=1) / 2 == pytest.approx(tv)
        values = log_e_values(rng.multinomial(samples, laws), expected)
        return int((log_mean(values) >= math.log(1e9)).sum())

    assert hits(tv) >= 85  # 90 expected at least; below 84 with probability 2 %
    assert hits(tv / 2) <= 5


def test_a_bias_on_few_tokens_is_found_more_easily() -> None:
    expected, samples = law(200), 10**5
    tv, rng = detectable_tv(expected, samples), np.random.default_rng(7)
    for token in range(5):
        r = expected * (1 - tv / (1 - expected[token]))
        r[token] = expected[token] + tv
        assert log_e_value(rng.multinomial(samples, r), expected) >= math.log(1e9)


def test_contexts_tested_together_detect_less_than_one() -> None:
    expected = law(50)
    together = detectable_tv(np.array([expected] * 10), np.full(10, 1000))
    assert detectable_tv(expected, 10_000) < together < detectable_tv(expected, 1000)
    rng, hits = np.random.default_rng(8), 0
    for _ in range(50):
        counts = [rng.multinomial(1000, biased(expected, together, rng)) for _ in range(10)]
        hits += log_mean(log_e_values(counts, expected).sum(axis=0)) >= math.log(1e9)
    assert hits >= 40


def test_detection_depends_on_its_arguments_as_it_should() -> None:
    expected = law(30)
    base = detectable_tv(expected, 10**5)
    assert detectable_tv(expected, 4 * 10**5) == pytest.approx(base / 2, rel=0.1)
    assert detectable_tv(expected, 10**5, alpha=0.01) < base < detectable_tv(expected, 10**5, power=0.999)
    assert base < detectable_tv(expected, 10**5, handicap=combination_handicap(4))


def test_a_point_mass_is_left_only_through_tokens_of_probability_zero() -> None:
    assert detectable_tv([0.0, 1.0, 0.0], 1000, power=0.9) == pytest.approx(1 - 0.1 ** (1 / 1000))
    assert samples_needed([0.0, 1.0, 0.0], 1 - 0.1 ** (1 / 1000)) in (1000, 1001)
    assert samples_needed([[0.0, 1.0]] * 4, 1 - 0.1 ** (1 / 1000)) in (250, 251)


def test_nothing_seen_finds_nothing() -> None:
    assert detectable_tv([0.5, 0.5], 0) == 1
    assert detectable_tv([0.5, 0.5], 10) == 1
    assert samples_needed([0.5, 0.5], 0.9) == pytest.approx(samples_needed([0.5, 0.5], 0.6))


def test_probabilities_near_zero_are_no_obstacle() -> None:
    expected = [0.5, 0.5 - 1e-9, 1e-9, 1e-300, 5e-324]
    assert detectable_tv(expected, 10**6) == pytest.approx(detectable_tv([0.5, 0.5], 10**6), rel=0.2)
    assert samples_needed(expected, 0.01) == pytest.approx(samples_needed([0.5, 0.5], 0.01), rel=0.4)


def test_arguments_are_checked() -> None:
    with pytest.raises(InputError, match="alpha: 0 "):
        detectable_tv([0.5, 0.5], 10, alpha=0)
    with pytest.raises(InputError, match="power: 1 "):
        detectable_tv([0.5, 0.5], 10, power=1)
    with pytest.raises(InputError, match=r"expected\[0\] sums to 1\.1"):
        detectable_tv([0.5, 0.6], 10)
    with pytest.raises(InputError, match="tv: 0 "):
        samples_needed([0.5, 0.5], 0)
    with pytest.raises(InputError, match="tv: 1e-12 is not found"):
        samples_needed([0.5, 0.5], 1e-12)
    with pytest.raises(InputError, match=r"expected\[0, 1\] = -0\.5 is negative"):
        samples_needed([1.5, -0.5], 0.1)


# The tests above must fail on figures that are wrong.


@pytest.mark.parametrize("factor", [0.7, 1.6], ids=["boastful", "timid"])
def test_wrong_figures_show(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power, "MARGIN", power.MARGIN * factor)
    with pytest.raises(AssertionError):
        test_the_samples_needed_are_enough_and_not_far_too_many(8, 0.0031)
