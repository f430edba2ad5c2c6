"""Checks of sizes: of the batch, of its rows, of the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from losslesscheck.testing.calls import emit
from losslesscheck.testing.conformance.certain import demand_certain, mixture
from losslesscheck.testing.conformance.check import Check, Trial
from losslesscheck.testing.conformance.coins import MARGIN, calm, settled
from losslesscheck.testing.conformance.inputs import determined, drafted, same, spelled
from losslesscheck.testing.conformance.lane import demand_possible, demand_sound, failure
from losslesscheck.testing.conformance.problems import (
    MANY,
    hot,
    posed,
    rule_of,
    shape,
    too_many_rows,
    without_lengths,
)
from losslesscheck.testing.subject import Subject
from losslesscheck.tree import Tree

LARGE = 1500
"""Rows of a batch that is larger than any block of threads."""

BATCHES = {
    "no rows": 0,
    "one row": 1,
    "three rows": 3,
    "large batch": LARGE,
    "many rows": MANY,
    "no drafts": 64,
    "ragged": 256,
}

VOCABULARIES = (1, 2, 3, 5, 33, 50)


def _size_cases(subject: Subject) -> dict[str, str]:
    fixed = "" if rule_of(subject).takes_tree else f"{rule_of(subject).name} builds its own token tree"
    lengths = without_lengths(subject)
    return {name: too_many_rows(subject, size) for name, size in BATCHES.items()} | {
        "no drafts": fixed,
        "ragged": lengths or fixed,
    }


def sizes(trial: Trial) -> Mapping[str, Any]:
    subject = trial.subject
    tree = Tree() if trial.case == "no drafts" else None
    problems = [hot(subject, number, 5, tree) for number in range(10)]
    if trial.case == "ragged":
        problems = [replace(problem, ragged=True) for problem in problems]
    size = BATCHES[trial.case]
    if size == MANY:
        trial.demand_rows(size)
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
        "sizes",
        "batches of any size, even without rows or drafts, with rows of different lengths",
        sizes,
        _size_cases,
    ),
    Check(
        "vocabulary",
        "vocabularies of any size, and padding at their end",
        vocabulary,
        _vocabulary_cases,
    ),
)
