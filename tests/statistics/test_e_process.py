"""The tests and bounds of losslesscheck.statistics, checked by simulation with fixed seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaln

from losslesscheck import statistics
from losslesscheck.errors import InputError
from losslesscheck.statistics import (
    CONCENTRATIONS,
    combined_log_e_value,
    detectable_tv,
    log_e_value,
    log_e_values,
    mixture,
    tv_upper_bound,
)


def law(vocabulary: int, seed: int = 0) -> np.ndarray:
    weights = np.random.default_rng(seed).random(vocabulary) ** 3
    return weights / weights.sum()


def biased(expected: np.ndarray, tv: float, rng: np.random.Generator) -> np.ndarray:
    """Half of the probability loses what a random other half gains; exactly ``tv`` away."""
    order = rng.permutation(len(expected))
    gains = np.zeros(len(expected), dtype=bool)
    gains[order[np.cumsum(expected[order]) <= 0.5]] = True
    share = expected[gains].sum()
    return np.where(gains, expected * (1 + tv / share), expected * (1 - tv / (1 - share)))


def test_the_e_value_is_the_dirichlet_marginal_likelihood_ratio() -> None:
    counts, expected = np.array([3, 0, 1, 7]), np.array([0.4, 0.1, 0.2, 0.3])
    for a, found in zip(CONCENTRATIONS[:6], log_e_values(counts, expected), strict=False):
        direct = gammaln(a) - gammaln(a + 11) - (counts * np.log(expected)).sum()
        direct += (gammaln(a * expected + counts) - gammaln(a * expected)).sum()
        assert found == pytest.approx(direct, abs=1e-9)


def test_the_e_value_has_mean_one_under_the_null() -> None:
    expected = np.array([0.5, 0.3, 0.2])
    total = np.zeros(len(CONCENTRATIONS))
    for a in range(9):
        for b in range(9 - a):
            counts = np.array([a, b, 8 - a - b])
            log_p = gammaln(9) - gammaln(counts + 1).sum() + (counts * np.log(expected)).sum()
            total += np.exp(log_p + log_e_values(counts, expected))
    assert total == pytest.approx(1, abs=1e-9)


def test_large_concentrations_lose_no_precision() -> None:
    expected = law(50)
    counts = np.random.default_rng(1).multinomial(10**5, expected)
    for a, found in zip(CONCENTRATIONS, log_e_values(counts, expected), strict=True):
        direct = math.fsum(
            math.fsum(np.log1p(np.arange(n) / (a * p))) for n, p in zip(counts, expected, strict=True)
        ) - math.fsum(np.log1p(np.arange(10**5) / a))
        assert found == pytest.approx(direct, abs=1e-7)


@pytest.mark.parametrize("vocabulary", [2, 20], ids="V{}".format)
def test_false_alarms_stay_rare_however_often_one_looks(vocabulary: int) -> None:
    expected, runs, alarms = law(vocabulary), 150, 0
    rng = np.random.default_rng(2)
    for _ in range(runs):
        counts = np.zeros(vocabulary, dtype=int)
        for _ in range(40):
            counts += rng.multinomial(20, expected)
            if log_e_value(counts, expected) >= math.log(1 / 0.05):
                alarms += 1
                break
    assert alarms <= 0.05 * runs


def test_combined_false_alarms_stay_rare() -> None:
    rng, runs, alarms = np.random.default_rng(3), 100, 0
    laws = [law(4, seed) for seed in range(5)]
    lengths = np.array([0, 1, 1, 1, 1])
    for _ in range(runs):
        counts = [np.zeros(4, dtype=int) for _ in laws]
        for _ in range(10):
            for count, expected in zip(counts, laws, strict=True):
                count += rng.multinomial(rng.integers(1, 30), expected)
            values = np.array([log_e_values(c, e) for c, e in zip(counts, laws, strict=True)])
            if combined_log_e_value(values, lengths) >= math.log(1 / 0.05):
                alarms += 1
                break
    assert alarms <= 0.05 * runs


def test_a_bias_at_one_of_many_contexts_is_not_drowned() -> None:
    rng, expected = np.random.default_rng(4), law(8)
    counts = [rng.multinomial(5000, expected) for _ in range(300)]
    counts[0] = rng.multinomial(5000, biased(expected, 0.1, rng))
    values = np.array([log_e_values(c, expected) for c in counts])
    lengths = np.array([0] + [1] * 299)
    assert combined_log_e_value(values, lengths) > math.log(1e9)
    assert sum(mixture(v) for v in values) < 0


def test_a_small_bias_at_every_context_adds_up() -> None:
    rng, expected = np.random.default_rng(5), law(8)
    counts = [rng.multinomial(500, biased(expected, 0.06, rng)) for _ in range(200)]
    values = np.array([log_e_values(c, expected) for c in counts])
    assert max(mixture(v) for v in values) < math.log(1e9)
    assert combined_log_e_value(values, np.ones(200, dtype=int)) > math.log(1e9)


def test_a_token_of_probability_zero_settles_it() -> None:
    assert log_e_value([0, 5], [0.5, 0.5]) < math.inf
    assert log_e_value([1, 10**6], [0.0, 1.0]) == math.inf
    values = np.array([log_e_values([1, 5], [0.0, 1.0]), log_e_values([5, 5], [0.5, 0.5])])
    assert combined_log_e_value(values, np.array([0, 1])) == math.inf


def test_nothing_seen_is_no_evidence() -> None:
    assert log_e_value([0, 0], [0.5, 0.5]) == pytest.approx(0)
    assert tv_upper_bound([0, 0], [0.5, 0.5], 0.05) == 1
    assert detectable_tv([0.5, 0.5], 0) == 1
    assert detectable_tv([0.5, 0.5], 10) == 1


@pytest.mark.parametrize(
    ("vocabulary", "samples"), [(2, 10**5), (50, 10**4), (1000, 10**4), (1000, 10**6)], ids=str
)
def test_a_detectable_bias_is_found_and_a_far_smaller_one_is_not(vocabulary: int, samples: int) -> None:
    expected = np.array([0.5, 0.5]) if vocabulary == 2 else law(vocabulary)
    rng, runs = np.random.default_rng(6), 100
    tv = detectable_tv(expected, samples)

    def found(tv: float) -> int:
        hits = 0
        for _ in range(runs):
            r = biased(expected, tv, rng)
            assert np.abs(r - expected).sum() / 2 == pytest.approx(tv)
            hits += log_e_value(rng.multinomial(samples, r), expected) >= math.log(1e9)
        return hits

    assert found(tv) >= 85  # 90 expected at least; below 84 with probability 2 %
    assert found(tv / 2) <= 5


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
        product = sum(log_e_values(c, expected) for c in counts)
        hits += mixture(np.asarray(product)) >= math.log(1e9)
    assert hits >= 40


def test_detection_depends_on_its_arguments_as_it_should() -> None:
    expected = law(30)
    base = detectable_tv(expected, 10**5)
    assert detectable_tv(expected, 4 * 10**5) == pytest.approx(base / 2, rel=0.1)
    assert detectable_tv(expected, 10**5, alpha=0.01) < base < detectable_tv(expected, 10**5, power=0.999)
    assert base < detectable_tv(expected, 10**5, handicap=5)


def test_a_point_mass_is_left_only_through_tokens_of_probability_zero() -> None:
    assert detectable_tv([0.0, 1.0, 0.0], 1000, power=0.9) == pytest.approx(1 - 0.1 ** (1 / 1000))


@pytest.mark.parametrize("size", [0.0, 0.01, 0.1], ids="TV{}".format)
def test_the_tv_bound_covers(size: float) -> None:
    rng, expected, samples, covered = np.random.default_rng(9), law(20), 3000, 0
    for _ in range(300):
        r = biased(expected, size, rng)
        bound = tv_upper_bound(rng.multinomial(samples, r), expected, 0.05)
        covered += bound >= size
    assert covered >= 0.95 * 300


def test_the_tv_bound_needs_its_margin() -> None:
    expected, r, samples = np.array([0.5, 0.5]), np.array([0.7, 0.3]), 3000
    rng = np.random.default_rng(10)
    draws = [rng.multinomial(samples, r) for _ in range(300)]
    assert sum(np.abs(d / samples - expected).sum() / 2 >= 0.2 for d in draws) < 0.95 * 300
    assert sum(tv_upper_bound(d, expected, 0.05) >= 0.2 for d in draws) >= 0.95 * 300
    assert all(tv_upper_bound(d, expected, 0.05) < 0.27 for d in draws)


def test_arguments_are_checked() -> None:
    with pytest.raises(InputError, match="counts: shape"):
        log_e_value([1, 2, 3], [0.5, 0.5])
    with pytest.raises(InputError, match="alpha: 0"):
        detectable_tv([0.5, 0.5], 10, alpha=0)
    with pytest.raises(InputError, match="power: 1"):
        detectable_tv([0.5, 0.5], 10, power=1)
    with pytest.raises(InputError, match="alpha: 1"):
        tv_upper_bound([1, 2], [0.5, 0.5], 1)


# The tests above must fail on a test that is wrong.


def test_a_test_that_exaggerates_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    true = statistics._rising
    monkeypatch.setattr(statistics, "_rising", lambda x, n: true(x, n) * 1.01)
    with pytest.raises(AssertionError):
        test_the_e_value_has_mean_one_under_the_null()
    with pytest.raises(AssertionError):
        test_the_e_value_is_the_dirichlet_marginal_likelihood_ratio()
