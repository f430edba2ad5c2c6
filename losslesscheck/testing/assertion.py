"""``assert_lossless``: an assertion about an implementation, for a test suite of your own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.testing import cases
from losslesscheck.testing.edges import impossible_token
from losslesscheck.testing.experiment import POWER, Experiment, run, steps_for
from losslesscheck.testing.message import odds, place, table
from losslesscheck.testing.minimise import minimised
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Subject
from losslesscheck.tree import Tree


@dataclass(frozen=True)
class Report:
    """What was established; ``str`` says it in words.

    Attributes:
        experiment: the experiment behind it.
    """

    experiment: Experiment

    @property
    def detectable_tv(self) -> float:
        """A bias of the first token of at least this size, in TV, would have been found with probability
        .9; 1 if not even one of 1/2 would."""
        return self.experiment.detectable_tv

    def __str__(self) -> str:
        e = self.experiment
        found = f"a bias of TV {self.detectable_tv:.2g} of the first token would have been found with"
        said = f"{found} probability {POWER:g}" if self.detectable_tv < 1 else "too few to find anything"
        untested = f"; {e.unjudged:,} tokens were not tested" if e.unjudged else ""
        return (
            f"{e.subject}: no bias in {e.steps:,} steps ({e.problem.rule.name}, {e.problem.name}, tree "
            f"{e.problem.tree}, {e.tokens_per_step:.3f} tokens a step); {said}{untested}"
        )


def assert_lossless(
    subject: Subject | Callable[..., Any],
    rule: str | Rule | Callable[..., Any] | None = None,
    *,
    alpha: float = 1e-9,
    min_tv: float | None = None,
    samples: int | None = None,
    tree: Tree | Sequence[int] | None = None,
    vocabulary: int = 8,
    target: npt.ArrayLike | Model | None = None,
    draft: npt.ArrayLike | Model | None = None,
    seed: int = 0,
    **options: Any,
) -> Report:
    """Raises an ``AssertionError`` if an implementation does not emit the law that it should.

    That law is the target's own if the rule is lossless, and the rule's exact law if it is not (as
    ``target_only`` with thresholds below 1).

    Args:
        subject: a function or other callable, see ``losslesscheck.testing.subject`` for what it may
            ask for; or a ``Subject``.
        rule: what it implements, by name; it says how the drafts are made. By default the subject's
            own, or ``chain``.
        alpha: bound on the probability that a correct implementation fails.
        min_tv: the run is long enough to find a bias of the first token of this size, in TV, with
            probability .9; 1e-3 by default.
        samples: draft-and-verify steps, instead of ``min_tv``.
        tree: a token tree, or its widths by depth such as ``(2, 1)``; by default the rule's own.
        vocabulary: number of tokens V, where no target is given.
        target, draft: distributions to run it on: a row [V] for all contexts, rows [n, V] by
            position, or a ``Model``. By default a hard problem: other rows after every context, some
            of them peaked, with zeros, equal, disjoint.
        seed: of everything random.
        **options: what ``Subject`` takes (``array="torch"``, ``dtype=``, ``device=``, ``batch=``), and
            the rule's own parameters.

    Returns:
        What was run, and the smallest bias that would have been found.

    Raises:
        AssertionError: with context, expected and observed law, e-value, TV bound, a minimised case,
            the seed, and how probable the failure is for a correct implementation.
        InputError: for bad arguments, before anything is run.
    """
    subject, bound = _resolved(subject, rule, options)
    if not 0 < alpha < 1:
        raise InputError(f"alpha: {alpha} is not between 0 and 1")
    if min_tv is not None and samples is not None:
        raise InputError("min_tv: give it or samples, not both")
    if samples is not None and (samples < 1 or samples != int(samples)):
        raise InputError(f"samples: {samples} is not a positive whole number")
    if seed < 0:
        raise InputError(f"seed: {seed} is negative")
    problem = _problem(subject, bound, tree, vocabulary, target, draft, seed)
    steps = int(samples or 0) or steps_for(
        problem.rounded(subject.dtype), 1e-3 if min_tv is None else min_tv, alpha
    )
    if subject.injected and (found := impossible_token(subject, problem, seed)):
        raise AssertionError(f"{subject.name} is not lossless: {found}. No chance is involved.")
    experiment = run(subject, problem, steps=steps, alpha=alpha, seed=seed)
    if experiment.refuted:
        raise AssertionError(failure(experiment, minimised(subject, experiment)))
    return Report(experiment)


def _resolved(
    subject: Subject | Callable[..., Any],
    rule: str | Rule | Callable[..., Any] | None,
    options: dict[str, Any],
) -> tuple[Subject, Rule]:
    facts = {name: options.pop(name) for name in ("array", "dtype", "device", "batch") if name in options}
    if isinstance(subject, Subject):
        if facts:
            raise InputError(f"{next(iter(facts))}: the subject says that itself")
    else:
        subject = Subject(subject, **facts)
    bound = subject.rule or rules.get("chain") if rule is None else rules.resolve(rule)
    return subject, bound.bind(**options)


def _problem(
    subject: Subject,
    rule: Rule,
    tree: Tree | Sequence[int] | None,
    vocabulary: int,
    target: npt.ArrayLike | Model | None,
    draft: npt.ArrayLike | Model | None,
    seed: int,
) -> Problem:
    shape = Tree.regular(tuple(tree)) if tree is not None and not isinstance(tree, Tree) else tree
    if shape is None and "parents" not in subject.takes and rule.takes_tree:
        shape = Tree.chain(rule.tree.depth)
    made = cases.problem(rule, "mixed", vocabulary=vocabulary, tree=shape, seed=seed)
    if target is None:
        if draft is not None:
            raise InputError("draft: a draft without a target")
        return made
    p = _model(target, "target")
    if made.draft is None and draft is not None:
        raise InputError(f"draft: {rule.name} fixes its draft tokens in the tree")
    if made.draft is not None and draft is None:
        raise InputError(f"draft: {rule.name} needs one besides the target")
    q = None if draft is None else _model(draft, "draft")
    chosen = rule.fit(made.tree if rule.takes_tree else None, p.vocabulary)
    return Problem(f"given rows, V = {p.vocabulary}", rule, p, q, chosen)


def _model(rows: npt.ArrayLike | Model, name: str) -> Model:
    if isinstance(rows, Model):
        return rows
    return Model.positions(np.atleast_2d(np.asarray(rows, dtype=np.float64)), name)


def failure(experiment: Experiment, smaller: Experiment | None) -> str:
    """What a failed assertion says."""
    rule = experiment.problem.rule
    whose = "the target's greedy decoding" if rule.greedy else "the target's law"
    if not rule.claims_lossless:
        whose = f"the law of {rule.name}"
    lines = [f"{experiment.subject} does not reproduce {whose}.", ""]
    lines += _evidence(experiment)
    if smaller is not None:
        lines += ["", "A smaller case:", *_rows(smaller.problem), *_evidence(smaller)]
    lines += [
        "",
        f"A correct implementation fails here with probability at most {experiment.alpha:.0e}.",
    ]
    return "\n".join(lines)


def _evidence(experiment: Experiment) -> list[str]:
    problem = experiment.problem
    worst = (experiment.biased or experiment.contexts)[0]
    lines = [
        f"{problem.rule.name} on {problem.name}, tree {problem.tree}, seed {experiment.seed}: "
        f"{experiment.steps:,} steps",
        f"Next token {place(worst.context)} ({worst.samples:,} times):",
        *table({"expected": worst.expected, "observed": worst.observed}),
        f"  TV {worst.tv:.4g} observed; of the first token at most {experiment.tv_bound:.4g}",
        f"e-value {odds(experiment.log_e)}; a correct implementation ever reaches "
        f"{odds(-math.log(experiment.alpha))} with probability {experiment.alpha:.0e}",
    ]
    others = [c for c in experiment.biased if c is not worst]
    if others:
        named = ", ".join(place(c.context) for c in others[:3])
        lines.append(f"Also biased {named}" + (f" and {len(others) - 3} more" if len(others) > 3 else ""))
    return lines


def _rows(problem: Problem) -> list[str]:
    """The rows of a small problem, if they are the same after every context."""
    lines = []
    for letter, model in (("p", problem.target), ("q", problem.draft)):
        if model is not None and model.count == 1:
            row = ", ".join(str(value.limit_denominator(1000)) for value in model.exact(()))
            lines.append(f"  {letter} = ({row}) after every context")
    return lines
