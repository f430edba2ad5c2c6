"""Coins at the ends of their range: what an implementation does there happens once in 2²⁴ steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from losslesscheck.testing.drafting import Drafter
from losslesscheck.testing.message import spelled
from losslesscheck.testing.outcome import impossible, nodes
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
    """Says which token of probability zero is emitted for extreme coins, and in which row; empty if none is.

    Raises:
        SubjectError: if the subject fails.
    """
    rng = np.random.default_rng([seed, 2])
    drafter = Drafter(problem.rounded(subject.dtype), subject.dtype)
    batch = extreme(drafter.batch(min(subject.batch or ROWS, ROWS), rng), rng)
    # It may write into the probabilities that it is handed.
    emitted = subject(replace(batch, target=batch.target.copy(), draft=batch.draft.copy()))
    found = impossible(batch, emitted)
    if found is None:
        return ""
    row, place = found
    node = nodes(batch, emitted)[row, place]
    tokens = emitted.tokens[row, : emitted.accepted[row] + 1].tolist()
    return "\n".join(
        [
            f"token {tokens[place]} has probability 0 and was emitted.",
            "",
            f"{problem.rule.name} on {problem.name}, tree {problem.tree}, seed {seed}, row {row}:",
            f"  p {'at the start' if node == 0 else f'after {tokens[:place]}'} = "
            f"{spelled(batch.target[row, node])}",
            f"  draft tokens {batch.tokens[row].tolist()}, emitted {tokens}",
            f"  coins {batch.coins[row].tolist()}, final {batch.final[row].item()!r}",
            "",
            "No chance is involved: the coins are among those that are drawn.",
        ]
    )
