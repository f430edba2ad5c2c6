"""What the samplers of ``assert_same_law`` return, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.testing.batch import SubjectError
from losslesscheck.testing.errstate import callers
from losslesscheck.testing.message import wrapped

Sampler = Callable[[int, int], Any]
"""``sampler(count, seed)`` returns ``count`` independent sequences of tokens: integers [count, L], −1
after the end of a sequence that is shorter than L. L is always the same: one that fills it has no end.
"""

BY_CHANCE = 1e-12
"""Two batches that are equal although that is less probable are taken for one: the seed is not used."""

PAD = "one that fills its places has no end, so pad all to the same width with −1 or cut them off there"

Lanes = list[tuple[int, list[npt.NDArray[np.int64]]]]
"""Sequences by their length: how many, and their tokens by place."""


def tokens_of(sampler: Sampler, count: int, seed: int, vocabulary: int) -> npt.NDArray[np.int64]:
    """What a sampler returns, checked, with −1 from the end of a sequence on."""
    with callers():
        returned = sampler(count, seed)
    if hasattr(returned, "detach"):
        returned = returned.detach().cpu().numpy()
    tokens = np.asarray(returned)
    shown = "None" if returned is None else f"{tokens.dtype} {list(tokens.shape)}"
    if tokens.ndim == 1:
        tokens = tokens[:, None]
    if tokens.dtype.kind not in "iu" or tokens.ndim != 2 or len(tokens) != count or tokens.shape[1] == 0:
        raise SubjectError(f"a sampler returned {shown}, not integers [{count}, L]")
    wrong = (tokens < -1) | (tokens >= vocabulary)
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        raise SubjectError(
            f"tokens[{row}, {column}] = {tokens[row, column]} is outside a vocabulary of {vocabulary}"
        )
    return np.where(np.logical_or.accumulate(tokens < 0, axis=1), -1, tokens).astype(np.int64)


def demand_another(tokens: npt.NDArray[np.int64], pilot: npt.NDArray[np.int64]) -> None:
    """Refuses a batch of another width than the pilot's, and the pilot once more."""
    if tokens.shape[1] != pilot.shape[1]:
        raise SubjectError(
            wrapped(
                f"a sampler's sequences have {pilot.shape[1]} places for one seed, {tokens.shape[1]} for "
                f"another; {PAD}"
            )
        )
    count = min(len(tokens), len(pilot))
    if not np.array_equal(tokens[:count], pilot[:count]):
        return
    _, often = np.unique(pilot[:count], axis=0, return_counts=True)
    # Under no law are these sequences, in this order, more probable than under their frequencies.
    if float(often @ np.log(often / count)) < np.log(BY_CHANCE):
        raise SubjectError(
            wrapped(
                f"a sampler returned the same {count:,} sequences for two seeds, {len(often)} different ones "
                "among them: it does not use its seed, so that its sequences are not independent"
            )
        )


def by_length(tokens: npt.NDArray[np.int64], vocabulary: int) -> Lanes:
    """The sequences by their length, with the end as a token of its own where it is not the last place."""
    ended = tokens < 0
    length = np.where(ended.any(axis=1), ended.argmax(axis=1) + 1, tokens.shape[1])
    tokens = np.where(ended, vocabulary, tokens)
    found = []
    for size in np.unique(length).tolist():
        rows = tokens[length == size]
        found.append((len(rows), [rows[:, column] for column in range(size)]))
    return found
