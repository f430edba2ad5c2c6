"""Predictions: tokens per step, with how they were come by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from losslesscheck.errors import InputError, Undecided
from losslesscheck.sim.acceptance.base import Acceptance, FloatArray, check_drafted, finite
from losslesscheck.sim.acceptance.correlated import Correlated
from losslesscheck.sim.acceptance.exact import SECONDS, AnyRule, accepted_law
from losslesscheck.sim.acceptance.rows import Rows
from losslesscheck.tree import Tree

Method = Literal["closed-form", "exact", "simulated"]
"""``closed-form``: a formula of the acceptances. ``exact``: a rule's law, every path followed, or the long
run of a Markov chain, solved for; both up to the rounding of floats. ``simulated``: by throwing coins."""


@dataclass(frozen=True)
class Prediction:
    """How many tokens a draft-and-verify step emits.

    Attributes:
        tokens_per_step: expected number of emitted tokens: accepted draft tokens + 1.
        method: how it was come by; see ``Method``.
        lengths: the law of the *accepted* draft tokens, P(exactly i), i = 0 … γ; shape [γ + 1].
        interval: for a simulation, a confidence interval of ``tokens_per_step``; else ``None``.
        confidence: of the interval.
        steps: that were simulated.
    """

    tokens_per_step: float
    method: Method
    lengths: FloatArray = field(repr=False)
    interval: tuple[float, float] | None = None
    confidence: float | None = None
    steps: int | None = None


def predict(
    acceptance: Acceptance, *, draft_length: int | None = None, tree: Tree | None = None
) -> Prediction:
    """Tokens per step under an acceptance model, on a chain of ``draft_length`` draft tokens or on a tree.

    1 + Σᵢ P(the first i draft tokens are accepted), or on a tree 1 + Σ over the nodes of P(it is reached).

    Raises:
        InputError: unless exactly one of the two is given, and fits the model.

    >>> from losslesscheck.sim.acceptance import Constant
    >>> predict(Constant(0.5), draft_length=2).tokens_per_step
    1.75
    """
    if not isinstance(acceptance, Acceptance):
        raise InputError(f"acceptance: {acceptance!r} is no acceptance model")
    check_drafted(draft_length, tree)
    if tree is not None:
        lengths = acceptance.tree_lengths(tree)
    else:
        assert draft_length is not None
        lengths = acceptance.lengths(draft_length)
    return _prediction(lengths, "exact" if isinstance(acceptance, Correlated) else "closed-form")


def predict_rule(
    rule: AnyRule,
    target: Rows,
    draft: Rows | None = None,
    *,
    tree: Tree | None = None,
    seconds: float = SECONDS,
    precision: float = 1e-2,
    confidence: float = 0.99,
    most_steps: int = 2**26,
    seed: int = 0,
) -> Prediction:
    """Tokens per step of a rule on given target and draft: exact if that takes no longer than ``seconds``,
    else simulated.

    Args:
        rule: a rule with its parameters bound, its name, ``file.py:function`` or a function.
        target, draft: over the same V tokens: a row, rows by position, or a model; the draft may be left out
            where the rule never asks for it.
        tree: the token tree; left out, the rule's own.
        seconds: at 0 the rule is simulated in any case.
        precision, confidence, most_steps, seed: of the simulation; see ``simulate.of_rule``.

    Raises:
        InputError: if rows, tree or vocabularies do not fit.
        RuleError: if the rule does what no rule may do, or reaches an undefined value.

    >>> predict_rule("chain", [0.5, 0.5], [0.75, 0.25], tree=Tree.chain(1)).tokens_per_step
    1.75
    """
    if finite("seconds", seconds) < 0:
        raise InputError(f"seconds: {seconds} is negative")
    if seconds > 0:
        try:
            law = accepted_law(rule, target, draft, tree=tree, seconds=seconds)
        except Undecided:
            pass
        else:
            return _prediction(np.array([float(chance) for chance in law.lengths]), "exact")
    from losslesscheck.sim.simulate import of_rule

    return of_rule(
        rule,
        target,
        draft,
        tree=tree,
        precision=precision,
        confidence=confidence,
        most_steps=most_steps,
        seed=seed,
    )


def _prediction(lengths: FloatArray, method: Method) -> Prediction:
    return Prediction(1.0 + float(lengths @ np.arange(len(lengths))), method, lengths)
