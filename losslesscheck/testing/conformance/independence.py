"""The check that rows of a batch, and calls with different seeds, throw coins of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.model import Model
from losslesscheck.statistics import SequentialTest
from losslesscheck.testing.conformance.certain import law
from losslesscheck.testing.conformance.check import Check, Failure, Trial
from losslesscheck.testing.conformance.inputs import rule_of, with_models
from losslesscheck.testing.conformance.sequential import detectable_tv, log10, steps_for
from losslesscheck.testing.drafting import Drafter
from losslesscheck.testing.experiment import looked_at
from losslesscheck.testing.message import odds
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Subject

BATCH = 2048
"""Rows of a call: more than there are threads in a block."""

TARGET = (1 / 4, 1 / 4, 1 / 2, 0)
"""The target's row after every context."""

DRAFTS = {"accept test": 2, "last draw": 3}
"""The draft's only token. Token 2 is accepted by every other coin; token 3 never is, so that the first
token emitted is drawn with another coin."""


def _cases(subject: Subject) -> dict[str, str]:
    skip = ""
    if subject.injected:
        skip = "its coins are injected: see rows"
    elif rule_of(subject).greedy:
        skip = "greedy decoding throws no coins"
    single = "takes one row at a time" if subject.batch == 1 else ""
    return {"rows": skip or single, "calls": skip}


def independence(trial: Trial) -> Mapping[str, Any]:
    """Pairs of first tokens against p ⊗ p, for rows at several distances or the same row of two calls."""
    subject, settings = trial.subject, trial.settings
    problems = [_problem(subject, token) for token in DRAFTS.values()]
    firsts = [_first(problem) for problem in problems]
    size = min(BATCH, subject.batch or BATCH)
    distances = _distances(size) if trial.case == "rows" else [0]
    contexts = [(place, distance) for distance in distances for place in range(len(problems))]
    expected = np.array([np.outer(firsts[place], firsts[place]).ravel() for place, _ in contexts])
    each = trial.level / len(contexts)  # its share of the evidence
    pairs = settings.samples or len(contexts) * steps_for(expected[0], settings.min_tv, each)
    found = np.zeros(expected.shape, dtype=np.int64)
    drafters = [Drafter(problem, subject.dtype) for problem in problems]
    rng, turn = np.random.default_rng([trial.seed, 2]), count()

    def first_tokens(place: int) -> npt.NDArray[np.int64]:
        return subject(drafters[place].batch(size, rng)).tokens[:, 0]

    def counts(seen: int) -> npt.NDArray[np.int64]:
        while found.sum() < seen:
            context = next(turn) % len(contexts)
            place, distance = contexts[context]
            one = first_tokens(place)
            if distance:
                left = np.arange(size - distance)
                left = left[left // distance % 2 == 0]
                one, other = one[left], one[left + distance]
            else:
                other = first_tokens(place)
            np.add.at(found[context], one * len(TARGET) + other, 1)
        return found.copy()

    look, _ = looked_at(SequentialTest(expected, alpha=trial.level), pairs, counts)
    data = {
        "pairs": int(found.sum()),
        "log10_e": log10(look.largest),
        "detectable_pair_tv": detectable_tv(expected[0], int(found.sum(axis=1).min()), each),
    }
    if look.rejected:
        assert look.worst is not None
        place, distance = contexts[look.worst]
        apart = f"rows {distance} apart" if distance else "the same row of consecutive calls"
        message = _dependent(trial, list(DRAFTS)[place], apart, expected[look.worst], found[look.worst])
        odd = f"e-value {odds(look.largest)}, where {odds(-math.log(trial.level))} is proof"
        raise Failure(f"{message}\n{odd[0].upper()}{odd[1:]}.\n\n{_chance(trial)}", data)
    return data


def _problem(subject: Subject, token: int) -> Problem:
    point = np.eye(len(TARGET))[[token]]
    target, draft = Model(np.array([TARGET]), name="target"), Model(point, name="draft")
    return with_models(subject, f"p = {TARGET}, q certain of {token}", target, draft)


def _first(problem: Problem) -> npt.NDArray[np.float64]:
    """The law of the first token under the rule."""
    first = np.zeros(problem.vocabulary)
    for emitted, weight in law(problem, problem.tree.size).items():
        first[emitted[0]] += weight
    return first


def _distances(size: int) -> list[int]:
    """Neighbours, and rows that are whole warps or blocks of threads apart."""
    return sorted({distance for distance in (1, 32, size // 2) if 0 < distance < size})


def _dependent(trial: Trial, coin: str, apart: str, expected: Any, found: Any) -> str:
    tokens = range(len(TARGET))
    share = found / found.sum()
    cells = [f"{r:.3f} ({p:.3f})" for r, p in zip(share, expected, strict=True)]
    lines = [
        f"{trial.subject.name}: {apart} are not independent of each other ({coin}).",
        "",
        f"First tokens of {found.sum():,} pairs, seed {trial.seed}; observed (expected) frequencies:",
        "        " + "".join(f"{f'and {token}':>17}" for token in tokens),
    ]
    for one in tokens:
        line = cells[len(TARGET) * one : len(TARGET) * (one + 1)]
        lines.append(f"  {one:>4}  " + "".join(f"{cell:>17}" for cell in line))
    return "\n".join(lines)


def _chance(trial: Trial) -> str:
    return f"A correct implementation fails here with probability at most {trial.level:.0e}."


CHECKS = (
    Check(
        "independence",
        "rows of a batch, and calls with different seeds, are independent",
        independence,
        _cases,
        True,
    ),
)
