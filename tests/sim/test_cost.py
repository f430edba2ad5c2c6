"""Speedup, operations, drafters and steps against the formulas written out."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from losslesscheck.errors import InputError
from losslesscheck.sim.cost import (
    Cost,
    Draft,
    Linear,
    Measured,
    Parallel,
    Sequential,
    exact,
    implied_c,
    operations_factor,
    speedup,
)
from losslesscheck.tree import Tree


def test_theorem_3_8_and_3_11_on_arrays_agree_with_fractions() -> None:
    alphas, lengths, costs = (Fraction(1, 3), Fraction(4, 5)), (1, 5), (Fraction(0), Fraction(1, 20))
    tokens = np.array([[float(exact.tokens(a, n)) for n in lengths] for a in alphas])
    for c in costs:
        np.testing.assert_allclose(
            speedup(tokens, draft_length=lengths, c=float(c)),
            [[float(exact.speedup(a, n, c)) for n in lengths] for a in alphas],
        )
        np.testing.assert_allclose(
            operations_factor(tokens, draft_length=lengths, c_hat=float(c)),
            [[float(exact.operations_factor(a, n, c)) for n in lengths] for a in alphas],
        )


def test_exact_tokens_is_the_sum_of_powers() -> None:
    assert exact.tokens(Fraction(1), 7) == 8
    assert exact.tokens(Fraction(0), 7) == 1
    alpha = Fraction(2, 7)
    assert exact.tokens(alpha, 5) == (1 - alpha**6) / (1 - alpha)


def test_corollary_3_9_some_draft_length_improves_iff_alpha_exceeds_c() -> None:
    for alpha in (0.1, 0.4, 0.8):
        for c in (0.05, 0.3, 0.7):
            tokens = np.cumsum(alpha ** np.arange(60))
            best = np.max(speedup(tokens, draft_length=np.arange(60), c=c))
            if alpha > c:
                assert best >= (1 + alpha) / (1 + c) > 1
            else:
                assert best == 1.0


def test_implied_c_inverts_the_speedup() -> None:
    gained = speedup(3.3, draft_length=4, c=0.07)
    assert implied_c(3.3, draft_length=4, speedup=gained) == pytest.approx(0.07)
    assert implied_c(2.0, draft_length=4, speedup=2.5) == pytest.approx(-0.05)


def test_a_tree_costs_its_verification_and_its_depth() -> None:
    """Sequoia's G(n, d) / (t(n) + d c), through the models and through the formula."""
    cost = Cost(Measured((1, 130), (24.2, 26.0)), Sequential(Linear(0.5)))
    tree = Tree.regular((4, 4, 2))
    verify = (24.2 + 1.8 * tree.size / 129) / 24.2
    expected = speedup(3.1, draft_length=3, c=0.5 / 24.2, verify=verify)
    assert cost.speedup(3.1, Draft.of(tree)) == pytest.approx(expected)


def test_passes_of_a_tree_take_in_the_nodes_with_children() -> None:
    uneven = Tree.from_parents([-1, -1, 0, 0, 2])
    assert Draft.of(uneven) == Draft((1, 1, 1), 5)
    assert Draft.of(Tree.regular((3, 2, 1))) == Draft((1, 3, 6), 15)
    assert Draft.of(Tree.chain(4)) == Draft.chain(4)


def test_sequential_drafting_adds_up_its_passes() -> None:
    drafter = Sequential(Linear(1.0, per_token=0.1, per_context=0.01))
    time = drafter.seconds(Draft((1, 3, 6), 15), batch=2, context=10)
    assert time == pytest.approx(3 * (1 + 2 * 10 * 0.01) + 0.1 * 2 * (1 + 3 + 6))


def test_parallel_heads_cost_one_pass_whatever_they_draft() -> None:
    drafter = Parallel(Linear(0.25))
    times = [drafter.seconds(Draft.chain(length)) for length in (1, 5, 100)]
    assert times == [0.25, 0.25, 0.25]
    assert drafter.seconds(Draft.of(Tree.regular((8, 4)))) == 0.25


def test_drafting_nothing_is_free_and_gains_nothing() -> None:
    for drafter in (Sequential(Linear(0.3)), Parallel(Linear(0.3))):
        cost = Cost(Linear(1.0, per_token=0.1), drafter)
        assert drafter.seconds(Draft.chain(0)) == 0.0
        assert cost.speedup(1.0, Draft.chain(0), batch=7) == 1.0


def test_the_window_bounds_the_drafters_context() -> None:
    drafter = Sequential(Linear(1.0, per_context=0.01), window=100)
    times = drafter.seconds(Draft.chain(2), context=[50, 100, 5000])
    np.testing.assert_allclose(times, [3.0, 4.0, 4.0])


def test_goodput_is_the_batchs_tokens_over_the_steps_time() -> None:
    cost = Cost(Linear(10.0, per_token=0.5), Sequential(Linear(1.0)))
    batch = np.array([1, 4, 16])
    step = 3 * 1.0 + 10 + 0.5 * batch * 4
    np.testing.assert_allclose(cost.goodput(2.5, Draft.chain(3), batch=batch), batch * 2.5 / step)
    np.testing.assert_allclose(
        cost.speedup(2.5, Draft.chain(3), batch=batch),
        np.asarray(cost.goodput(2.5, Draft.chain(3), batch=batch))
        / np.asarray(cost.goodput(1.0, Draft.chain(0), batch=batch)),
    )


def test_relative_cost_is_leviathans() -> None:
    cost = Cost.relative(0.11)
    assert cost.c() == pytest.approx(0.11)
    assert cost.speedup(2.5, Draft.chain(7), batch=9, context=400) == pytest.approx(
        speedup(2.5, draft_length=7, c=0.11)
    )


def test_measured_times_are_interpolated_by_the_tokens_of_the_batch() -> None:
    model = Measured((1, 11, 21), (1.0, 2.0, 2.5))
    np.testing.assert_allclose(model.seconds([1, 6, 7], batch=3), [1.2, 1.7 + 0.65, 2.5])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: speedup(2, draft_length=3, c=-0.1), "c: -0.1 is below 0"),
        (lambda: speedup([2, float("nan")], draft_length=3, c=0), "tokens_per_step[1]: nan is not finite"),
        (lambda: speedup(0.5, draft_length=3, c=0), "tokens_per_step: 0.5 is below 1"),
        (lambda: speedup(2, draft_length=3, c="x"), "c: 'x' is no number and no array of numbers"),
        (lambda: speedup(2, draft_length=[[1, 2], [3, -1]], c=0), "draft_length[1, 1]: -1 is below 0"),
        (lambda: operations_factor(2, draft_length=3, c_hat=-1), "c_hat: -1 is below 0"),
        (lambda: exact.tokens(Fraction(3, 2), 2), "alpha: 3/2 is outside [0, 1]"),
        (lambda: exact.speedup(Fraction(1, 2), 2, Fraction(-1)), "c: -1 is negative"),
        (lambda: Linear(-1.0), "fixed: -1 is below 0"),
        (lambda: Linear(1.0).seconds(0), "tokens: 0 is below 1"),
        (lambda: Linear(1.0).seconds(1, batch=0), "batch: 0 is below 1"),
        (lambda: Linear(1.0).seconds(1, context=float("inf")), "context: inf is not finite"),
        (lambda: Measured((1, 1), (2, 3)), "tokens[1]: 1 does not ascend"),
        (lambda: Measured((1, 2), (2,)), "times: 1 for 2 numbers of tokens"),
        (lambda: Measured((1, 2), (2, 3)).seconds(3), "tokens: 3 in a batch were not measured (1 to 2)"),
        (lambda: Measured((), ()), "tokens: it is empty"),
        (lambda: Cost(1.0, Sequential(Linear(1.0))), "target: 1.0 is no Pass"),  # type: ignore[arg-type]
        (lambda: Cost(Linear(1.0), Linear(1.0)), "drafter: Linear("),  # type: ignore[arg-type]
        (lambda: Sequential(Linear(1.0), window=0), "window: 0 is below 1"),
        (lambda: Cost.relative(-0.2), "c: -0.2 is below 0"),
        (lambda: Cost.relative(0.2).speedup(6, Draft.chain(4)), "tokens_per_step: 6 is above 5"),
        (lambda: Draft((), 3), "passes: none, for 3 draft tokens"),
        (lambda: Draft((1, 0), 3), "passes[1]: 0 is below 1"),
        (lambda: Draft.chain(-1), "draft_length: -1 is below 0"),
        (lambda: Draft.of(Tree()), "tree: it has no draft tokens"),
        (lambda: Draft.of((2, 2)), "tree: (2, 2) is no token tree"),  # type: ignore[arg-type]
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_named(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=f"^{re.escape(message)}") as failure:
        call()
    assert "\n" not in str(failure.value)
