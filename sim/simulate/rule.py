"""Simulation of a rule on given target and draft: its own text, run for many lanes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from losslesscheck import rules
from losslesscheck.errors import InputError, RuleError
from losslesscheck.instances import uses_draft
from losslesscheck.machines.monte_carlo.lanes import Lanes
from losslesscheck.machines.monte_carlo.lanes import Source as Rows
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.sim.acceptance import rows
from losslesscheck.sim.acceptance.base import IntArray
from losslesscheck.sim.simulate.coins import squares
from losslesscheck.sim.simulate.stopping import Source, simulate
from losslesscheck.sim.tokens.prediction import Prediction
from losslesscheck.testing.drafting import own_tree
from losslesscheck.tree import LONGEST, Tree

LANES = 2**17
"""Steps that are run together: a path of decisions costs as much for few as for many."""

STREAMS = 4
"""Fewer than there may be cores, for the same reason."""

MOST_STEPS = 2**26
"""By default: under a minute at 2 million steps a second, the middle of what rules take."""


def of_rule(
    rule: str | Rule | Callable[..., Any],
    target: rows.Rows,
    draft: rows.Rows | None = None,
    *,
    tree: Tree | None = None,
    precision: float = 1e-2,
    confidence: float = 0.99,
    most_steps: int = MOST_STEPS,
    seed: int = 0,
    threads: int | None = None,
) -> Prediction:
    """Tokens per step of a rule on given models, by the Monte Carlo machine.

    Every step begins at the empty context, so the figure is that of this context (or of rows that hold after
    every context), not an average over texts. What counts as accepted are the emitted tokens but the last.

    Args:
        rule: a rule with its parameters bound, its name, ``file.py:function`` or a function.
        target, draft: over the same V tokens: a row, rows by position, or a model; the draft may be left out
            where the rule never asks for it.
        tree: the token tree; left out, the rule's own.
        precision, confidence, most_steps, seed, threads: see ``stopping.simulate``.

    Raises:
        InputError: if rows, tree or vocabularies do not fit, or a rule that builds its own tree does not say
            how deep it is (``standalone`` does); for the options, as ``stopping.simulate`` says.
        RuleError: if the rule does what no rule may do, or a step reaches an undefined value.

    >>> found = of_rule("chain", [0.5, 0.5], [0.75, 0.25], tree=Tree.chain(2), precision=0.05)
    >>> abs(found.tokens_per_step - 2.3125) < 0.05  # 1 + 3/4 + 9/16
    True
    """
    rule = rules.resolve(rule)
    if rule.name == "standalone" and draft is not None and tree is None:
        rule, draft, tree = _standalone(rule, draft)
    p, q = rows.pair(target, draft)
    if q is None and uses_draft(rule):
        raise InputError(f"draft: {rule.name} asks for the draft's distribution")
    tree = rule.fit(tree, p.vocabulary)
    if not rule.takes_tree:
        raise InputError(f"rule: {rule.name} builds its own token tree, and how deep it may be is not known")
    return simulate(
        Source(_steps(rule, p, q, tree), tree.depth, batch=LANES, streams=STREAMS),
        precision=precision,
        confidence=confidence,
        most_steps=most_steps,
        seed=seed,
        threads=threads,
    )


def standalone(
    target: rows.Rows,
    draft: rows.Rows,
    *,
    steps: int = 3,
    topk: int = 1,
    draft_tokens: int = 4,
    **options: Any,
) -> Prediction:
    """Tokens per step of SGLang's STANDALONE: its tree, verified target-only with both thresholds 1.

    Args:
        target, draft, options: see ``of_rule``.
        steps: ``--speculative-num-steps``, the largest depth of the tree.
        topk: ``--speculative-eagle-topk``.
        draft_tokens: ``--speculative-num-draft-tokens``, nodes of the tree with the root.

    Raises:
        InputError: if fewer tokens are proposed than the tree needs; otherwise as ``of_rule`` does.

    >>> found = standalone([0.5, 0.3, 0.2], [0.1, 0.6, 0.3], steps=1, topk=2, draft_tokens=3, precision=0.05)
    >>> abs(found.tokens_per_step - 1.5) < 0.05  # the tree is the siblings 1 and 2
    True
    """
    rule = rules.get("standalone").bind(steps=steps, topk=topk, draft_tokens=draft_tokens)
    return of_rule(rule, target, draft, **options)


def _standalone(rule: Rule, draft: rows.Rows) -> tuple[Rule, None, Tree]:
    """The rule with the tree worked out: given the draft model nothing in it is random."""
    thresholds = {name: value for name, value in rule.settings.items() if name.startswith("threshold")}
    if (steps := int(rule.settings["steps"])) > LONGEST:
        raise InputError(f"steps: {steps} is above {LONGEST}")
    tree = own_tree(rule, rows.model("draft", draft))
    return rules.get("target_only").bind(**thresholds), None, tree


def _steps(
    rule: Rule, p: Model, q: Model | None, tree: Tree
) -> Callable[[int, np.random.Generator], tuple[IntArray, float]]:
    target = Rows(p)
    draft = target if q is None else Rows(q)

    def draw(steps: int, rng: np.random.Generator) -> tuple[IntArray, float]:
        lengths = np.zeros(tree.depth + 1, dtype=np.int64)

        def count(emitted: list[Any], lanes: int) -> None:
            if len(emitted) > len(lengths):
                raise RuleError(f"{rule.name} emits {len(emitted)} tokens on a tree of depth {tree.depth}")
            lengths[len(emitted) - 1] += lanes

        machine = Lanes(p.vocabulary, rng)
        at_target, at_draft = machine.model(target), machine.model(draft)
        machine.run(lambda: rule.run(machine, at_target, at_draft, tree), steps, count)
        if machine.undefined:
            raise RuleError(f"{rule.name} reaches an undefined value in {machine.undefined} of {steps} steps")
        return lengths, squares(lengths)

    return draw
