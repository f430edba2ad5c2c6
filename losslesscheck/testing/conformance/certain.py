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
from losslesscheck.testing.conformance.check import Check, Inapplicable, Trial
from losslesscheck.testing.conformance.coins import MARGIN, calm, settled
from losslesscheck.testing.conformance.inputs import (
    determined,
    drafted,
    emit,
    hot,
    posed,
    rule_of,
    same,
    sequence,
    shape,
    spelled,
    stacked,
    truncated,
    without_lengths,
)
from losslesscheck.testing.conformance.lane import demand_possible, demand_sound, failure
from losslesscheck.testing.edges import extreme
from losslesscheck.testing.experiment import Laws
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Batch, Emitted, Subject
from losslesscheck.tree import Tree

PROBLEMS = 8
"""Problems whose rows stand in one batch, each with tokens of its own."""

ROWS = 32
"""Rows of each of them."""

LARGE = 1500
"""Rows of a batch that is larger than any block of threads."""

VOCABULARIES = (1, 2, 3, 5, 33, 50)

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


def certain(trial: Trial) -> Mapping[str, Any]:
    subject, seed = trial.subject, trial.seed
    if trial.case == "point masses":
        problems = [hot(subject, number, 5) for number in range(10)]
    else:
        problems = [
            posed(subject, trial.case, seed=seed + number, vocabulary=SEVERAL) for number in range(PROBLEMS)
        ]
    mixed = mixture(subject, problems, ROWS, seed)
    # The residuals of a one-hot draft are quotients, so that a ratio that should be 1 may round.
    batches = [calm(mixed.batch, MARGIN[subject.dtype])]
    if subject.injected and trial.case != "one-hot draft":
        batches.append(extreme(mixed.batch, np.random.default_rng([seed, 2])))
    for batch in batches:
        emitted = emit(subject, batch)
        demand_sound(trial, batch, emitted)
        demand_certain(trial, mixed, batch, emitted)
    return {"rows": mixed.batch.size}


def _size_cases(subject: Subject) -> dict[str, str]:
    fixed = "" if rule_of(subject).takes_tree else f"{rule_of(subject).name} builds its own token tree"
    lengths = without_lengths(subject)
    small = f"takes {subject.batch} rows at a time" if subject.batch is not None else ""
    return {
        "no rows": "",
        "one row": "",
        "three rows": small if (subject.batch or 3) < 3 else "",
        "large batch": small if (subject.batch or LARGE) < LARGE else "",
        "no drafts": fixed,
        "ragged": lengths or fixed,
    }


BATCHES = {"no rows": 0, "one row": 1, "three rows": 3, "large batch": LARGE, "no drafts": 64, "ragged": 256}


def sizes(trial: Trial) -> Mapping[str, Any]:
    subject = trial.subject
    tree = Tree() if trial.case == "no drafts" else None
    problems = [hot(subject, number, 5, tree) for number in range(10)]
    if trial.case == "ragged":
        problems = [replace(problem, ragged=True) for problem in problems]
    size = BATCHES[trial.case]
    mixed = mixture(subject, problems, -(-size // len(problems)), trial.seed)
    batch = mixed.batch.rows(slice(size))
    emitted = emit(subject, batch)
    demand_sound(trial, batch, emitted)
    demand_certain(trial, mixed, batch, emitted)
    return {"rows": size}


def _vocabulary_cases(subject: Subject) -> dict[str, str]:
    return {str(size): _too_small(subject, size) for size in VOCABULARIES} | {"padded": ""}


def _too_small(subject: Subject, vocabulary: int) -> str:
    rule, tree = rule_of(subject), shape(subject, vocabulary)
    if tree is None and int(rule.settings.get("topk", 1)) > vocabulary:
        return f"{rule.name} drafts {rule.settings['topk']} siblings"
    tokens = set() if tree is None else tree.tokens
    return "the rule's token tree has other tokens" if max(tokens, default=0) >= vocabulary else ""


def vocabulary(trial: Trial) -> Mapping[str, Any]:
    subject = trial.subject
    if trial.case == "padded":
        return _padded(trial)
    size = int(trial.case)
    # The first tokens, and the last: those that a kernel loses that takes several at a time.
    tokens = sorted({*range(min(size, 4)), *range(max(size - 6, 0), size)})
    problems = [hot(subject, number, size) for token in tokens for number in (token, token + size)]
    mixed = mixture(subject, problems, 4, trial.seed)
    emitted = emit(subject, mixed.batch)
    demand_sound(trial, mixed.batch, emitted)
    demand_certain(trial, mixed, mixed.batch, emitted)
    for kind in ("dense", "sparse"):
        batch = drafted(subject, posed(subject, kind, seed=trial.seed, vocabulary=size), 256, trial.seed)
        demand_sound(trial, batch, emit(subject, batch))
    return {}


def _padded(trial: Trial) -> Mapping[str, Any]:
    """Tokens of probability 0 in both models change nothing."""
    subject = trial.subject
    for kind in ("dense", "sparse", "zero tail", "one-hot target"):
        problem = posed(subject, kind, seed=trial.seed, vocabulary=5)
        batch = calm(drafted(subject, problem, trial.rows(256), trial.seed), MARGIN[subject.dtype])
        plain = emit(subject, batch)
        for more in (3, 27):
            wider = [(0, 0), (0, 0), (0, more)]
            padded = replace(batch, target=np.pad(batch.target, wider), draft=np.pad(batch.draft, wider))
            emitted = emit(subject, padded)
            demand_possible(trial, padded, emitted, f"The last {more} tokens are padding.")
            if not determined(subject):
                continue
            (changed,) = np.nonzero(~same(plain, emitted) & settled(subject, padded, emitted))
            if len(changed):
                row = int(changed[0])
                raise failure(
                    trial,
                    padded,
                    emitted,
                    row,
                    f"another outcome with {more} tokens of probability 0 at the end of the vocabulary",
                    f"Without them it is {spelled(plain, row)}.",
                )
    return {}


CHECKS = (
    Check(
        "certain",
        "what the rule does whatever the coins are, for rows on different tokens in one batch",
        certain,
        lambda subject: dict.fromkeys((*KINDS, "point masses"), ""),
    ),
    Check("sizes", "batches of any size, without drafts, with rows of different lengths", sizes, _size_cases),
    Check(
        "vocabulary",
        "vocabularies of any size, and padding at their end",
        vocabulary,
        _vocabulary_cases,
    ),
)
