"""``assert_lossless``: an assertion about an implementation, for a test suite of your own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy.typing as npt

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.testing import cases
from losslesscheck.testing.edges import impossible_token
from losslesscheck.testing.errstate import ours
from losslesscheck.testing.experiment import POWER, Experiment, run, steps_for
from losslesscheck.testing.failure import failure, greedy_failure
from losslesscheck.testing.given import Given
from losslesscheck.testing.greedy import GreedyReport, compare, ending, smaller
from losslesscheck.testing.message import wrapped
from losslesscheck.testing.minimise import minimised
from losslesscheck.testing.options import level, number, whole
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import FACTS, Subject
from losslesscheck.tree import Tree

__all__ = ["GreedyReport", "Report", "assert_lossless"]

KEYWORDS = ("alpha", "min_tv", "samples", "tree", "vocabulary", "target", "draft", "seed", *FACTS)


@dataclass(frozen=True)
class Report:
    """What was established of a rule that throws coins; ``str`` says it in words.

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
        return wrapped(
            f"{e.subject}: no bias in {e.steps:,} steps ({e.problem.rule.name}, {e.problem.name}, tree "
            f"{e.problem.tree}, {e.tokens_per_step:.3f} tokens a step); {said}{untested}. "
            "Only the law was looked at: the conformance suite looks at the rest."
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
) -> Report | GreedyReport:
    """Raises an ``AssertionError`` if an implementation does not emit the law that it should.

    That law is the target's own if the rule is lossless, and the rule's exact law if it is not (as
    ``target_only`` with thresholds below 1).

    A greedy rule throws no coins. It is run on 32 problems, of every kind of rows and with ties, on draft
    tokens of which every number is accepted that can be, and every row must be what the rule emits: one
    that accepts fewer draft tokens fails, though its tokens are right. ``alpha`` and ``min_tv`` mean
    nothing to it, and ``samples`` bounds the number of steps.

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
            position (n is the tree's depth for the draft, and one more for the target), or a
            ``Model``. By default a hard problem: other rows after every context, some
            of them peaked, with zeros, equal, disjoint.
        seed: of everything random.
        **options: what ``Subject`` takes (``array="torch"``, ``dtype=``, ``device=``, ``batch=``), and
            the rule's own parameters.

    Returns:
        What was run: a ``Report`` with the smallest bias that would have been found, of a greedy rule
        a ``GreedyReport`` with the accept lengths that were seen.

    Raises:
        AssertionError: with context, expected and observed law, e-value, TV bound, a minimised case,
            the seed, and how probable the failure is for a correct implementation.
        InputError: for bad arguments, before anything is run.
    """
    subject, bound = _resolved(subject, rule, options)
    alpha = level(alpha)
    if min_tv is not None and samples is not None:
        raise InputError("min_tv: give it or samples, not both")
    if min_tv is not None:
        min_tv = number("min_tv", min_tv)
    if samples is not None:
        samples = whole("samples", samples, exponent=True)
    vocabulary, seed = whole("vocabulary", vocabulary), whole("seed", seed, 0)
    subject.require_device()
    given = Given(subject, bound, tree, vocabulary, target, draft)
    with ours():
        if bound.greedy and bound.takes_tree:
            return _greedy(subject, given, samples, seed)
        problem = given.problem("mixed", seed)
        steps = samples or steps_for(
            problem.rounded(subject.dtype), 1e-3 if min_tv is None else min_tv, alpha
        )
        if subject.injected and (found := impossible_token(subject, problem, seed)):
            raise AssertionError(wrapped(f"{subject.name} is not lossless: {found}"))
        experiment = run(subject, problem, steps=steps, alpha=alpha, seed=seed)
        if experiment.refuted:
            raise AssertionError(failure(experiment, minimised(subject, experiment), sought=True))
        return Report(experiment)


def _greedy(subject: Subject, given: Given, samples: int | None, seed: int) -> GreedyReport:
    others = [kind for kind in cases.KINDS if kind != "ties"]

    def pose(number: int) -> Problem:
        # A third has ties, which hardly any other kind has.
        kind = others[2 * number // 3 % len(others)] if number % 3 else "ties"
        problem = given.problem(kind, seed + number)
        return ending(problem) if number % 8 == 1 and given.target is None else problem

    found = compare(
        subject,
        pose,
        most=samples,
        fixed=bool((given.shape or given.rule.tree).tokens),
        seed=seed,
    )
    if isinstance(found, GreedyReport):
        return found
    raise AssertionError(greedy_failure(subject.name, found, smaller(subject, found.problem), seed))


def _resolved(
    subject: Subject | Callable[..., Any],
    rule: str | Rule | Callable[..., Any] | None,
    options: dict[str, Any],
) -> tuple[Subject, Rule]:
    facts = {name: options.pop(name) for name in FACTS if name in options}
    if isinstance(subject, Subject):
        if facts:
            raise InputError(f"{next(iter(facts))}: the subject says that itself")
    else:
        subject = Subject(subject, **facts)
    bound = subject.rule or rules.get("chain") if rule is None else rules.resolve(rule)
    for name in options:
        close = get_close_matches(name, (*KEYWORDS, *bound.parameters), n=1)
        if name not in bound.parameters and close:
            raise InputError(f"{name}: there is no such argument; did you mean {close[0]}?")
    return subject, bound.bind(**options)
