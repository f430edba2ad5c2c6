"""An experiment: a subject is run on a problem until its law is refuted or a bias would have shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck import statistics
from losslesscheck.errors import InputError
from losslesscheck.law import UNDEFINED, rows
from losslesscheck.machines.exact import exact_law, vectors
from losslesscheck.machines.monte_carlo.tally import Counts, Group, Pool
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.sampling import PILOT, Sampler
from losslesscheck.testing.subject import Subject

FloatArray = npt.NDArray[np.float64]

FIRST_LOOK = 4096
"""Steps before the first look."""

BETWEEN_LOOKS = 4
"""The factor by which the number of steps grows from look to look, so that looking costs little."""

POWER = 0.9
"""The probability with which a bias of the stated size would have been found."""


@dataclass(frozen=True)
class Context:
    """The next tokens after one context, or after a pool of contexts with the same row.

    Attributes:
        context: the tokens before.
        samples: how often something followed them.
        log_e: natural logarithm of the e-value of this context alone.
        expected, observed: the law that the next token should have, and its frequencies, shape [V].
    """

    context: tuple[int, ...] | Pool
    samples: int
    log_e: float
    expected: FloatArray = field(repr=False)
    observed: FloatArray = field(repr=False)

    @property
    def tv(self) -> float:
        """½ Σ |observed − expected|."""
        return float(np.abs(self.observed - self.expected).sum()) / 2


@dataclass(frozen=True)
class Experiment:
    """What an experiment says.

    Attributes:
        subject: the implementation's name.
        problem: the problem, as the subject saw it.
        seed: of the experiment.
        steps: draft-and-verify steps that were counted.
        unjudged: emitted tokens that were not tested, as their row was too rare for a counter.
        alpha: bound on the probability that a correct implementation is refuted.
        log_e: natural logarithm of the e-value; refuted if it reaches log 1/alpha.
        refuted: whether it did, at any look.
        contexts: all that were reached, the most suspicious first.
        biased: those that are refuted on their own, at the same total ``alpha``.
        tv_bound: upper confidence bound, at level 1 − alpha, on the TV between the law of the first
            token and the expected one.
        detectable_tv: the bias of the first token, in TV, that would have been found with probability
            ``POWER``.
        accepted: how many steps accepted 0, 1, 2, … draft tokens, up to the tree's depth.
    """

    subject: str
    problem: Problem
    seed: int
    steps: int
    unjudged: int
    alpha: float
    log_e: float
    refuted: bool
    contexts: tuple[Context, ...]
    biased: tuple[Context, ...]
    tv_bound: float
    detectable_tv: float
    accepted: tuple[int, ...]

    @property
    def tokens_per_step(self) -> float:
        return 1 + float(np.average(np.arange(len(self.accepted)), weights=self.accepted))


class Laws:
    """What the subject's next tokens should follow: the target's rows, or the exact law of a lossy rule."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.lossless = problem.rule.claims_lossless

    @cached_property
    def sequences(self) -> dict[tuple[int, ...], float]:
        """The exact law of the emitted sequence under the rule.

        Raises:
            InputError: if the rule reaches an undefined value here.
        """
        return {emitted: _float(weight) for emitted, weight in self._exact.items() if weight}

    @cached_property
    def _exact(self) -> dict[tuple[int, ...], Any]:
        p = self.problem
        law = exact_law(p.rule, p.target, p.draft, p.tree)
        if law.get(UNDEFINED):
            raise InputError(f"rule {p.rule.name} is not defined on {p.name}: it reaches 0/0")
        return law

    @cached_property
    def _by_context(self) -> dict[tuple[int, ...], FloatArray]:
        found = rows(self._exact, self.problem.vocabulary, vectors(self.problem.target))
        return {row.context: np.array([_float(a) for a in row.emitted]) for row in found if row.reached}

    def of(self, group: Group) -> FloatArray:
        """The law of the next token after a context, shape [V]."""
        if self.lossless:
            expected: FloatArray = self.problem.expected[group.row]
            return expected
        if self.problem.ragged:
            raise InputError(
                f"ragged: the law of {self.problem.rule.name}, which is lossy, depends on the length of a row"
            )
        if isinstance(group.context, Pool):
            raise InputError(
                f"vocabulary: the law of {self.problem.rule.name}, which is lossy, differs from context to "
                f"context, and V = {self.problem.vocabulary} has too many of them"
            )
        # A context after which the rule emits nothing has no such law.
        own: FloatArray = self._by_context.get(group.context, self.problem.expected[group.row])
        return own


def steps_for(problem: Problem, min_tv: float, alpha: float) -> int:
    """How many steps show a bias of the first token of this size, with probability ``POWER``.

    Raises:
        InputError: if ``min_tv`` is not in [1e-6, 1/2).
    """
    if not 1e-6 <= min_tv < 0.5:
        raise InputError(f"min_tv: {min_tv} is not between 1e-6 and 1/2")
    first = problem.expected[int(problem.target.index(()))]
    handicap = statistics.combination_handicap(problem.tree.depth + 1)
    return int(statistics.samples_needed(first, min_tv, alpha=alpha, power=POWER, handicap=handicap))


def run(subject: Subject, problem: Problem, *, steps: int, alpha: float, seed: int) -> Experiment:
    """Runs a subject on a problem and tests the law of every next token.

    The law is looked at after 4096, 16384, 65536, … steps, and the run ends when it is refuted. That
    does not raise the probability of a false alarm: the test is an e-process.

    Args:
        subject: the implementation.
        problem: what it is run on.
        steps: how many draft-and-verify steps at most.
        alpha: bound on the probability that a correct implementation is refuted.
        seed: of drafts, coins and the subject's seeds.

    Raises:
        InputError: if the problem does not suit the subject.
        SubjectError: if the subject fails.
    """
    _check_resolution(problem.rounded(subject.dtype), subject.dtype, steps)
    sampler = Sampler(subject, problem, seed, pilot=min(PILOT, steps))
    laws = Laws(sampler.problem)
    groups = list(sampler.counts().groups())
    expected = np.array([laws.of(group) for group in groups])
    lengths = np.array([group.length for group in groups])
    test = statistics.SequentialTest(expected, lengths, alpha=alpha)

    def seen(number: int) -> npt.NDArray[np.int64]:
        sampler.run(number - sampler.steps)
        return _matrix(sampler.counts())

    look, _ = looked_at(test, steps, seen)
    counts = sampler.counts()
    found = tuple(
        _context(group, expected[place], float(look.alone[place]))
        for place, group in enumerate(counts.groups())
        if group.counts.any()
    )
    biased = {groups[place].context for place in look.biased}
    ordered = tuple(sorted(found, key=lambda c: -c.log_e))
    return Experiment(
        subject=subject.name,
        problem=sampler.problem,
        seed=seed,
        steps=sampler.steps,
        unjudged=counts.skipped,
        alpha=alpha,
        log_e=float(look.largest),
        refuted=look.rejected,
        contexts=ordered,
        biased=tuple(c for c in ordered if c.context in biased),
        tv_bound=float(look.tv_bounds[0]),
        detectable_tv=statistics.detectable_tv(
            expected[0],
            sampler.steps,
            alpha,
            POWER,
            handicap=statistics.combination_handicap(len(np.unique(lengths))),
        ),
        accepted=tuple(counts.lengths.get(k, 0) for k in range(1, problem.tree.depth + 2)),
    )


def looked_at(
    test: statistics.SequentialTest, samples: int, counts: Callable[[int], npt.NDArray[np.int64]]
) -> tuple[statistics.Look, int]:
    """Counts until a law is refuted or enough has been seen.

    Args:
        samples: how many at most.
        counts: given a number of samples, what ``test`` looks at when that many have been seen.

    Returns:
        The last look, and how many samples were seen then.
    """
    seen = min(FIRST_LOOK, samples)
    while True:
        look = test.look(counts(seen))
        if look.rejected or seen >= samples:
            return look, seen
        seen = min(BETWEEN_LOOKS * seen, samples)


def _check_resolution(problem: Problem, dtype: str, steps: int) -> None:
    """Refuses probabilities that coins cannot give.

    A correct implementation's probabilities are off by up to one step of its coins, d = 2⁻²⁴ in float32.
    In N steps that makes a chi² of N d² Σ 1/p, which must stay far below what is an alarm.

    Raises:
        InputError: naming the row.
    """
    step = 2.0**-53 if dtype == "float64" else 2.0**-24
    rows = problem.expected
    with np.errstate(divide="ignore"):
        noise = steps * step**2 * np.where(rows > 0, 1 / rows, 0).sum(axis=1)
    if noise.max() > 1:
        row = int(noise.argmax())
        least = rows[row][rows[row] > 0].min()
        raise InputError(
            f"target[{row}] has probabilities down to {least:.2g}, which coins of {dtype} give only roughly: "
            f"in {steps:,} steps a correct implementation would be refuted. Take fewer steps or float64."
        )


def _matrix(counts: Counts) -> npt.NDArray[np.int64]:
    plan = counts.plan
    return counts.counts.reshape(plan.slots, plan.vocabulary)


def _context(group: Group, expected: FloatArray, log_e: float) -> Context:
    samples = int(group.counts.sum())
    return Context(group.context, samples, log_e, expected, group.counts / samples)


def _float(value: Any) -> float:
    return float(int(value.p) / int(value.q))
