"""Checks of outcomes that are certain, or impossible, whatever the coins are.

What is certain is read off the rule's exact law on small problems: a sequence that has probability 0
there must not be emitted. The problems are such that rounding cannot change that: all their ratios
p/q are 0, 1, or far from both, and exact in every dtype.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from losslesscheck.errors import InputError, RuleError
from losslesscheck.testing.batch import stacked
from losslesscheck.testing.calls import emit
from losslesscheck.testing.conformance.check import Check, Inapplicable, Trial
from losslesscheck.testing.conformance.coins import MARGIN, calm
from losslesscheck.testing.conformance.inputs import drafted, reordered, sequence, truncated
from losslesscheck.testing.conformance.lane import demand_sound, failure
from losslesscheck.testing.conformance.problems import FOREST, hot, posed, unfit
from losslesscheck.testing.edges import extreme
from losslesscheck.testing.experiment import Laws
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Batch, Emitted, Subject

PROBLEMS = 8
"""Problems whose rows stand in one batch, each with tokens of its own."""

ROWS = 32
"""Rows of each of them."""

SEVERAL = 3
"""The vocabulary where it does not matter."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """A batch with rows of several problems.

    Attributes:
        problems: the problems.
        of: the problem of every row, shape [B].
    """

    batch: Batch
    problems: Sequence[Problem]
    of: Any


def mixture(subject: Subject, problems: Sequence[Problem], rows: int, seed: int) -> Mixture:
    """``rows`` rows of each of the problems, neighbours from different ones."""
    batch = stacked([drafted(subject, p, rows, seed + place) for place, p in enumerate(problems)])
    order = np.arange(len(problems) * rows).reshape(len(problems), rows).T.ravel()
    return Mixture(batch.rows(order), problems, order // max(rows, 1))


def demand_certain(trial: Trial, mixed: Mixture, batch: Batch, emitted: Emitted) -> None:
    """Raises a ``Failure`` if a row is a sequence that the rule emits with probability 0."""
    possible: dict[tuple[int, int], dict[tuple[int, ...], float]] = {}
    for row in range(batch.size):
        key = int(mixed.of[row]), int(batch.lengths[row])
        if key not in possible:
            possible[key] = law(mixed.problems[key[0]], key[1])
        if sequence(emitted, row) not in possible[key]:
            raise failure(
                trial, batch, emitted, row, "this has probability 0", _instead(trial, possible[key])
            )


def _instead(trial: Trial, sequences: Mapping[tuple[int, ...], float]) -> str:
    shown = [" ".join(map(str, one)) for one in sorted(sequences, key=lambda s: (len(s), s))]
    listed = ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")
    what = "nothing but" if len(shown) == 1 else "one of"
    return f"For these p and q {trial.rule.name} emits {what}: {listed}."


def law(problem: Problem, count: int) -> dict[tuple[int, ...], float]:
    """The exact law of the emitted sequence with the first ``count`` draft tokens of the tree.

    Raises:
        Inapplicable: where the rule has none.
    """
    if count < problem.tree.size:
        problem = replace(problem, tree=truncated(problem.tree, count))
    try:
        return Laws(problem).sequences
    except RuleError:
        raise
    except InputError as error:
        raise Inapplicable(str(error)) from None


KINDS = ("p = q", "disjoint", "one-hot target", "one-hot draft")


def _cases(subject: Subject) -> dict[str, str]:
    return dict.fromkeys((*KINDS, "point masses"), "") | {"different trees": unfit(subject, FOREST[-1])}


def certain(trial: Trial) -> Mapping[str, Any]:
    subject, seed = trial.subject, trial.seed
    if trial.case == "point masses":
        problems = [hot(subject, number, 5) for number in range(10)]
    elif trial.case == "different trees":
        # The tokens are such that every tree has rows that accept and rows that reject.
        trees = [FOREST[number % len(FOREST)] for number in range(2 * len(FOREST))]
        problems = [hot(subject, number, len(FOREST), tree) for number, tree in enumerate(trees)]
    else:
        problems = [
            posed(subject, trial.case, seed=seed + number, vocabulary=SEVERAL) for number in range(PROBLEMS)
        ]
    mixed = mixture(subject, problems, ROWS, seed)
    if trial.case == "different trees":
        mixed = replace(mixed, batch=reordered(mixed.batch, np.random.default_rng([seed, 3])))
    # The residuals of a one-hot draft are quotients, so that a ratio that should be 1 may round.
    batches = [calm(mixed.batch, MARGIN[subject.dtype])]
    if subject.injected and trial.case != "one-hot draft":
        batches.append(extreme(mixed.batch, np.random.default_rng([seed, 2])))
    for batch in batches:
        emitted = emit(subject, batch)
        demand_sound(trial, batch, emitted)
        demand_certain(trial, mixed, batch, emitted)
    return {"rows": mixed.batch.size}


CHECKS = (
    Check(
        "certain",
        "what the rule does whatever the coins are, for rows on different tokens in one batch",
        certain,
        _cases,
    ),
)
