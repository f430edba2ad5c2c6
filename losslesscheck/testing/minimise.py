"""A smaller problem on which a subject fails too: few tokens, short trees, simple fractions."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from losslesscheck import instances
from losslesscheck.errors import InputError
from losslesscheck.testing.experiment import Experiment, run
from losslesscheck.testing.problem import Problem, of_instance
from losslesscheck.testing.subject import Subject, SubjectError
from losslesscheck.tree import Tree

STEPS = 2**15
"""Steps on each of the smaller problems: enough for the bias that a fault has on its worst input."""

CANDIDATES = 200
SECONDS = 20.0
VOCABULARIES = (2, 3)
SHAPES = ((1,), (2,), (1, 1))
DENOMINATORS = (1, 2, 3, 4)


Found = TypeVar("Found")


def minimised(subject: Subject, failed: Experiment) -> Experiment | None:
    """The first of the smaller problems that refutes the subject, at the level of the one that failed."""

    def refuted(candidate: Problem) -> Experiment | None:
        found = run(subject, candidate, steps=STEPS, alpha=failed.alpha, seed=failed.seed)
        return found if found.refuted else None

    return first_smaller(failed.problem, refuted)


def first_smaller(problem: Problem, judged: Callable[[Problem], Found | None]) -> Found | None:
    """What is found on the first of the smaller problems, simplest first, on which anything is.

    A subject that does not bear a problem (a vocabulary that is too small for a kernel) is asked the next
    one. The search ends after some 20 s.
    """
    started = time.monotonic()
    for candidate in itertools.islice(_smaller(problem), CANDIDATES):
        if time.monotonic() - started > SECONDS:
            return None
        try:
            found = judged(candidate)
        except (InputError, SubjectError):
            continue
        if found is not None:
            return found
    return None


def _smaller(problem: Problem) -> Iterator[Problem]:
    rule = problem.rule
    if not rule.takes_tree:
        return
    vocabularies = [v for v in VOCABULARIES if v < problem.vocabulary]
    trees = [
        rule.fit(Tree.regular(shape), max(shape))
        for shape in SHAPES
        if len(shape) <= problem.tree.depth and max(shape) <= problem.tree.width
    ]
    for denominator in DENOMINATORS:
        for instance in instances.small(rule, trees, vocabularies, denominator):
            yield of_instance(rule, instance)
        for tree in trees:
            for instance in instances.by_position(rule, tree, min(denominator, 2)):
                yield of_instance(rule, instance)
