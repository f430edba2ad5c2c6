"""The two-sample test: against its definition, against chi², and by simulation with fixed seeds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from losslesscheck.errors import InputError
from losslesscheck.statistics import (
    CONCENTRATIONS,
    TwoSampleTest,
    anytime_two_sample_tv_bound,
    combined_log_e_value,
    log_e_values,
    samples_needed,
    two_sample,
    two_sample_log_e_values,
)
from losslesscheck.statistics.e_process import log_mean
from tests.statistics.laws import halves, law, least_favourable


@pytest.mark.parametrize("share", [0.5, 0.75])
def test_the_e_value_is_the_mean_over_priors(share: float) -> None:
    first, second = [3, 0, 1, 7, 2], [5, 2, 0, 1, 0]
    found = two_sample_log_e_values(first, second, share)
    c, few = Fraction(share), Fraction(1, 6)
    largest = Fraction(13, 21) ** 13 * Fraction(8, 21) ** 8
    for place, a in enumerate(CONCENTRATIONS.tolist()):
        x, y = Fraction(a) * c, Fraction(a) * (1 - c)
        every = some = 1 / largest
        for n, m in zip(first, second, strict=True):
            slab = rising(x, n) * rising(y, m) / rising(x + y, n + m)
            every *= slab
            some *= few * slab + (1 - few) * c**n * (1 - c) ** m
        assert found[place] == pytest.approx(math.log(every), abs=1e-10)
        assert found[len(CONCENTRATIONS) + place] == pytest.approx(math.log(some), abs=1e-10)


def rising(x: Fraction, n: int) -> Fraction:
    return math.prod((x + i for i in range(n)), start=Fraction(1))


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (5, 1)], ids=str)
def test_the_e_value_has_mean_at_most_one_under_any_common_law(sizes: tuple[int, int], share: float) -> None:
    outcomes = [
        [np.array(n) for n in itertools.product(range(size + 1), repeat=3) if sum(n) == size]
        for size in sizes
    ]
    pairs = list(itertools.product(*outcomes))
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    values = np.exp(two_sample_log_e_values(first, second, share))
    for p in ([1 / 3, 1 / 3, 1 / 3], [0.9, 0.05, 0.05], [0.6, 0.4, 0.0], [1.0, 0.0, 0.0], law(3)):
        weight = stats.multinomial.pmf(first, sizes[0], p) * stats.multinomial.pmf(second, sizes[1], p)
        assert weight.sum() == pytest.approx(1)
        mean = weight @ values
        assert (mean <= 1 + 1e-9).all()
        if sizes == (3, 3) and share == 0.5:
            assert mean.max() > 0.9


def test_rows_are_judged_one_by_one() -> None:
    rng = np.random.default_rng(0)
    first = rng.poisson(3, size=(4, 30, 5)) * (rng.random((4, 30, 1)) < 0.9)
    second = rng.poisson(3, size=(4, 30, 5))
    together = two_sample_log_e_values(first, second)
    assert together.shape == (4, 30, 34)
    for place in np.ndindex(4, 30):
        assert together[place] == pytest.approx(
            two_sample_log_e_values(first[place], second[place]), abs=1e-10
        )


def test_the_samples_may_be_swapped() -> None:
    first, second = [10, 20, 30], [30, 5, 2]
    there = two_sample_log_e_values(first, second, 0.3)
    assert there == pytest.approx(two_sample_log_e_values(second, first, 0.7), abs=1e-10)


def test_large_counts_lose_no_precision() -> None:
    first, second = [10**12 + 10**6, 10**12], [10**12 - 10**6, 10**12]
    trials = log_e_values(np.array([first, second]).T, [0.5, 0.5]).sum(axis=0)
    null = -2 * (10**6) ** 2 / (4 * 10**12)
    found = two_sample_log_e_values(first, second)[: len(CONCENTRATIONS)]
    assert found == pytest.approx(trials + null, abs=1e-8)


def test_one_sample_is_no_evidence() -> None:
    assert log_mean(two_sample_log_e_values([10, 20, 30], [0, 0, 0])) < 0
    assert two_sample_log_e_values([0, 0], [0, 0]) == pytest.approx(np.zeros(34), abs=1e-12)


RUNS = 2000


def alarms(first: NDArray[np.float64], second: NDArray[np.float64], looks: int, plan: str) -> int:
    """In how many of ``RUNS`` runs the test at α = .05 rejects at any look.

    The batches of the two samples are equal, or random and of different mean, or depend on what was
    seen: the sample that has more of token 0 goes on alone for as long as it has.
    """
    rng = np.random.default_rng(1)
    n, m = np.zeros((2, RUNS, len(first)), dtype=np.int64)
    alarmed = np.zeros(RUNS, dtype=bool)
    for look in range(looks):
        size = np.full(RUNS, 1 + look * 50 // looks)
        sizes = (size, size)
        if plan == "random":
            sizes = (rng.poisson(size), rng.poisson(2 * size))
        elif plan == "adaptive":
            ahead = n[:, 0] * m.sum(axis=1) > m[:, 0] * n.sum(axis=1)
            sizes = (np.where(ahead, 2 * size, 1), np.where(ahead, 1, 2 * size))
        n += rng.multinomial(sizes[0], first)
        m += rng.multinomial(sizes[1], second)
        alarmed |= log_mean(two_sample.two_sample_log_e_values(n, m)) >= math.log(1 / 0.05)
    return int(alarmed.sum())


@pytest.mark.parametrize(("plan", "looks"), [("equal", 500), ("random", 60), ("adaptive", 60)])
def test_false_alarms_stay_rare_however_often_one_looks(plan: str, looks: int) -> None:
    expected = np.array([0.7, 0.3])
    assert alarms(expected, expected, looks, plan) <= 0.05 * RUNS


@pytest.mark.parametrize("vocabulary", [2, 20], ids="V{}".format)
def test_it_agrees_with_chi_square(vocabulary: int) -> None:
    rng, expected, samples = np.random.default_rng(2), halves(vocabulary), 10**5
    strong = weak = 0
    for tv in np.linspace(0, 0.05, 60):
        first = rng.multinomial(samples, expected)
        second = rng.multinomial(samples, least_favourable(expected, tv))
        p_value = stats.contingency.chi2_contingency([first, second], correction=False).pvalue
        rejected = log_mean(two_sample_log_e_values(first, second)) >= math.log(1e9)
        if p_value < 1e-16:
            strong += 1
            assert rejected
        elif p_value > 1e-9:
            weak += 1
            assert not rejected
    assert strong > 10
    assert weak > 10


def power(vocabulary: int, tv: float, sizes: tuple[int, int], runs: int = 400) -> float:
    expected, rng = halves(vocabulary), np.random.default_rng(3)
    first = rng.multinomial(sizes[0], expected, size=runs)
    second = rng.multinomial(sizes[1], least_favourable(expected, tv), size=runs)
    values = two_sample_log_e_values(first, second, sizes[0] / sum(sizes))
    return float((log_mean(values) >= math.log(1e9)).mean())


@pytest.mark.parametrize("times", [(2, 2), (5, 1.25)], ids=str)
@pytest.mark.parametrize(("vocabulary", "tv"), [(8, 0.0031), (32, 0.0031), (32, 0.0016)], ids=str)
def test_the_power_is_that_of_a_known_law_with_fewer_samples(
    vocabulary: int, tv: float, times: tuple[float, float]
) -> None:
    samples = samples_needed(halves(vocabulary), tv)
    enough = (round(times[0] * samples), round(times[1] * samples))
    assert enough[0] * enough[1] / sum(enough) == pytest.approx(samples)
    # about .9; .8 is 6 standard deviations of a share of 400 below
    assert power(vocabulary, tv, enough) >= 0.8
    assert power(vocabulary, tv, (enough[0] // 2, enough[1] // 2)) < 0.4


def test_a_bias_on_two_of_a_thousand_tokens_is_not_drowned() -> None:
    expected, rng, samples = np.full(1000, 0.001), np.random.default_rng(4), 10**6
    r = expected.copy()
    r[[10, 20]] += [4e-4, -4e-4]
    first, second = rng.multinomial(samples, expected), rng.multinomial(samples, r)
    values = two_sample_log_e_values(first, second)
    assert log_mean(values) >= math.log(1e9)
    assert log_mean(values[: len(CONCENTRATIONS)]) < 5


def test_adding_batches_is_as_adding_their_sum() -> None:
    rng, lengths = np.random.default_rng(5), [0, 1, 1]
    test = TwoSampleTest(vocabulary=4, contexts=3, lengths=lengths, share=0.4)
    first, second = rng.poisson(5, size=(2, 6, 3, 4))
    for a, b in zip(first, second, strict=True):
        look = test.add(a, b)
    n, m = first.sum(axis=0), second.sum(axis=0)
    values = two_sample_log_e_values(n, m, 0.4)
    assert look.log_e == pytest.approx(combined_log_e_value(values, np.array(lengths)))
    assert look.alone == pytest.approx(log_mean(values))
    assert look.samples == n.sum() + m.sum()
    assert test.first.tolist() == n.tolist()
    level = 1e-9 / 12
    assert look.tv_bounds[1] <= anytime_two_sample_tv_bound(n[1], m[1], level)
    one = TwoSampleTest(vocabulary=4, contexts=3, lengths=lengths, share=0.4).add(n, m)
    assert one.log_e == look.log_e
    assert one.tv_bounds[1] == anytime_two_sample_tv_bound(n[1], m[1], level)


def test_a_bias_is_named_where_it_sits() -> None:
    rng = np.random.default_rng(6)
    laws = np.array([halves(4, seed) for seed in range(30)])
    other = laws.copy()
    other[11] = least_favourable(laws[11], 0.3)
    test = TwoSampleTest(vocabulary=4, contexts=30, lengths=[0] + [1] * 29)
    for _ in range(20):
        look = test.add(
            rng.multinomial(rng.poisson(50, 30), laws), rng.multinomial(rng.poisson(50, 30), other)
        )
    assert look.rejected
    assert look.biased == (11,)
    assert look.worst == 11


def test_arguments_are_checked() -> None:
    for name in ("vocabulary", "contexts"):
        with pytest.raises(InputError, match=f"{name}: 0 is less than 1"):
            TwoSampleTest(**{"vocabulary": 2, name: 0})
    with pytest.raises(InputError, match="share: 1 is not"):
        TwoSampleTest(vocabulary=2, share=1)
    with pytest.raises(InputError, match="alpha: 2 is not"):
        TwoSampleTest(vocabulary=2, alpha=2)
    with pytest.raises(InputError, match="lengths: shape"):
        TwoSampleTest(vocabulary=2, lengths=[0, 1])
    with pytest.raises(InputError, match="first: shape"):
        two_sample_log_e_values([1, 2], [1, 2, 3])
    test = TwoSampleTest(vocabulary=2)
    with pytest.raises(InputError, match=r"second\[1\] = -2 is not a whole number"):
        test.add([5, 5], [5, -2])
    with pytest.raises(InputError, match=r"first: shape \(3,\) is not \(2,\)"):
        test.add([5, 5, 5], [5, 2])
    assert test.first.sum() == 0
    assert test.add([[5, 5]], [5, 2]).samples == 17


# The tests above must fail on a test that is wrong.


def test_a_null_law_that_is_not_the_largest_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_sample, "_divergence", lambda sizes, shares: 0.0)
    expected = np.array([0.7, 0.3])
    assert alarms(expected, expected, 50, "random") > 0.05 * RUNS
    with pytest.raises(AssertionError):
        test_the_e_value_has_mean_at_most_one_under_any_common_law((2, 4), 0.8)


def test_spikes_without_their_price_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "logaddexp", np.maximum)
    with pytest.raises(AssertionError):
        test_the_e_value_is_the_mean_over_priors(0.5)
