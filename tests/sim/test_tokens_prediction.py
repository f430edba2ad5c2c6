"""Predictions: the value, the law of accepted lengths and how they were come by."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.instances import sampling_models
from losslesscheck.sim.acceptance import (
    Acceptance,
    ByPosition,
    BySibling,
    Constant,
    Correlated,
    Mixed,
)
from losslesscheck.sim.acceptance.exact import accepted_law
from losslesscheck.sim.tokens import closed_forms, predict, predict_rule
from losslesscheck.tree import Tree

P, Q = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)], [Fraction(1, 10), Fraction(3, 5), Fraction(3, 10)]


@pytest.mark.parametrize(
    ("acceptance", "expected"),
    [
        (Constant(0.8), 3.3616),
        (ByPosition((0.75, 0.69, 0.67, 0.64)), 1 + 0.75 * (1 + 0.69 * (1 + 0.67 * (1 + 0.64)))),
        (Mixed(0.8, 3.0), 3.3616),
        (Mixed(0.5, 2.0, per="step"), 1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5),
        (BySibling(((0.8, 0.1),)), 3.3616),
    ],
    ids=["constant", "by-position", "mixed-token", "mixed-step", "by-sibling"],
)
def test_chains(acceptance: Acceptance, expected: float) -> None:
    found = predict(acceptance, draft_length=4)
    assert found.tokens_per_step == pytest.approx(expected, rel=1e-14)
    assert found.method == "closed-form"
    assert (found.interval, found.confidence, found.steps) == (None, None, None)
    assert found.lengths.shape == (5,)
    assert 1 + found.lengths @ np.arange(5) == pytest.approx(expected)


def test_a_tree_sums_over_its_nodes() -> None:
    rows = ((0.5, 0.25), (0.4, 0.1))
    found = predict(BySibling(rows), tree=Tree.from_parents([-1, -1, 1, 1]))
    assert found.tokens_per_step == pytest.approx(1 + 0.5 + 0.25 + 0.25 * 0.4 + 0.25 * 0.1)


def test_a_markov_chain_is_solved_for() -> None:
    found = predict(Correlated((0.9, 0.3), ((0.95, 0.05), (0.2, 0.8))), draft_length=3)
    assert found.method == "exact"


def test_draft_length_0_emits_the_target_s_own_token() -> None:
    assert predict(Constant(0.8), draft_length=0).tokens_per_step == 1
    assert predict(Constant(0.8), tree=Tree()).tokens_per_step == 1


def test_the_closed_form_of_constant_acceptance() -> None:
    for alpha in (0.0, 0.3, 0.99, 1.0):
        for draft_length in (0, 1, 7, 200):
            found = predict(Constant(alpha), draft_length=draft_length).tokens_per_step
            assert found == pytest.approx(closed_forms.chain(alpha, draft_length=draft_length), rel=1e-12)


@pytest.mark.parametrize("name", rules.names())
def test_a_rule_on_given_distributions(name: str) -> None:
    found = predict_rule(name, P, Q)
    law = accepted_law(name, P, Q)
    assert found.method == "exact"
    assert found.tokens_per_step == pytest.approx(float(law.tokens_per_step), rel=1e-14)
    assert found.lengths == pytest.approx([float(x) for x in law.lengths])
    assert found.interval is None


def test_what_takes_too_long_is_simulated() -> None:
    """The interval misses the true value with probability at most 1e-6, were the seed another."""
    target, draft = sampling_models(rules.get("chain"), Tree.chain(2), 3, seed=4)
    exact = predict_rule("block_verification", target, draft)
    found = predict_rule(
        "block_verification", target, draft, seconds=0, precision=0.05, confidence=1 - 1e-6, seed=1
    )
    assert found.method == "simulated"
    assert found.interval is not None
    assert found.interval[0] <= exact.tokens_per_step <= found.interval[1]
    assert found.lengths.shape == exact.lengths.shape


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "neither": (lambda: predict(Constant(0.5)), "draft_length: give either a draft length or a tree"),
    "both": (
        lambda: predict(Constant(0.5), draft_length=1, tree=Tree.chain(1)),
        "draft_length: give either a draft length or a tree",
    ),
    "no-model": (lambda: predict(0.5, draft_length=1), "acceptance: 0.5 is no acceptance model"),  # type: ignore[arg-type]
    "no-tree": (lambda: predict(Constant(0.5), tree=3), "tree: 3 is no token tree"),  # type: ignore[arg-type]
    "negative": (lambda: predict(Constant(0.5), draft_length=-1), "draft_length: -1 is below 0"),
    "seconds": (lambda: predict_rule("chain", P, Q, seconds=-1), "seconds: -1 is negative"),
    "rule": (
        lambda: predict_rule("chian", P, Q),
        "rule: there is no rule 'chian'; did you mean chain?",
    ),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message
