"""Monte Carlo: a rule is sampled and what it emits is tested against the target."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck import statistics
from losslesscheck.errors import InputError
from losslesscheck.machines.monte_carlo.sampling import sample
from losslesscheck.machines.monte_carlo.tally import Counts, Group, Pool
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree


@dataclass(frozen=True)
class ContextResult:
    """The next tokens after one context, or after a pool of contexts with the same target row.

    Attributes:
        context: the tokens emitted before, or the pool.
        samples: how often the context was followed by something.
        log_e: natural logarithm of the e-value of this context alone.
        observed: relative frequency of every token, shape [V].
        expected: the target's row, shape [V].
        tv: ½ Σ |observed − expected|.
    """

    context: tuple[int, ...] | Pool
    samples: int
    log_e: float
    observed: npt.NDArray[np.float64] = field(repr=False)
    expected: npt.NDArray[np.float64] = field(repr=False)
    tv: float


@dataclass(frozen=True)
class MonteCarloResult:
    """What sampling says about a rule.

    Attributes:
        holds: no undefined step, and log E below log(1/α). A lossless rule is refuted with
            probability at most α, but a rule that holds is not proved.
        samples: draft-and-verify steps run.
        alpha: bound on the probability of a false alarm.
        judged: how many contexts and pools were tested.
        log_e: natural logarithm of the combined e-value.
        worst: the context with the largest e-value of its own, ``None`` if nothing was emitted.
        detectable_tv: the smallest bias of the first emitted token, in TV, that the test would have
            found with probability .9, whatever its direction; see ``statistics.detectable_tv``.
        detectable_by_length: the same for the next token after contexts of length 0, 1, 2, …: the
            bias that the test would have found if every context of that length had it; ``None``
            where nothing was counted.
        tv_bound: upper confidence bound, at level 1 − α, on the TV between the law of the first
            emitted token and the target's.
        undefined: how many steps reached an undefined value.
        unjudged: emitted tokens that were not tested, because the target's row at their context was
            too rare for a counter.
        tokens_per_step: mean length of the emitted sequence.
        accepted: how many steps emitted 1 + k tokens, for k = 0, 1, 2, …
    """

    holds: bool
    samples: int
    alpha: float
    judged: int
    log_e: float
    worst: ContextResult | None
    detectable_tv: float
    detectable_by_length: tuple[float | None, ...]
    tv_bound: float
    undefined: int
    unjudged: int
    seconds: float
    steps_per_second: float
    tokens_per_step: float
    accepted: tuple[int, ...]


def monte_carlo(
    rule: Rule,
    target: Model,
    draft: Model | None,
    tree: Tree,
    samples: int,
    rng: np.random.Generator,
    alpha: float = 1e-9,
    **options: Any,
) -> MonteCarloResult:
    """Samples a rule and tests the law of every next token against the target.

    For a rule whose claim is about greedy decoding the target is the point mass at its argmax.

    Args:
        rule, target, draft, tree, samples, rng: see ``sample``, which also takes ``options``.
        alpha: how probable it may be that a lossless rule is refuted.

    Raises:
        InputError: if ``alpha`` is not in (0, 1); and what ``sample`` raises.
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha: {alpha} is not between 0 and 1")
    started = time.perf_counter()
    counts = sample(rule, target, draft, tree, samples, rng, **options)
    return judge(counts, target, rule.greedy, alpha, time.perf_counter() - started)


def judge(counts: Counts, target: Model, greedy: bool, alpha: float, seconds: float) -> MonteCarloResult:
    """Tests counts of emitted tokens against the target.

    Args:
        counts: of steps that are independent of one another; the plan must be settled without them.
        target: the model that the emitted tokens should follow.
        greedy: they should be the target's most probable ones, as in greedy decoding.
        alpha: how probable it may be that counts which follow the target are refuted.
        seconds: that sampling took.
    """
    groups = list(counts.groups())
    rows = expected_rows(target, greedy)
    evidence, log_e = weigh(groups, rows)
    judged = [place for place, group in enumerate(groups) if group.counts.any()]
    worst = None
    if judged:
        alone = [statistics.mixture(evidence[place]) for place in judged]
        top = groups[judged[int(np.argmax(alone))]]
        worst = _context_result(top, rows[top.row], max(alone))
    by_length = detectable(groups, rows, alpha)
    first = groups[0]
    tokens = sum(length * count for length, count in counts.lengths.items())
    steps = sum(counts.lengths.values())
    return MonteCarloResult(
        holds=not refuted(log_e, counts.undefined, alpha),
        samples=counts.samples,
        alpha=alpha,
        judged=len(judged),
        log_e=log_e,
        worst=worst,
        detectable_tv=1.0 if by_length[0] is None else by_length[0],
        detectable_by_length=by_length,
        tv_bound=statistics.tv_upper_bound(first.counts, rows[first.row], alpha),
        undefined=counts.undefined,
        unjudged=counts.skipped,
        seconds=seconds,
        steps_per_second=counts.samples / max(seconds, 1e-9),
        tokens_per_step=tokens / steps if steps else 0.0,
        accepted=tuple(counts.lengths.get(k, 0) for k in range(1, max(counts.lengths, default=0) + 1)),
    )


def weigh(groups: Sequence[Group], rows: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], float]:
    """``statistics.log_e_values`` of every group of a plan, and what they come to together.

    Args:
        groups: all of them: contexts that were never reached have e-value 1 and keep their weight in
            the averages, which must not depend on what was sampled.
        rows: see ``expected_rows``.
    """
    counts = np.array([group.counts for group in groups])
    evidence = statistics.log_e_values(counts, rows[[group.row for group in groups]])
    lengths = np.array([group.length for group in groups])
    return evidence, statistics.combined_log_e_value(evidence, lengths)


def refuted(log_e: float, undefined: int, alpha: float) -> bool:
    """Whether so large an e-value, or so many undefined steps, refute that the target is followed."""
    return undefined > 0 or log_e >= -math.log(alpha)


def expected_rows(target: Model, greedy: bool) -> npt.NDArray[np.float64]:
    """The rows that emitted tokens should follow, [R, V]; for greedy decoding point masses."""
    rows = target.floats
    if greedy:
        most_probable = rows.argmax(axis=1)
        rows = np.zeros_like(rows)
        rows[np.arange(len(rows)), most_probable] = 1.0
    return rows


def _context_result(group: Group, expected: npt.NDArray[np.float64], log_e: float) -> ContextResult:
    samples = int(group.counts.sum())
    observed = group.counts / samples
    tv = float(np.abs(observed - expected).sum()) / 2
    return ContextResult(group.context, samples, log_e, observed, expected, tv)


def detectable(
    groups: Sequence[Group], rows: npt.NDArray[np.float64], alpha: float, longest: int | None = None
) -> tuple[float | None, ...]:
    """``detectable_tv`` for the contexts of every length, given how often they were reached.

    Args:
        groups, rows: see ``weigh``.
        longest: the length to stop at.
    """
    lengths = sorted({group.length for group in groups})
    last = max(lengths, default=-1) if longest is None else longest
    found: list[float | None] = []
    for length in range(last + 1):
        level = [group for group in groups if group.length == length and group.counts.any()]
        if not level:
            found.append(None)
            continue
        expected = np.array([rows[group.row] for group in level])
        samples = np.array([group.counts.sum() for group in level])
        handicap = statistics.combination_handicap(len(lengths))
        found.append(statistics.detectable_tv(expected, samples, alpha, handicap=handicap))
    return tuple(found)
