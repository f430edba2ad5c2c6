"""``assert_same_law``: two samplers against each other, where nobody knows the law."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from losslesscheck import statistics
from losslesscheck.errors import InputError
from losslesscheck.machines.monte_carlo.tally import Plan, Pool, Tally, gather
from losslesscheck.model import Model
from losslesscheck.testing.batch import SubjectError
from losslesscheck.testing.errstate import ours
from losslesscheck.testing.message import odds, place, table, wrapped
from losslesscheck.testing.options import level, whole
from losslesscheck.testing.sequences import PAD, Lanes, Sampler, by_length, demand_another, tokens_of

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
            counts as one. At the start of a sequence is one of them.
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
        where = "context" if self.contexts == 1 else "contexts or pools of contexts"
        return wrapped(
            f"no difference in {self.samples:,} sequences of either, whose next tokens were compared after "
            f"{self.contexts:,} {where}"
            + (f" ({self.uncompared:,} tokens were not compared)" if self.uncompared else "")
            + f"; the laws of the first token differ by TV {self.tv_bound:.2g} at most (at level "
            f"1 − {self.alpha:.0e}), those of later tokens have no such bound"
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
        SubjectError: if a sampler returns no sequences of tokens, sequences of another width L than
            before or than the other, or the same for two seeds (which by chance happens with
            probability 1e-12 at most).
        InputError: for bad arguments.

    >>> def uniform(count, seed):
    ...     return np.random.default_rng(seed).integers(3, size=(count, 2))
    >>> def coupled(count, seed):
    ...     return np.random.default_rng(seed).integers(3, size=(count, 1)).repeat(2, axis=1)
    >>> print(assert_same_law(uniform, uniform, vocabulary=3, samples=4096))  # doctest: +ELLIPSIS
    no difference in 4,096 sequences of either, whose next tokens were compared
      after 5 contexts or pools of contexts; the laws of the first token differ by
      TV ...
    >>> assert_same_law(uniform, coupled, vocabulary=3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: the two samplers have different laws: ...
    """
    vocabulary, samples = whole("vocabulary", vocabulary), whole("samples", samples, exponent=True)
    alpha, seed = level(alpha), whole("seed", seed, 0)
    for name, sampler in (("first", first), ("second", second)):
        if not callable(sampler):
            raise InputError(f"{name}: {sampler!r} cannot be called")
    with ours():
        return _compared((first, second), vocabulary, samples, alpha, seed)


def _compared(
    samplers: tuple[Sampler, Sampler], vocabulary: int, samples: int, alpha: float, seed: int
) -> SameLaw:
    seeds = iter(np.random.SeedSequence(seed).generate_state(4096).tolist())
    pilots = [tokens_of(sampler, PILOT, next(seeds), vocabulary) for sampler in samplers]
    width = pilots[0].shape[1]
    if pilots[1].shape[1] != width:
        raise SubjectError(
            wrapped(
                f"the first sampler's sequences have {width} places, the second's {pilots[1].shape[1]}; {PAD}"
            )
        )
    plan = _plan([by_length(tokens, vocabulary) for tokens in pilots], vocabulary)
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
        for tally, sampler, pilot in zip(tallies, samplers, pilots, strict=True):
            tokens = tokens_of(sampler, size, next(seeds), vocabulary)
            demand_another(tokens, pilot)
            for lanes, columns in by_length(tokens, vocabulary):
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


def _plan(batches: list[Lanes], vocabulary: int) -> Plan:
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
    return wrapped("\n".join(lines))
