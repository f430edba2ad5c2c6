"""E-values against their definition, against scipy, and by simulation with fixed seeds."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from losslesscheck.errors import InputError
from losslesscheck.statistics import CONCENTRATIONS, e_process, log_e_value, log_e_values, mixture
from losslesscheck.statistics.e_process import log_mean
from tests.statistics.laws import (
    biased,
    exact_log_e_value,
    halves,
    law,
    least_favourable,
    log_gamma,
)

CASES = {
    "V4": ([3, 0, 1, 7], [0.4, 0.1, 0.2, 0.3]),
    "nothing": ([0, 0], [0.5, 0.5]),
    "one-sample": ([0, 1, 0], [0.2, 0.3, 0.5]),
    "null-1e12": ([400_000_310_123, 99_999_870_001, 499_999_819_876], [0.4, 0.1, 0.5]),
    "biased-1e12": ([400_100_310_123, 99_999_870_001, 499_899_819_876], [0.4, 0.1, 0.5]),
    "far-off-1e12": ([1, 999_999_999_999], [0.5, 0.5]),
    "rare": ([10**6, 10**6 + 700, 3, 1], [0.5, 0.5, 1e-300, 1e-8]),
    "rare-unseen-1e12": ([500_000_100_000, 499_999_900_000, 0], [0.5, 0.5, 1e-300]),
    "denormal": ([10**9, 10**9, 2, 0], [0.5, 0.5, 5e-324, 1e-310]),
    "sum-off-by-rounding": (
        [333_333_333_000, 333_333_334_000, 333_333_333_000],
        [1 / 3, 1 / 3, 0.3333333333333332],
    ),
    "float32": ([10**8, 2 * 10**8, 7 * 10**8], [float(np.float32(p)) for p in (0.1, 0.2, 0.7)]),
}


def test_the_reference_log_gamma_is_right() -> None:
    assert float(log_gamma(Decimal(101))) == pytest.approx(math.log(math.factorial(100)), rel=1e-15)
    assert float(log_gamma(Decimal("0.5"))) == pytest.approx(math.log(math.pi) / 2, rel=1e-15)
    assert abs(log_gamma(Decimal(2))) < Decimal("1e-40")


@pytest.mark.parametrize("name", CASES)
def test_the_e_value_is_the_dirichlet_marginal_likelihood_ratio(name: str) -> None:
    counts, expected = CASES[name]
    for a, found in zip(CONCENTRATIONS.tolist(), log_e_values(counts, expected), strict=True):
        assert found == pytest.approx(exact_log_e_value(counts, expected, a), rel=1e-12, abs=1e-7)


@pytest.mark.parametrize("samples", [10**4, 10**12], ids="N{:.0e}".format)
def test_many_tokens_lose_no_precision(samples: int) -> None:
    copies, rng = 20_000, np.random.default_rng(1)
    expected = rng.dirichlet(np.full(10, 0.5)) / copies
    counts = rng.poisson(samples * expected)
    found = log_e_values(np.tile(counts, copies), np.tile(expected, copies))
    for place in (0, 6, 11, 16):
        exact = exact_log_e_value(counts.tolist(), expected.tolist(), CONCENTRATIONS[place], copies)
        assert found[place] == pytest.approx(exact, rel=1e-12, abs=1e-6)


def test_the_e_value_is_that_of_scipy() -> None:
    rng, expected = np.random.default_rng(2), law(6)
    counts = rng.multinomial(500, biased(expected, 0.05, rng))
    under_null = stats.multinomial.logpmf(counts, 500, expected)
    for a, found in zip(CONCENTRATIONS, log_e_values(counts, expected), strict=True):
        mixed = stats.dirichlet_multinomial.logpmf(counts, a * expected, 500)
        # scipy's own rounding grows with the concentration
        assert found == pytest.approx(mixed - under_null, abs=1e-8 + 1e-14 * a)


def test_the_e_value_has_mean_one_under_the_null() -> None:
    expected = np.array([0.5, 0.3, 0.2])
    total = np.zeros(len(CONCENTRATIONS))
    mixed = 0.0
    for a in range(9):
        for b in range(9 - a):
            counts = np.array([a, b, 8 - a - b])
            log_p = stats.multinomial.logpmf(counts, 8, expected)
            total += np.exp(log_p + log_e_values(counts, expected))
            mixed += math.exp(log_p + log_e_value(counts, expected))
    assert total == pytest.approx(1, abs=1e-9)
    assert mixed == pytest.approx(1, abs=1e-9)


def test_rows_are_judged_one_by_one() -> None:
    rng = np.random.default_rng(3)
    laws = np.array([law(7, seed) for seed in range(150)])
    counts = rng.multinomial(np.arange(150), laws).reshape(3, 50, 7)
    together = log_e_values(counts, laws.reshape(3, 50, 7))
    assert together.shape == (3, 50, len(CONCENTRATIONS))
    for place in np.ndindex(3, 50):
        alone = log_e_values(counts[place], laws.reshape(3, 50, 7)[place])
        assert together[place] == pytest.approx(alone, abs=1e-11)
    assert log_e_values(counts, laws[0])[2, 49] == pytest.approx(
        log_e_values(counts[2, 49], laws[0]), abs=1e-11
    )
    assert log_e_values(np.zeros((0, 7)), laws[0]).shape == (0, len(CONCENTRATIONS))


def test_the_order_of_tokens_does_not_matter() -> None:
    rng, expected = np.random.default_rng(4), law(40)
    counts = rng.multinomial(200, expected)
    order = rng.permutation(40)
    assert log_e_values(counts[order], expected[order]) == pytest.approx(
        log_e_values(counts, expected), abs=1e-10
    )


def test_a_token_of_probability_zero_settles_it() -> None:
    assert log_e_value([0, 5], [0.5, 0.5]) < math.inf
    assert log_e_value([1, 10**6], [0.0, 1.0]) == math.inf
    assert log_e_value([0, 10**6], [0.0, 1.0]) == pytest.approx(0, abs=1e-9)
    assert np.isposinf(log_e_values([[1, 5], [0, 6]], [0.0, 1.0])).tolist() == [[True] * 17, [False] * 17]


def test_nothing_seen_is_no_evidence() -> None:
    assert log_e_value([0, 0], [0.5, 0.5]) == pytest.approx(0)


def test_the_mean_is_taken_of_e_values_not_of_logarithms() -> None:
    values = np.array([[0.0, 700.0, -50.0], [-800.0, -801.0, -802.0], [1.0, math.inf, 2.0]])
    assert log_mean(values) == pytest.approx(logsumexp(values, axis=1) - math.log(3))
    assert mixture(values[:2]) == pytest.approx(logsumexp(values[:2]) - math.log(6))


@pytest.mark.parametrize("vocabulary", [2, 30], ids="V{}".format)
def test_it_agrees_with_chi_square(vocabulary: int) -> None:
    rng, expected, samples = np.random.default_rng(5), halves(vocabulary), 10**5
    strong = weak = 0
    for tv in np.linspace(0, 0.04, 60):
        counts = rng.multinomial(samples, least_favourable(expected, tv))
        p_value = stats.chisquare(counts, samples * expected).pvalue
        rejected = log_e_value(counts, expected) >= math.log(1e9)
        if p_value < 1e-15:
            strong += 1
            assert rejected
        elif p_value > 1e-9:
            # an e-value of 10⁹ or more has probability 1e-9 at most
            weak += 1
            assert not rejected
    assert strong > 10
    assert weak > 10


@pytest.mark.parametrize("vocabulary", [2, 3], ids="V{}".format)
def test_false_alarms_stay_rare_however_often_one_looks(vocabulary: int) -> None:
    assert false_alarms(vocabulary, looks=500) <= 0.05 * RUNS


RUNS = 2000


def false_alarms(vocabulary: int, looks: int) -> int:
    """In how many of ``RUNS`` runs the test at α = .05 rejects a true law at any look.

    At most 100 on average, by Ville's inequality, and about 25 as it turns out.
    """
    rng, expected = np.random.default_rng(6), law(vocabulary)
    counts = np.zeros((RUNS, vocabulary), dtype=np.int64)
    alarmed = np.zeros(RUNS, dtype=bool)
    for look in range(looks):
        counts += rng.multinomial(1 + look * 50 // looks, expected, size=RUNS)
        alarmed |= e_process.log_mean(e_process.log_e_values(counts, expected)) >= math.log(1 / 0.05)
    return int(alarmed.sum())


def test_arguments_are_checked() -> None:
    for counts, expected in (([1, 2, 3], [0.5, 0.5]), ([[1, 2]], [[[0.5, 0.5]]]), (3, [1.0]), ([], [])):
        with pytest.raises(InputError, match="counts: shape"):
            log_e_values(counts, expected)
    with pytest.raises(InputError, match="counts: shape"):
        log_e_values(np.ones((2, 3)), np.ones((3, 3)))
    with pytest.raises(InputError, match=r"counts: -1\.0 is negative"):
        log_e_value([1, -1], [0.5, 0.5])
    with pytest.raises(InputError, match="expected: nan is negative or not a number"):
        log_e_value([1, 1], [0.5, math.nan])


# The tests above must fail on a test that is wrong.


def test_a_test_that_exaggerates_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    true = e_process.token_terms
    monkeypatch.setattr(e_process, "token_terms", lambda n, p, total: true(n, p, total) * 1.01)
    with pytest.raises(AssertionError):
        test_the_e_value_has_mean_one_under_the_null()
    with pytest.raises(AssertionError):
        test_the_e_value_is_the_dirichlet_marginal_likelihood_ratio("V4")
    with pytest.raises(AssertionError):
        test_the_e_value_is_that_of_scipy()


def test_a_sum_of_e_values_in_place_of_their_mean_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e_process, "log_mean", lambda values, axis=-1: logsumexp(values, axis=axis))
    with pytest.raises(AssertionError):
        test_nothing_seen_is_no_evidence()
    with pytest.raises(AssertionError):
        test_the_e_value_has_mean_one_under_the_null()
    assert false_alarms(2, looks=50) > 0.05 * RUNS


def test_the_largest_e_value_in_place_of_the_mean_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e_process, "log_mean", lambda values, axis=-1: values.max(axis=axis))
    with pytest.raises(AssertionError):
        test_the_e_value_has_mean_one_under_the_null()


def test_a_p_value_that_is_looked_at_again_and_again_raises_false_alarms() -> None:
    rng, expected = np.random.default_rng(6), law(5)
    counts, alarmed = np.zeros((RUNS, 5), dtype=np.int64), np.zeros(RUNS, dtype=bool)
    for look in range(500):
        counts += rng.multinomial(1 + look // 10, expected, size=RUNS)
        alarmed |= stats.chisquare(counts, counts.sum(axis=1, keepdims=True) * expected, axis=1).pvalue < 0.05
    assert alarmed.sum() > 0.3 * RUNS
