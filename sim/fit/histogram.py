"""Histograms of accepted lengths, with what their counts count.

Two conventions are in use. *Accepted* draft tokens run from 0 to γ; *tokens per step* run from 1 to γ + 1,
because every step emits one token besides the accepted ones: the bonus token if all are accepted, else the
one drawn in place of the rejected. "Accept length" or "acceptance length" means the second in SGLang and
vLLM, and the first in many a histogram, so it must be said which.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import FloatArray, check_count

Counted = Literal["accepted", "tokens"]
"""What the lengths of a histogram count: accepted draft tokens, or tokens per step (one more)."""


@dataclass(frozen=True)
class Histogram:
    """How many steps accepted 0, 1, …, γ draft tokens; ``Histogram.of`` makes one of either convention.

    Attributes:
        accepted: steps by number of *accepted* draft tokens, γ + 1 of them.
        notes: what a reader of an engine's figures should know about these.
    """

    accepted: tuple[int, ...]
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "accepted", tuple(_count("accepted", i, n) for i, n in enumerate(self.accepted))
        )
        if len(self.accepted) < 2:
            raise InputError(
                "accepted: a histogram needs counts for 0 and for 1 accepted draft tokens at least"
            )
        if not any(self.accepted):
            raise InputError("accepted: all counts are 0, no step was counted")

    @classmethod
    def of(
        cls,
        counts: Sequence[int] | npt.NDArray[np.integer[Any]] | Mapping[int, int],
        *,
        counted: Counted,
        draft_length: int | None = None,
        notes: Sequence[str] = (),
    ) -> Histogram:
        """A histogram from counts by length.

        Args:
            counts: ``counts[length]`` steps of every length, from length 0 on (also where ``counted`` is
                ``tokens``: no step has that length), or a mapping.
            counted: what the lengths count.
            draft_length: γ. May be left out for a sequence that goes up to the longest possible length;
                engines often cut theirs behind the longest length seen, and then a rejection at the end
                could not be told from a draft that ended there.

        Raises:
            InputError: if an entry is no count, a length is impossible under the convention (0 tokens per
                step, more than γ accepted), γ is missing, or nothing was counted.

        >>> Histogram.of([0, 20, 30, 50], counted="tokens") == Histogram.of([20, 30, 50], counted="accepted")
        True
        """
        if counted not in get_args(Counted):
            raise InputError(f"counted: {counted!r} is neither 'accepted' nor 'tokens'")
        shift = get_args(Counted).index(counted)
        if not isinstance(counts, Mapping):
            if isinstance(counts, str) or not isinstance(counts, (Sequence, np.ndarray)):
                raise InputError(f"counts: {counts!r} is neither a sequence nor a mapping")
            if draft_length is None:
                draft_length = len(counts) - 1 - shift
                if draft_length < 1:
                    raise InputError(f"counts: {len(counts)} entries are too few for a draft token")
            counts = dict(enumerate(counts))
        if draft_length is None:
            raise InputError("draft_length: needed, since a mapping does not say how long the drafts were")
        check_count("draft_length", draft_length, least=1)
        accepted = [0] * (draft_length + 1)
        for length, value in counts.items():
            check_count("counts: length", length)
            if (number := _count("counts", length, value)) == 0:
                continue
            if length < shift:
                raise InputError(
                    f"counts[{length}] = {number}: no step has {length} tokens when the bonus token is "
                    "counted; if accepted draft tokens are counted, say counted='accepted'"
                )
            if length - shift > draft_length:
                advice = "; if the bonus token is counted, say counted='tokens'" if shift == 0 else ""
                raise InputError(
                    f"counts[{length}] = {number}: with {draft_length} draft tokens no length is above "
                    f"{draft_length + shift}{advice}"
                )
            accepted[length - shift] = number
        return cls(tuple(accepted), tuple(notes))

    def counts(self, *, counted: Counted) -> list[int]:
        """Steps by length from 0 on, in either convention.

        >>> Histogram((20, 30, 50)).counts(counted="tokens")
        [0, 20, 30, 50]
        """
        if counted not in get_args(Counted):
            raise InputError(f"counted: {counted!r} is neither 'accepted' nor 'tokens'")
        return [0] * get_args(Counted).index(counted) + list(self.accepted)

    @property
    def draft_length(self) -> int:
        """γ."""
        return len(self.accepted) - 1

    @property
    def steps(self) -> int:
        return sum(self.accepted)

    @property
    def mean_accepted(self) -> float:
        """Accepted draft tokens per step, without the bonus token."""
        return math.fsum(i * n for i, n in enumerate(self.accepted)) / self.steps

    @property
    def tokens_per_step(self) -> float:
        """Emitted tokens per step, with the bonus token: ``mean_accepted`` + 1."""
        return 1.0 + self.mean_accepted

    @property
    def lengths(self) -> FloatArray:
        """Relative frequency of 0, 1, …, γ accepted draft tokens, shape [γ + 1]."""
        frequencies: FloatArray = np.array(self.accepted, dtype=np.float64) / self.steps
        return frequencies

    @property
    def tried(self) -> tuple[int, ...]:
        """Steps that came to position 1, …, γ: all before it were accepted."""
        return tuple(sum(self.accepted[i:]) for i in range(self.draft_length))

    @property
    def passed(self) -> tuple[int, ...]:
        """Steps that accepted the draft token at position 1, …, γ and all before it."""
        return tuple(sum(self.accepted[i + 1 :]) for i in range(self.draft_length))


def total(histograms: Sequence[Histogram]) -> Histogram:
    """All steps of several histograms of the same draft length.

    Raises:
        InputError: if there is none, or draft lengths differ.
    """
    if not histograms:
        raise InputError("histograms: there is none")
    for place, histogram in enumerate(histograms):
        if histogram.draft_length != histograms[0].draft_length:
            raise InputError(
                f"histograms[{place}]: draft length {histogram.draft_length}, but the first has "
                f"{histograms[0].draft_length}"
            )
    columns = zip(*(histogram.accepted for histogram in histograms), strict=True)
    notes = dict.fromkeys(note for histogram in histograms for note in histogram.notes)
    return Histogram(tuple(map(sum, columns)), tuple(notes))


def _count(name: str, index: int, value: Any) -> int:
    """``value`` as a whole number from 0 up (a float such as 12.0 is one)."""
    try:
        number = int(value)
        whole = number == value and not isinstance(value, (bool, str))
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole or number < 0:
        raise InputError(f"{name}[{index}] = {value} is not a whole number from 0 up")
    return number
