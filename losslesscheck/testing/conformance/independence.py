"""The check that rows of a batch, and calls with different seeds, throw coins of their own.

A call yields pairs of rows at every distance, and of first, second and third tokens. Pairs of one kind
have no row in common and follow p ⊗ p, whatever earlier calls emitted: their evidence is a martingale
from call to call. The kinds share rows and depend on one another, so their evidence must not be
multiplied; each has its own part of the level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import kl_div

from losslesscheck.model import Model
from losslesscheck.statistics import log_e_values
from losslesscheck.statistics.e_process import log_mean
from losslesscheck.testing.calls import emit
from losslesscheck.testing.conformance.certain import law
from losslesscheck.testing.conformance.check import Check, Failure, Trial
from losslesscheck.testing.conformance.problems import rule_of, with_models
from losslesscheck.testing.conformance.sequential import detectable_tv, log10, steps_for
from losslesscheck.testing.drafting import Drafter, distinct_seeds
from losslesscheck.testing.experiment import BETWEEN_LOOKS, FIRST_LOOK
from losslesscheck.testing.message import odds
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import IntArray, Subject
from losslesscheck.tree import Tree

BATCH = 2048
"""Rows of a call: more than there are threads in a block."""

TARGET = (1 / 4, 1 / 4, 1 / 2, 0)
"""The target's row after every context."""

DRAFTS = {"accept tests": 2, "last draw": 3}
"""The draft's only token. Token 2 is accepted by every other coin; token 3 never is, so that the first
token emitted is drawn with another coin."""

FRESH = 32
"""Calls after those that prove it, from which it is told whether rows depend on one another or have a
wrong law."""

ORDINALS = ("first", "second", "third")


def _cases(subject: Subject) -> dict[str, str]:
    skip = ""
    if subject.injected:
        skip = "its coins are injected: see rows"
    elif rule_of(subject).greedy:
        skip = "greedy decoding throws no coins"
    single = "takes one row at a time" if subject.batch == 1 else ""
    return {"rows": skip or single, "calls": skip}


def independence(trial: Trial) -> Mapping[str, Any]:
    """Pairs of tokens against p ⊗ p."""
    settings, calls = trial.settings, Calls(trial)
    expected = np.array([np.outer(kind.law, kind.law).ravel() for kind in calls.kinds])
    each = trial.level / len(expected)
    # Every other row of a problem makes a pair of first tokens.
    steps = settings.samples or 2 * len(DRAFTS) * steps_for(expected[0], settings.min_tv, each)
    found = np.zeros(expected.shape, dtype=np.int64)
    wanted = min(FIRST_LOOK, steps)
    while True:
        while calls.rows < wanted:
            found += calls.pairs()
        log_e = log_mean(log_e_values(found, expected))
        worst = int(log_e.argmax())
        proven = bool(log_e[worst] >= -math.log(each))
        if proven or calls.rows >= steps:
            break
        wanted = min(BETWEEN_LOOKS * wanted, steps)
    data = {
        "steps": calls.rows,
        "log10_e": log10(float(log_e[worst])),
        "detectable_pair_tv": detectable_tv(expected[0], int(found[0].sum()), each),
    }
    if proven:
        odd = f"e-value {odds(float(log_e[worst]))}, where {odds(-math.log(each))} is proof"
        kind = calls.kinds[worst]
        more = found[worst] + sum(calls.pairs()[worst] for _ in range(FRESH))
        message = _wrong(trial, kind, found[worst], _dependence_is_most(more, kind.law))
        raise Failure(f"{message}\n{odd[0].upper()}{odd[1:]}.\n\n{_chance(trial)}", data)
    return data


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of pairs of tokens.

    Attributes:
        coin: the problem, see ``DRAFTS``.
        place: which tokens of the rows; rows that have none there are in no pair.
        distance: between the rows of a call; 0 for the same row of two calls.
        law: of the token at that place, given that there is one, shape [V].
    """

    coin: str
    place: int
    distance: int
    law: npt.NDArray[np.float64]


class Calls:
    """Calls of the subject, and the pairs of tokens in them.

    Attributes:
        kinds: the kinds of pairs.
        rows: how many rows were verified so far.
    """

    def __init__(self, trial: Trial) -> None:
        self.rows = 0
        self._subject, self._twice = trial.subject, trial.case == "calls"
        self._size = min(BATCH, self._subject.batch or BATCH)
        self._distances = [0] if self._twice else _distances(self._size)
        self._one, self._other, self._of = _pairs(self._size, self._distances)
        problems = [_problem(self._subject, token) for token in DRAFTS.values()]
        self._drafters = [Drafter(problem, self._subject.dtype) for problem in problems]
        self._laws = [_laws(problem) for problem in problems]
        self._rng = np.random.default_rng([trial.seed, 2])
        self._seeds = distinct_seeds(np.random.default_rng([trial.seed, 3]))
        self.kinds = [
            Kind(coin, place, distance, law)
            for coin, laws in zip(DRAFTS, self._laws, strict=True)
            for place, law in enumerate(laws)
            for distance in self._distances
        ]

    def pairs(self) -> IntArray:
        """How often either token stands with which in one more call, or two, of every problem, [K, V²]."""
        counts = []
        for drafter, laws in zip(self._drafters, self._laws, strict=True):
            left = self._tokens(drafter)
            right = self._tokens(drafter) if self._twice else left
            counts += [
                _counted(left[self._one, place], right[self._other, place], self._of, len(self._distances))
                for place in range(len(laws))
            ]
        return np.concatenate(counts)

    def _tokens(self, drafter: Drafter) -> IntArray:
        self.rows += self._size
        batch = drafter.batch(self._size, self._rng)
        return emit(self._subject, replace(batch, seed=next(self._seeds))).tokens


def _problem(subject: Subject, token: int) -> Problem:
    point = np.eye(len(TARGET))[[token]]
    target, draft = Model(np.array([TARGET]), name="target"), Model(point, name="draft")
    tree = Tree.chain(2) if rule_of(subject).takes_tree else None
    return with_models(subject, f"p = {TARGET}, q certain of {token}", target, draft, tree)


def _laws(problem: Problem) -> list[npt.NDArray[np.float64]]:
    """The laws of the first, the second, … token under the rule, given that there is one."""
    found = np.zeros((len(ORDINALS), problem.vocabulary))
    for emitted, weight in law(problem, problem.tree.size).items():
        for place, token in enumerate(emitted[: len(ORDINALS)]):
            found[place, token] += weight
    return [weights / weights.sum() for weights in found if weights.any()]


def _distances(size: int) -> list[int]:
    """Neighbours, and rows that are lanes, warps or blocks of threads apart."""
    powers = [2**k for k in range(4, size.bit_length()) if 2**k <= size // 2]
    return [*range(1, min(8, size - 1) + 1), *powers]


def _pairs(size: int, distances: list[int]) -> tuple[IntArray, IntArray, IntArray]:
    """The rows of all pairs, one and the other, and the numbers of their distances."""
    rows = np.arange(size)
    left = [rows[: size - d][rows[: size - d] // d % 2 == 0] if d else rows for d in distances]
    right = [one + d for one, d in zip(left, distances, strict=True)]
    of = np.repeat(np.arange(len(distances)), [len(one) for one in left])
    return np.concatenate(left), np.concatenate(right), of


def _counted(one: IntArray, other: IntArray, of: IntArray, distances: int) -> IntArray:
    """How often either token stands with which at every distance, shape [D, V²]."""
    there = (one >= 0) & (other >= 0)
    cells = len(TARGET) ** 2
    index = (of * cells + one * len(TARGET) + other)[there]
    return np.bincount(index, minlength=distances * cells).reshape(distances, cells)


def _wrong(trial: Trial, kind: Kind, found: IntArray, dependent: bool) -> str:
    tokens, name = range(len(TARGET)), trial.subject.name
    which = f"{ORDINALS[kind.place]} tokens, {kind.coin}"
    apart = f"rows {kind.distance} apart" if kind.distance else "the same row of consecutive calls"
    what = f"{name}: {apart} are not independent of each other ({which})."
    if not dependent:
        what = f"{name}: the law of a single row is wrong already: see law ({which} of {apart})."
    expected = np.outer(kind.law, kind.law).ravel()
    cells = [f"{r:.3f} ({p:.3f})" for r, p in zip(found / found.sum(), expected, strict=True)]
    lines = [
        what,
        "",
        f"Tokens of {found.sum():,} pairs, seed {trial.seed}; observed (expected) frequencies:",
        "        " + "".join(f"{f'and {token}':>17}" for token in tokens),
    ]
    for one in tokens:
        line = cells[len(TARGET) * one : len(TARGET) * (one + 1)]
        lines.append(f"  {one:>4}  " + "".join(f"{cell:>17}" for cell in line))
    return "\n".join(lines)


def _dependence_is_most(found: IntArray, law: npt.NDArray[np.float64]) -> bool:
    """Whether the two tokens' dependence says more against p ⊗ p than their own laws do.

    KL(pairs ‖ p ⊗ p) is the sum of KL(pairs ‖ product of the margins), the mutual information, and of
    the divergence of either margin from p. Within a call all rows may be the same, so there are to be
    pairs of many calls.
    """
    pairs = (found / found.sum()).reshape(len(law), len(law))
    one, other = pairs.sum(axis=1), pairs.sum(axis=0)
    margins = kl_div(one, law).sum() + kl_div(other, law).sum()
    return bool(kl_div(pairs, np.outer(one, other)).sum() >= margins)


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
