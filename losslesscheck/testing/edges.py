"""Coins at the ends of their range: what an implementation does there happens once in 2²⁴ steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from losslesscheck.testing.drafting import Drafter
from losslesscheck.testing.outcome import impossible
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Batch, Subject

ROWS = 1024


def extreme(batch: Batch, rng: np.random.Generator) -> Batch:
    """The batch with coins that are 0, the largest below 1, or as they were."""
    one = np.ones(1, dtype=batch.coins.dtype)
    largest = one - np.finfo(batch.coins.dtype).epsneg

    def at_the_ends(coins: np.ndarray) -> np.ndarray:
        kind = rng.integers(3, size=coins.shape)
        return np.where(kind == 0, 0 * one, np.where(kind == 1, largest, coins))

    return replace(batch, coins=at_the_ends(batch.coins), final=at_the_ends(batch.final))


def impossible_token(subject: Subject, problem: Problem, seed: int) -> str:
    """Says which token of probability zero is emitted for extreme coins; empty if none is.

    Raises:
        SubjectError: if the subject fails.
    """
    rng = np.random.default_rng([seed, 2])
    drafter = Drafter(problem.rounded(subject.dtype), subject.dtype)
    batch = extreme(drafter.batch(min(subject.batch or ROWS, ROWS), rng), rng)
    # It may write into what it is handed.
    emitted = subject(replace(batch, target=batch.target.copy(), draft=batch.draft.copy()))
    found = impossible(batch, emitted)
    if found is None:
        return ""
    row, place = found
    return (
        f"token {emitted.tokens[row, place]}, which the target gives probability 0, was emitted as token "
        f"{place} of row {row} ({problem.name}, tree {problem.tree}, seed {seed}), with coins "
        f"{batch.coins[row].tolist()} and final coin {float(batch.final[row])!r}"
    )
