"""The sequential test: its looks, what it names, what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from losslesscheck.errors import InputError
from losslesscheck.statistics import (
    Look,
    SequentialTest,
    anytime_tv_bound,
    combined_log_e_value,
    context_weights,
    evidence,
    log_e_value,
    log_e_values,
)
from tests.statistics.laws import halves, least_favourable

CONTEXTS = 50
LENGTHS = np.array([0] + [1] * 7 + [2] * 42)
LAWS = np.array([halves(4, seed) for seed in range(CONTEXTS)])


def run(truth: NDArray[np.float64], seed: int, looks: int = 20, alpha: float = 1e-9) -> list[Look]:
    """The looks of a test of ``LAWS``, each context being reached at random."""
    rng, test = np.random.default_rng(seed), SequentialTest(LAWS, LENGTHS, alpha=alpha)
    counts = np.zeros(LAWS.shape, dtype=np.int64)
    found = []
    for _ in range(looks):
        counts = counts + rng.multinomial(rng.poisson(60, size=CONTEXTS), truth)
        found.append(test.look(counts))
    return found


def with_bias_at(context: int, tv: float) -> NDArray[np.float64]:
    truth = LAWS.copy()
    truth[context] = least_favourable(LAWS[context], tv)
    return truth


def test_a_look_says_what_the_parts_say() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(100, LAWS)
    counts[3] = 0
    look = SequentialTest(LAWS, LENGTHS).look(counts)
    values = log_e_values(counts, LAWS)
    assert look.log_e == look.largest == pytest.approx(combined_log_e_value(values, LENGTHS))
    assert look.alone == pytest.approx([log_e_value(n, p) for n, p in zip(counts, LAWS, strict=True)])
    assert look.alone[3] == pytest.approx(0)
    assert look.worst == int(np.argmax(look.alone))
    assert look.samples == 4900
    assert not look.rejected
    assert look.biased == ()
    bounds = anytime_tv_bound(counts, LAWS, 1e-9 * context_weights(LENGTHS))
    assert look.tv_bounds == pytest.approx(bounds)
    assert look.tv_bounds[3] == 1


def test_one_context_may_be_given_without_its_axis() -> None:
    counts, expected = np.array([40, 60]), np.array([0.5, 0.5])
    flat, table = SequentialTest(expected).look(counts), SequentialTest(expected[None]).look(counts[None])
    assert flat.log_e == table.log_e == pytest.approx(log_e_value(counts, expected))
    assert flat.tv_bounds == table.tv_bounds == anytime_tv_bound(counts, expected, 1e-9)


def test_nothing_seen_says_nothing() -> None:
    look = SequentialTest(LAWS, LENGTHS).look(np.zeros(LAWS.shape))
    assert look.log_e == pytest.approx(0)
    assert look.worst is None
    assert look.samples == 0
    assert (look.tv_bounds == 1).all()


@pytest.mark.parametrize("context", [0, 5, 41], ids="context{}".format)
def test_a_bias_is_named_where_it_sits(context: int) -> None:
    looks = run(with_bias_at(context, 0.3), seed=2)
    assert looks[-1].rejected
    assert looks[-1].biased == (context,)
    assert looks[-1].worst == context
    assert looks[0].biased == ()


def test_rejections_and_names_stick_and_bounds_only_shrink() -> None:
    test = SequentialTest([[0.5, 0.5], [0.5, 0.5]], alpha=0.01)
    first = test.look([[20, 0], [8, 8]])
    assert first.rejected
    assert first.biased == (0,)
    later = test.look([[2000, 1980], [200, 200]])
    assert later.rejected
    assert later.biased == (0,)
    assert later.log_e < 0 < later.largest == first.largest
    assert later.worst == 1
    worse = test.look([[2000, 1980], [200, 300]])
    assert worse.tv_bounds[1] == later.tv_bounds[1] < anytime_tv_bound([200, 300], [0.5, 0.5], 0.01)


def test_a_named_context_is_a_rejection() -> None:
    # The e-value just above its threshold: the combined one is larger still.
    weight = float(context_weights(LENGTHS)[9])
    for place in range(40):
        count = 100 + place
        alone = log_e_value([count, 0], [0.5, 0.5])
        alpha = math.exp(-alone) / weight * 1.0000001
        test = SequentialTest(np.full((CONTEXTS, 2), 0.5), LENGTHS, alpha=alpha)
        counts = np.zeros((CONTEXTS, 2))
        counts[9, 0] = count
        look = test.look(counts)
        assert look.biased == (9,)
        assert look.rejected
        assert look.log_e >= -math.log(alpha) - 1e-6


def test_the_only_context_is_named_whenever_the_test_rejects() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        test, counts = SequentialTest([0.6, 0.4], alpha=0.01), np.zeros(2, dtype=int)
        for _ in range(20):
            counts = counts + rng.multinomial(20, [0.5, 0.5])
            look = test.look(counts)
            assert look.rejected == (look.biased == (0,))


def false_alarms() -> int:
    return sum(run(LAWS, seed, looks=10, alpha=0.05)[-1].rejected for seed in range(200))


def test_false_alarms_stay_rare() -> None:
    assert false_alarms() <= 0.05 * 200


def test_an_impossible_token_rejects_for_good() -> None:
    test = SequentialTest([[1.0, 0.0], [0.5, 0.5]], [0, 1])
    look = test.look([[10, 1], [5, 5]])
    assert look.log_e == math.inf
    assert look.rejected
    assert look.biased == (0,)


def test_laws_may_be_off_by_rounding() -> None:
    expected = np.array([0.1, 0.2, 0.7], dtype=np.float32)
    counts = np.array([10**8, 2 * 10**8, 7 * 10**8])
    exact = SequentialTest([0.1, 0.2, 0.7]).look(counts)
    assert SequentialTest(expected).look(counts).log_e == pytest.approx(exact.log_e, abs=0.01)
    assert SequentialTest(np.array([0.1, 0.2, 0.7]) * 1.000009).look(counts).log_e == pytest.approx(
        exact.log_e
    )


REFUSED = {
    "shape": ([1, 2, 3], r"counts: shape \(3,\) is not \(2,\)"),
    "axis": ([[1, 2]], r"counts: shape \(1, 2\) is not \(2,\)"),
    "negative": ([5, -1], r"counts\[1\] = -1 is not a whole number"),
    "fraction": ([5.5, 3.0], r"counts\[0\] = 5\.5 is not a whole number"),
    "nan": ([5, math.nan], r"counts\[1\] = nan is not a whole number"),
    "shrunk": ([6, 3], r"counts\[1\] = 3 is less than before, 4"),
    "text": (["5", "3"], r"counts: dtype <U1 does not count"),
    "ragged": ([[5], [5, 4]], r"counts: setting an array element"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_counts_that_cannot_be_are_refused_and_do_not_count(name: str) -> None:
    test = SequentialTest([0.5, 0.5])
    test.look([5, 4])
    counts, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        test.look(counts)
    assert test.counts.tolist() == [5, 4]
    assert test.look([6.0, 4.0]).samples == 10


def test_arguments_are_checked() -> None:
    with pytest.raises(InputError, match=r"expected\[0\] sums to 1\.1"):
        SequentialTest([0.5, 0.6])
    with pytest.raises(InputError, match=r"expected\[1, 0\] = nan"):
        SequentialTest([[0.5, 0.5], [math.nan, 1.0]])
    with pytest.raises(InputError, match=r"expected: expected a non-empty array"):
        SequentialTest([])
    with pytest.raises(InputError, match=r"lengths: shape \(1,\) is not \(2,\)"):
        SequentialTest([[0.5, 0.5], [0.5, 0.5]], [0])
    with pytest.raises(InputError, match="alpha: 0 is not"):
        SequentialTest([0.5, 0.5], alpha=0)


# The tests above must fail on a test that is wrong.


def test_names_without_their_weights_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "context_weights", lambda lengths: np.ones(len(lengths)))
    assert false_alarms() > 0.05 * 200
