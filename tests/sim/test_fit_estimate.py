"""Estimates of acceptance, their intervals, and the statement whether one α is enough."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import Acceptance, ByPosition, Constant, Mixed
from losslesscheck.sim.fit import (
    Histogram,
    alpha_of_mean,
    by_position,
    clopper_pearson,
    constant,
    fit,
    from_means,
    goodness_of_fit,
)
from losslesscheck.sim.tokens import predict

Pairs = list[tuple[int, int]]


def sampled(acceptance: Acceptance, steps: int, seed: int, draft_length: int = 4) -> Histogram:
    thrown = acceptance.throw(steps, draft_length, np.random.default_rng(seed))
    return Histogram(tuple(np.bincount(thrown, minlength=draft_length + 1).tolist()))


def expected(acceptance: Acceptance, steps: int, draft_length: int = 4) -> Histogram:
    return Histogram(tuple(round(float(p) * steps) for p in acceptance.lengths(draft_length)))


@pytest.mark.parametrize("tried", [1, 7, 30])
@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_clopper_pearson_tails(tried: int, confidence: float) -> None:
    """At the ends of the interval the counts are just as unlikely as they may be."""
    for accepted in range(tried + 1):
        found = clopper_pearson(accepted, tried, confidence=confidence)
        assert found.low <= found.value <= found.high
        tail = (1 - confidence) / 2
        if accepted:
            assert bdtrc(accepted - 1, tried, found.low) == pytest.approx(tail)
        if accepted < tried:
            assert bdtr(accepted, tried, found.high) == pytest.approx(tail)


def test_clopper_pearson_at_the_ends() -> None:
    assert clopper_pearson(0, 5, confidence=0.9).low == 0
    assert clopper_pearson(5, 5, confidence=0.9).high == 1
    assert clopper_pearson(10**12, 10**12 + 1, confidence=0.9).high <= 1


def outcomes(steps: int, draft_length: int) -> dict[tuple[int, int], Pairs]:
    """(accepted, coins) over all steps → how that comes about: pairs (accepted, steps that rejected)."""
    found: dict[tuple[int, int], int] = {(0, 0): 1}
    for _ in range(steps):
        following: dict[tuple[int, int], int] = {}
        for ((s, r), ways), length in product(found.items(), range(draft_length + 1)):
            key = (s + length, r + (length < draft_length))
            following[key] = following.get(key, 0) + ways
        found = following
    return {(s, s + r): [(r, ways)] for (s, r), ways in found.items()}


@pytest.mark.parametrize(("steps", "draft_length"), [(1, 1), (1, 4), (3, 2), (8, 3), (25, 4)])
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99])
def test_interval_of_one_alpha_covers_in_every_case(steps: int, draft_length: int, confidence: float) -> None:
    """No sampling: the probability of every outcome of so few steps, on a grid of α."""
    alphas = np.concatenate(
        [np.linspace(0.005, 0.995, 199), np.logspace(-6, -3, 7), 1 - np.logspace(-6, -3, 7)]
    )
    covered = np.zeros_like(alphas)
    for (accepted, coins), ways in outcomes(steps, draft_length).items():
        interval = clopper_pearson(accepted, coins, confidence=confidence)
        inside = (interval.low <= alphas) & (alphas <= interval.high)
        for rejected, count in ways:
            covered += inside * count * alphas**accepted * (1 - alphas) ** rejected
    assert covered.min() >= confidence - 1e-9


def test_one_alpha_is_the_most_likely() -> None:
    histogram = Histogram((17, 9, 4, 2, 11))
    found = constant(histogram)

    def likelihood(alpha: float) -> float:
        law = Constant(alpha).lengths(4)
        return float(np.log(law) @ histogram.accepted)

    assert found.accepted == 9 + 2 * 4 + 3 * 2 + 4 * 11
    assert found.tried == found.accepted + 17 + 9 + 4 + 2
    for other in (found.value - 1e-4, found.value + 1e-4):
        assert likelihood(other) < likelihood(found.value)


def test_vector_of_a_known_model() -> None:
    alphas = (0.75, 0.69, 0.67, 0.64)
    found = by_position(expected(ByPosition(alphas), 10**9), confidence=0.99)
    assert [a.value for a in found] == pytest.approx(alphas, abs=1e-8)
    assert all(a.low < alpha < a.high for a, alpha in zip(found, alphas, strict=True))


def test_vector_covers_with_the_family_wise_level() -> None:
    """300 runs at confidence .8: 100 misses or more have probability below 1e-7."""
    alphas = (0.8, 0.6, 0.7, 0.5)
    missed = narrow = 0
    for seed in range(300):
        found = by_position(sampled(ByPosition(alphas), 200, seed), confidence=0.8)
        pairs = list(zip(found, alphas, strict=False))
        missed += not all(a.low <= alpha <= a.high for a, alpha in pairs)
        narrow += not all(abs(a.value - alpha) <= (a.high - a.low) / 5 for a, alpha in pairs)
    assert missed < 100
    assert narrow >= 100  # and intervals that are too narrow would be seen


def test_each_interval_is_wider_than_one_alone() -> None:
    histogram = Histogram((20, 30, 50))
    alone = clopper_pearson(80, 100, confidence=0.95)
    together = by_position(histogram, confidence=0.95)[0]
    assert together.low < alone.low
    assert together.high > alone.high
    assert together == clopper_pearson(80, 100, confidence=0.975)


def test_positions_that_no_step_came_to_are_left_out() -> None:
    found = fit(Histogram((5, 3, 0, 0)))
    assert len(found.alphas) == 2
    assert found.by_position == ByPosition((3 / 8, 0.0))


@pytest.mark.parametrize("name", ["one alpha", "falling", "mixed"])
def test_goodness_of_fit(name: str) -> None:
    models: dict[str, Acceptance] = {
        "one alpha": Constant(0.7),
        "falling": ByPosition((0.75, 0.69, 0.67, 0.64)),
        "mixed": Mixed(0.7, 4.0, per="step"),
    }
    found = goodness_of_fit(expected(models[name], 10**5))
    assert found is not None
    assert found.degrees == 3
    assert found.tokens_by_position == pytest.approx(
        predict(models[name], draft_length=4).tokens_per_step, abs=1e-4
    )
    if name == "one alpha":
        assert found.p_value > 0.99
        assert found.tokens_constant == pytest.approx(found.tokens_by_position, abs=1e-4)
        assert found.statement.startswith("One α = 0.7000 is not refuted (p = 1)")
        assert "does not prove it" in found.statement
    else:
        assert found.p_value < 1e-6
        assert found.statement.startswith("One α does not fit")


def test_g_by_hand() -> None:
    found = goodness_of_fit(Histogram((40, 20, 40)))
    assert found is not None
    alpha = 100 / 160
    g = 2 * sum(
        seen * math.log(seen / (tried * share))
        for seen, tried, share in (
            (60, 100, alpha),
            (40, 100, 1 - alpha),
            (40, 60, alpha),
            (20, 60, 1 - alpha),
        )
    )
    assert found.g == pytest.approx(g)
    assert found.p_value == pytest.approx(math.erfc(math.sqrt(g / 2)))  # χ² of one degree
    assert found.tokens_constant == pytest.approx(1 + alpha + alpha**2)
    assert found.tokens_by_position == pytest.approx(2.0)


def test_p_value_is_uniform_where_one_alpha_holds() -> None:
    """Of 400 p-values 61 or more are below .05 with probability 5e-13 (Poisson of mean 20)."""
    tests = [goodness_of_fit(sampled(Constant(0.8), 2000, seed)) for seed in range(400)]
    p_values = [test.p_value for test in tests if test is not None]
    assert len(p_values) == 400
    assert 1 <= sum(p < 0.05 for p in p_values) < 61
    assert 120 < sum(p < 0.5 for p in p_values) < 280  # eight standard deviations


def test_few_counts_are_said_to_be_few() -> None:
    found = goodness_of_fit(Histogram((6, 1, 1)))
    assert found is not None
    assert "rough" in found.statement
    assert "rests on 2 steps" in found.statement


def test_a_small_difference_is_called_small() -> None:
    found = goodness_of_fit(expected(ByPosition((0.7, 0.699, 0.701, 0.7)), 10**9))
    assert found is not None
    assert found.p_value < 1e-6
    assert "below 1 %" in found.statement


@pytest.mark.parametrize("accepted", [(5, 0, 0), (0, 0, 9), (3, 4)], ids=str)
def test_no_test_where_nothing_could_speak_against_one_alpha(accepted: tuple[int, ...]) -> None:
    found = fit(Histogram(accepted))
    assert found.goodness is None
    assert found.statement.startswith(("Only one position", "All draft tokens"))
    assert 0 <= found.alpha.low <= found.alpha.value <= found.alpha.high <= 1


@pytest.mark.parametrize("draft_length", [1, 3, 40])
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.3, 0.999, 1.0])
def test_alpha_of_mean_inverts_the_closed_form(alpha: float, draft_length: int) -> None:
    mean = predict(Constant(alpha), draft_length=draft_length).tokens_per_step
    assert alpha_of_mean(mean, draft_length=draft_length) == pytest.approx(alpha, abs=1e-9)


def test_chen_chinchilla() -> None:
    """Chen et al.: 2.83, 3.04 and 3.72 tokens a loop with K = 4 mean α = .71, .75, .85."""
    found = [round(alpha_of_mean(mean, draft_length=4), 2) for mean in (2.83, 3.04, 3.72)]
    assert found == pytest.approx([0.71, 0.75, 0.85], abs=0.011)


def test_from_means_weighs() -> None:
    found = from_means([1.0, 2.0], draft_length=1, weights=[1.0, 3.0])
    assert found.tokens_per_step == 1.75
    assert found.alpha == pytest.approx(0.75)
    assert (found.windows, found.lowest, found.highest) == (2, 1.0, 2.0)
    assert "no goodness of fit" in found.notes[-1]


def test_bad_input() -> None:
    with pytest.raises(InputError, match="tried: 0"):
        clopper_pearson(0, 0, confidence=0.9)
    with pytest.raises(InputError, match="accepted: 3 of 2"):
        clopper_pearson(3, 2, confidence=0.9)
    with pytest.raises(InputError, match="confidence: 1"):
        fit(Histogram((1, 2)), confidence=1)
    with pytest.raises(InputError, match=r"tokens_per_step: 0.8 .*bonus token left out"):
        alpha_of_mean(0.8, draft_length=3)
    with pytest.raises(InputError, match=r"tokens_per_step: 4.1 .*more draft tokens"):
        alpha_of_mean(4.1, draft_length=3)
    with pytest.raises(InputError, match="not finite"):
        alpha_of_mean(float("nan"), draft_length=3)
    with pytest.raises(InputError, match="means: there is none"):
        from_means([], draft_length=3)
