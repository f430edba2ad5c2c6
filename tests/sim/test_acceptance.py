"""Acceptance models: their laws against independent computations, their coins against their laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import roots_jacobi

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import (
    Acceptance,
    ByPosition,
    BySibling,
    Constant,
    Correlated,
    Mixed,
)
from losslesscheck.tree import Tree

TREES = {
    "chain": Tree.chain(3),
    "regular": Tree.regular((3, 2, 1)),
    "irregular": Tree.from_parents([-1, -1, 0, 0, 0, 2, 5]),
}

STICKY = Correlated((0.9, 0.3), ((0.95, 0.05), (0.2, 0.8)))

MODELS: dict[str, Acceptance] = {
    "constant": Constant(0.7),
    "by-position": ByPosition((0.8, 0.6, 0.3, 0.5)),
    "by-sibling": BySibling(((0.5, 0.2, 0.1), (0.4, 0.3, 0.2))),
    "mixed-token": Mixed(0.6, 1.5),
    "mixed-step": Mixed(0.6, 1.5, per="step"),
    "correlated": STICKY,
}

Throw = Callable[[Acceptance, int, np.random.Generator], Any]


def test_constant_on_a_chain() -> None:
    assert Constant(0.5).lengths(3).tolist() == [0.5, 0.25, 0.125, 0.125]
    assert Constant(0).lengths(2).tolist() == [1, 0, 0]
    assert Constant(1).lengths(2).tolist() == [0, 0, 1]
    assert Constant(Fraction(1, 2)).lengths(0).tolist() == [1]  # type: ignore[arg-type]


def test_by_position_multiplies() -> None:
    assert ByPosition((0.75, 0.5, 0.5)).reach(3).tolist() == [0.75, 0.375, 0.1875]
    assert ByPosition((0.75, 0.5, 0.5)).reach(1).tolist() == [0.75]


def test_the_last_row_of_siblings_serves_deeper_nodes() -> None:
    model = BySibling(((0.5, 0.25), (0.4, 0.1)))
    assert model.siblings(0, 2).tolist() == [0.5, 0.25]
    assert model.siblings(7, 1).tolist() == [0.4]
    assert model.reach(3) == pytest.approx([0.5, 0.2, 0.08], rel=1e-15)


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_law_of_lengths_is_a_distribution(model: Acceptance, tree: Tree) -> None:
    law = model.tree_lengths(tree)
    assert law.shape == (tree.depth + 1,)
    assert law.min() >= 0
    assert law.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_chain_is_a_tree_of_width_one(model: Acceptance) -> None:
    law = model.lengths(3)
    assert law == pytest.approx(model.tree_lengths(Tree.chain(3)), abs=1e-14)
    assert model.reach(3) == pytest.approx([law[i:].sum() for i in (1, 2, 3)], abs=1e-14)


def test_a_tree_of_constant_acceptance() -> None:
    law = Constant(0.5).tree_lengths(Tree.from_parents([-1, -1, 1]))  # a leaf tried first, then a chain of 2
    assert law.tolist() == [0.25, 0.5 + 0.125, 0.125]


def beta_average(mean: float, concentration: float, value: Callable[[float], Any]) -> Any:
    """E[value(β)], exact for polynomials of degree up to 59 (Gauss–Jacobi quadrature)."""
    a, b = mean * concentration, (1 - mean) * concentration
    nodes, weights = roots_jacobi(30, b - 1, a - 1)
    return sum(w * value((x + 1) / 2) for x, w in zip(nodes, weights / weights.sum(), strict=True))


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@pytest.mark.parametrize(("mean", "concentration"), [(0.6, 1.5), (0.9, 0.2), (0.5, 40.0)])
def test_mixed_per_step_averages_constants(mean: float, concentration: float, tree: Tree) -> None:
    expected = beta_average(mean, concentration, lambda beta: Constant(beta).tree_lengths(tree))
    assert Mixed(mean, concentration, per="step").tree_lengths(tree) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("per", ["token", "step"])
def test_mixed_siblings_average_the_node(per: Any) -> None:
    expected = beta_average(0.6, 1.5, lambda beta: Constant(beta).siblings(0, 4))
    assert Mixed(0.6, 1.5, per=per).siblings(0, 4) == pytest.approx(expected, abs=1e-12)


def test_mixed_per_token_is_constant_on_a_chain() -> None:
    assert Mixed(0.6, 0.1).lengths(5) == pytest.approx(Constant(0.6).lengths(5), abs=1e-15)


@pytest.mark.parametrize("per", ["token", "step"])
@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_mixed_without_variance(mean: float, per: Any) -> None:
    model = Mixed(mean, 2.0, per=per)
    assert model.lengths(2).tolist() == Constant(mean).lengths(2).tolist()
    assert set(model.throw(10, 2, np.random.default_rng(0)).tolist()) == {2 * int(mean)}


def long_run(model: Correlated, draft_length: int) -> Any:
    """The law of accepted draft tokens from another chain: (state, drafts accepted so far) by token."""
    states = len(model.alphas)
    place = {(s, i): s * (draft_length + 1) + i for s in range(states) for i in range(draft_length + 1)}
    kernel = np.zeros((len(place), len(place)))
    ends = np.zeros((draft_length + 1, len(place)))
    for (s, i), here in place.items():
        accept = model.alphas[s] if i < draft_length else 0.0
        ends[i, here] = 1 - accept
        for t, move in enumerate(model.transition[s]):
            if i < draft_length:
                kernel[here, place[t, i + 1]] += accept * move
            kernel[here, place[t, 0]] += (1 - accept) * move
    system = np.vstack([kernel.T - np.eye(len(place)), np.ones(len(place))])
    tokens = np.linalg.lstsq(system, np.append(np.zeros(len(place)), 1.0), rcond=None)[0]
    counts = ends @ tokens
    return counts / counts.sum()


@pytest.mark.parametrize("draft_length", [0, 1, 2, 5])
@pytest.mark.parametrize(
    "model",
    [
        STICKY,
        Correlated((0.9, 0.5, 0.0), ((0.1, 0.9, 0.0), (0.0, 0.2, 0.8), (0.5, 0.0, 0.5))),
        Correlated((0.9, 0.2), ((0.0, 1.0), (1.0, 0.0))),
        Correlated((0.1, 0.7), ((0.5, 0.5), (0.0, 1.0))),
    ],
    ids=["sticky", "three-states", "periodic", "absorbing"],
)
def test_correlated_is_the_long_run_of_the_tokens(model: Correlated, draft_length: int) -> None:
    assert model.lengths(draft_length) == pytest.approx(long_run(model, draft_length), abs=1e-12)


def test_equal_acceptances_have_no_memory() -> None:
    model = Correlated((0.6, 0.6), ((0.9, 0.1), (0.3, 0.7)))
    tree = TREES["irregular"]
    assert model.tree_lengths(tree) == pytest.approx(Constant(0.6).tree_lengths(tree), abs=1e-14)


def test_steps_begin_more_often_in_bad_states() -> None:
    tokens_in_good_states = 0.2 / 0.25
    marginal = tokens_in_good_states * 0.9 + (1 - tokens_in_good_states) * 0.3
    assert STICKY.reach(4)[0] < marginal - 0.02


def test_states_that_fall_apart_are_refused() -> None:
    model = Correlated((0.9, 0.3), ((1.0, 0.0), (0.0, 1.0)))
    with pytest.raises(InputError, match=r"^transition: the states fall apart"):
        model.lengths(2)


def test_a_chain_that_hardly_mixes_keeps_its_digits() -> None:
    model = Correlated((0.5, 0.5), ((1 - 1e-10, 1e-10), (3e-10, 1 - 3e-10)))
    assert model.start(Tree.chain(0)) == pytest.approx([0.75, 0.25], rel=1e-6)


STEPS = 40_000


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_coins_follow_the_law(model: Acceptance, tree: Tree) -> None:
    """With independent steps another seed fails with probability at most 5 · 1e-7 (Hoeffding, five cells).

    For the correlated model the steps depend on one another and the bound is not proved.
    """
    law = model.tree_lengths(tree)
    rng = np.random.default_rng(7)
    accepted = model.throw(STEPS, tree.depth, rng) if tree.width == 1 else model.throw_tree(STEPS, tree, rng)
    observed = np.bincount(accepted, minlength=len(law)) / STEPS
    bound = math.sqrt(math.log(2 / 1e-7) / (2 * STEPS))
    assert np.abs(observed - law).max() < bound


def test_the_bound_on_coins_notices_a_wrong_model() -> None:
    accepted = Constant(0.68).throw(STEPS, 3, np.random.default_rng(7))
    observed = np.bincount(accepted, minlength=4) / STEPS
    assert np.abs(observed - Constant(0.7).lengths(3)).max() > math.sqrt(math.log(2 / 1e-7) / (2 * STEPS))


def test_a_sequence_carries_its_state_on() -> None:
    """Steps of a sticky chain resemble the ones before; of independent steps the correlation of neighbours
    has a standard deviation of 0.005."""
    accepted = STICKY.throw(STEPS, 3, np.random.default_rng(3))
    assert np.corrcoef(accepted[:-1], accepted[1:])[0, 1] > 0.1
    independent = Constant(0.7).throw(STEPS, 3, np.random.default_rng(3))
    assert abs(np.corrcoef(independent[:-1], independent[1:])[0, 1]) < 0.03


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "alpha-above": (lambda: Constant(1.5), "alpha: 1.5 is outside [0, 1]"),
    "alpha-nan": (lambda: Constant(math.nan), "alpha: nan is not finite"),
    "alpha-text": (lambda: Constant("0.5"), "alpha: '0.5' is not a number"),  # type: ignore[arg-type]
    "alphas-empty": (lambda: ByPosition(()), "alphas: it is empty"),
    "alphas-number": (lambda: ByPosition(0.5), "alphas: 0.5 is not a vector"),  # type: ignore[arg-type]
    "alphas-negative": (lambda: ByPosition((0.5, -0.1)), "alphas[1]: -0.1 is outside [0, 1]"),
    "alphas-too-few": (
        lambda: ByPosition((0.5,)).lengths(2),
        "alphas: 1 are given, but position 2 is asked for",
    ),
    "rows-empty": (lambda: BySibling(()), "rows: it is empty"),
    "rows-empty-row": (lambda: BySibling(((0.5,), ())), "rows[1]: it is empty"),
    "rows-flat": (lambda: BySibling((0.5, 0.5)), "rows[0]: 0.5 is not a vector"),  # type: ignore[arg-type]
    "rows-above-one": (
        lambda: BySibling(((0.5,), (0.7, 0.4))),
        "rows[1]: it sums to 1.1, which is above 1",
    ),
    "rows-too-narrow": (
        lambda: BySibling(((0.5, 0.2),)).tree_lengths(Tree.regular((3,))),
        "rows: at depth 0 there are 2 siblings, 3 are asked for",
    ),
    "mean": (lambda: Mixed(-0.1, 1.0), "mean: -0.1 is outside [0, 1]"),
    "concentration": (lambda: Mixed(0.5, 0.0), "concentration: 0.0 is not positive"),
    "concentration-infinite": (lambda: Mixed(0.5, math.inf), "concentration: inf is not finite"),
    "per": (lambda: Mixed(0.5, 1.0, per="node"), "per: 'node' is neither 'token' nor 'step'"),  # type: ignore[arg-type]
    "transition-rows": (
        lambda: Correlated((0.5, 0.5), ((1.0, 0.0),)),
        "transition: it has 1 rows for 2 states",
    ),
    "transition-entries": (
        lambda: Correlated((0.5, 0.5), ((1.0, 0.0), (1.0,))),
        "transition[1]: it has 1 entries for 2 states",
    ),
    "transition-sum": (
        lambda: Correlated((0.5, 0.5), ((0.5, 0.5), (0.5, 0.4))),
        "transition[1]: it sums to 0.9, not to 1",
    ),
    "transition-nan": (
        lambda: Correlated((0.5,), ((math.nan,),)),
        "transition[0][0]: nan is not finite",
    ),
    "draft-length": (lambda: Constant(0.5).lengths(-1), "draft_length: -1 is below 0"),
    "draft-length-float": (
        lambda: Constant(0.5).lengths(2.0),  # type: ignore[arg-type]
        "draft_length: 2.0 is not an integer",
    ),
    "steps": (lambda: Constant(0.5).throw(-1, 2, np.random.default_rng()), "steps: -1 is below 0"),
}


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == message


def test_siblings_that_have_no_law_of_their_own_are_refused() -> None:
    with pytest.raises(InputError, match="per='step'"):
        Mixed(0.5, 1.0, per="step").siblings(1, 2)
    with pytest.raises(InputError, match="tree_lengths"):
        STICKY.siblings(0, 1)


def test_models_can_be_compared_and_hashed() -> None:
    assert ByPosition([0.5, 0.25]) == ByPosition((0.5, 0.25))  # type: ignore[arg-type]
    assert len({Constant(0.5), Constant(0.5), BySibling(((0.5,),))}) == 2
    assert ByPosition(np.array([0.5])).alphas == (0.5,)  # type: ignore[arg-type]
