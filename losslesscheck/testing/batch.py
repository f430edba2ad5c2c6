"""Batches, and what was emitted in them, checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import LosslesscheckError

IntArray = npt.NDArray[np.int64]

RETURNS = "it returns (emitted, accepted), or emitted alone with −1 after the last token"


class SubjectError(LosslesscheckError, AssertionError):
    """An implementation did what none may do: it raised, or returned what is no outcome of a batch.

    Attributes:
        row: the row of the batch that shows it, or ``None``.
    """

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


@dataclass(frozen=True, eq=False)
class Batch:
    """B draft-and-verify steps for one call; for the arrays see ``losslesscheck.testing.subject``.

    Probabilities are float32 or float64 arrays that hold values of the subject's dtype exactly.
    """

    target: npt.NDArray[Any]
    draft: npt.NDArray[Any]
    tokens: IntArray
    parents: IntArray
    lengths: IntArray
    coins: npt.NDArray[Any]
    final: npt.NDArray[Any]
    seed: int

    @property
    def size(self) -> int:
        """The number of rows B."""
        return int(self.target.shape[0])

    @property
    def vocabulary(self) -> int:
        return int(self.target.shape[2])

    def rows(self, chosen: Any) -> Batch:
        """The batch of the rows that an index array or a slice chooses."""
        return Batch(
            self.target[chosen],
            self.draft[chosen],
            self.tokens[chosen],
            self.parents[chosen],
            self.lengths[chosen],
            self.coins[chosen],
            self.final[chosen],
            self.seed,
        )

    def described(self, taken: Collection[str], row: int | None = None) -> str:
        """The shapes, and what decides on a row as far as it is among ``taken``, for an error message."""
        rows, drafts = self.tokens.shape
        facts = [f"in a batch of {rows} rows with {drafts} draft tokens, V = {self.vocabulary}"]
        if row is not None:
            facts.append(f"row {row}: draft tokens {self.tokens[row].tolist()}")
            facts += [
                f"{name} {getattr(self, name)[row].tolist()}"
                for name in ("parents", "lengths", "coins", "final")
                if name in taken
            ]
        if not {"seed", "rng", "generator"}.isdisjoint(taken):
            facts.append(f"seed {self.seed}")
        return ", ".join(facts)


def stacked(batches: Sequence[Batch]) -> Batch:
    """The rows of several batches, with equally many draft tokens, one below the other."""
    arrays = {
        field.name: np.concatenate([getattr(batch, field.name) for batch in batches])
        for field in fields(Batch)
        if field.name != "seed"
    }
    return Batch(**arrays, seed=batches[0].seed)


@dataclass(frozen=True, eq=False)
class Emitted:
    """What was emitted in a batch.

    Attributes:
        tokens: shape [B, L], int64, −1 after the last token of every row.
        accepted: shape [B], int64; the row has one token more than that.
    """

    tokens: IntArray
    accepted: IntArray


def emitted(returned: Any, batch: Batch) -> Emitted:
    """What a subject returned, checked.

    Raises:
        SubjectError: naming the row, if it is no outcome of the batch.
    """
    if returned is None:
        raise SubjectError(f"returned None; {RETURNS}")
    length = None
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise SubjectError(f"returned {len(returned)} things; {RETURNS}")
        returned, length = returned
    tokens = _integers(returned, "emitted")
    if tokens.ndim != 2 or len(tokens) != batch.size or tokens.shape[1] == 0:
        raise SubjectError(f"emitted has shape {list(tokens.shape)}, not [{batch.size}, ≥ 1]")
    if length is None:
        inside = np.logical_and.accumulate(tokens >= 0, axis=1)
        accepted = inside.sum(axis=1) - 1
        _refuse(tokens < -1, tokens, "is neither a token nor −1")
        _refuse((tokens >= 0) & ~inside, tokens, "stands after a −1")
    else:
        accepted = _integers(length, "accepted")
        if accepted.shape != (batch.size,):
            raise SubjectError(f"accepted has shape {list(accepted.shape)}, not [{batch.size}]")
    most = np.minimum(batch.lengths, tokens.shape[1] - 1)
    wrong = (accepted < 0) | (accepted > most)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SubjectError(
            f"row {row} has {batch.lengths[row]} draft tokens, but {accepted[row]} accepted "
            f"and room for {tokens.shape[1]} tokens",
            row,
        )
    columns = int(batch.tokens.shape[1]) + 1
    tokens = tokens[:, :columns]
    if length is not None:
        tokens = np.where(np.arange(tokens.shape[1]) <= accepted[:, None], tokens, -1)
        _refuse((tokens < 0) & (np.arange(tokens.shape[1]) <= accepted[:, None]), tokens, "is no token")
    _refuse(tokens >= batch.vocabulary, tokens, f"is outside a vocabulary of {batch.vocabulary}")
    return Emitted(tokens, accepted)


def _integers(values: Any, name: str) -> IntArray:
    try:
        if hasattr(values, "detach"):  # a tensor, on whatever device
            values = values.detach().cpu().numpy()
        array = np.asarray(values)
    except Exception as error:
        raise SubjectError(f"{name} cannot be read as an array: {type(error).__name__}: {error}") from error
    if array.dtype.kind not in "iu":
        raise SubjectError(f"{name} holds {array.dtype}, not integers")
    return array.astype(np.int64)  # a copy: the subject may use its buffer again


def _refuse(wrong: npt.NDArray[np.bool_], tokens: IntArray, what: str) -> None:
    if wrong.any():
        row, place = map(int, np.argwhere(wrong)[0])
        raise SubjectError(f"emitted[{row}, {place}] = {tokens[row, place]} {what}", row)
