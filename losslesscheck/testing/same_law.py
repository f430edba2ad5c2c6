"""``assert_same_law``: two samplers against each other, where nobody knows the law."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck import statistics
from losslesscheck.errors import InputError
from losslesscheck.machines.monte_carlo.tally import Plan, Pool, Tally, gather
from losslesscheck.model import Model
from losslesscheck.testing.message import odds, place, table
from losslesscheck.testing.subject import SubjectError

Sampler = Callable[[int, int], Any]
"""``sampler(count, seed)`` returns ``count`` independent sequences of tokens: integers [count, L], −1
after the end of a sequence that is shorter than L."""

PILOT = 1024
"""Sequences of either sampler that settle which contexts are counted and are not counted themselves."""

CELLS = 2**16
MOST_CELLS = 2**23
"""Counters of either sampler: as many as every length needs a pool of its own, within bounds."""


@dataclass(frozen=True)
class SameLaw:
    """What was established; ``str`` says it in words.

    Attributes:
        samples: sequences of either sampler.
        contexts: after how many contexts next tokens were compared; a pool of contexts of one length
            counts as one.
        uncompared: how many tokens were not, as there was no counter for their place.
        tv_bound: upper confidence bound, at level 1 − alpha, on the TV between the first tokens' laws.
        alpha: bound on the probability that two samplers of the same law are told apart.
    """

    samples: int
    contexts: int
    uncompared: int
    tv_bound: float
    alpha: float

    def __str__(self) -> str:
        return (
            f"no difference in {self.samples:,} sequences of either; the laws of the first token differ by "
            f"TV {self.tv_bound:.2g} at most (at level 1 − {self.alpha:.0e})"
            + (f"; {self.uncompared:,} tokens were not compared" if self.uncompared else "")
        )


def assert_same_law(
    first: Sampler,
    second: Sampler,
    *,
    vocabulary: int,
    samples: int = 100_000,
    alpha: float = 1e-9,
    seed: int = 0,
) -> SameLaw:
    """Raises an ``AssertionError`` if two samplers have different laws.

    For instance an engine with speculative decoding and without. Next tokens are compared after every
    context that is frequent, and after all other contexts of a length together; the end of a sequence
    counts as a token. It is looked at after 1024, 2048, 4096, … sequences, and ends at the first
    difference.

    Args:
        first, second: see ``Sampler``; called with another seed every time. The sequences must be
            independent of each other.
        vocabulary: number of tokens V.
        samples: sequences of either.
        alpha: bound on the probability of a false alarm.
        seed: of the seeds.

    Raises:
        AssertionError: with the context, both frequencies and the e-value.
        InputError: for bad arguments.

    >>> def uniform(count, seed):
    ...     return np.random.default_rng(seed).integers(3, size=(count, 2))
    >>> def coupled(count, seed):
    ...     return np.random.default_rng(seed).integers(3, size=(count, 1)).repeat(2, axis=1)
    >>> print(assert_same_law(uniform, uniform, vocabulary=3, samples=4096))  # doctest: +ELLIPSIS
    no difference in 4,096 sequences of either; the laws of the first token differ by TV ...
    >>> assert_same_law(uniform, coupled, vocabulary=3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: the two samplers have different laws: ...
    """
    for name, value in (("vocabulary", vocabulary), ("samples", samples)):
        if value < 1:
            raise InputError(f"{name}: {value} is not positive")
    seeds = iter(np.random.SeedSequence(seed).generate_state(4096).tolist())
    batches = [_sequences(sampler, PILOT, next(seeds), vocabulary) for sampler in (first, second)]
    plan = _plan(batches, vocabulary)
    tallies = (Tally(plan), Tally(plan))
    lengths = np.array([len(c) for c in plan.contexts] + [pool.length for pool in plan.pools])
    test = statistics.TwoSampleTest(
        vocabulary=vocabulary + 1,
        contexts=plan.slots,
        lengths=lengths,
        alpha=alpha,
        pooled=bool(plan.pools),
    )
    counted, following = 0, PILOT
    while counted < samples:
        size = min(following, samples - counted)
        before = [tally.counts.copy() for tally in tallies]
        for tally, sampler in zip(tallies, (first, second), strict=True):
            for lanes, columns in _sequences(sampler, size, next(seeds), vocabulary):
                tally.add(columns, lanes)
            tally.flush()
        new = [
            (tally.counts - old).reshape(plan.slots, vocabulary + 1)
            for tally, old in zip(tallies, before, strict=True)
        ]
        look = test.add(*new)
        counted += size
        following = counted
        if look.rejected:
            raise AssertionError(_failure(plan, test, look, counted, alpha, seed))
    uncompared = sum(tally.skipped for tally in tallies)
    return SameLaw(counted, plan.slots, uncompared, float(look.tv_bounds[0]), alpha)


def _sequences(
    sampler: Sampler, count: int, seed: int, vocabulary: int
) -> list[tuple[int, list[npt.NDArray[np.int64]]]]:
    """The sequences by their length, with the end as a token of its own where it is not the last place."""
    returned = sampler(count, seed)
    if hasattr(returned, "detach"):
        returned = returned.detach().cpu().numpy()
    tokens = np.asarray(returned)
    if tokens.ndim == 1:
        tokens = tokens[:, None]
    if tokens.dtype.kind not in "iu" or tokens.ndim != 2 or len(tokens) != count:
        raise SubjectError(
            f"a sampler returned {tokens.dtype} {list(tokens.shape)}, not integers [{count}, L]"
        )
    wrong = (tokens < -1) | (tokens >= vocabulary)
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        raise SubjectError(
            f"tokens[{row}, {column}] = {tokens[row, column]} is outside a vocabulary of {vocabulary}"
        )
    ended = tokens < 0
    length = np.where(ended.any(axis=1), ended.argmax(axis=1) + 1, tokens.shape[1])
    tokens = np.where(ended, vocabulary, tokens).astype(np.int64)
    found = []
    for size in np.unique(length).tolist():
        rows = tokens[length == size]
        found.append((len(rows), [rows[:, column] for column in range(size)]))
    return found


def _plan(batches: list[list[tuple[int, list[npt.NDArray[np.int64]]]]], vocabulary: int) -> Plan:
    pilot: Counter[tuple[int, ...]] = Counter()
    emit = gather(pilot)
    for batch in batches:
        for lanes, columns in batch:
            emit(list(columns), lanes)
    # Contexts without counters of their own are pooled by length, which both samplers do alike.
    anything = Model.constant(np.full(vocabulary + 1, 1 / (vocabulary + 1)))
    longest = max(map(len, pilot))
    cells = max(CELLS, (1 + 2 * longest) * (vocabulary + 1))  # half of what is left goes to contexts
    return Plan(anything, pilot, longest, min(cells, MOST_CELLS))


def _failure(
    plan: Plan,
    test: statistics.TwoSampleTest,
    look: statistics.Look,
    samples: int,
    alpha: float,
    seed: int,
) -> str:
    worst = look.biased[0] if look.biased else look.worst
    assert worst is not None
    contexts: list[tuple[int, ...] | Pool] = [*plan.contexts, *plan.pools]
    first, second = test.first[worst], test.second[worst]
    lines = [
        f"the two samplers have different laws: {samples:,} sequences of either, seed {seed}",
        f"Next token {place(contexts[worst])} ({first.sum():,} and {second.sum():,} times; "
        f"token {plan.vocabulary - 1} is the end):",
        *table({"first": first / max(first.sum(), 1), "second": second / max(second.sum(), 1)}),
        f"e-value {odds(look.largest)}; two samplers of the same law ever reach {odds(-np.log(alpha))} "
        f"with probability at most {alpha:.0e}.",
    ]
    return "\n".join(lines)
