"""The check of the law of the whole emitted sequence, and so of how many drafts are accepted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

from losslesscheck import statistics
from losslesscheck.testing import experiment
from losslesscheck.testing.cases import KINDS
from losslesscheck.testing.conformance.certain import law as exact_law
from losslesscheck.testing.conformance.check import Check, Failure, Trial
from losslesscheck.testing.conformance.problems import (
    SHAPES,
    finer,
    posed,
    rule_of,
    unfit,
    without_lengths,
)
from losslesscheck.testing.conformance.sequential import detectable_tv, log10, steps_for
from losslesscheck.testing.message import aligned, odds
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.sampling import PILOT, Sampler
from losslesscheck.testing.subject import Subject

FloatArray = npt.NDArray[np.float64]

ROUNDING = {"float64": 2.0**-20, "float32": 2.0**-20, "float16": 2.0**-6, "bfloat16": 2.0**-4}
"""How often a correct implementation may emit a sequence of probability 0 because it rounds, by dtype.

A residual that should be 0 at a token is 10⁻⁸ in float32, and divided by what is left of the others.
"""

SHOWN = 6
"""Sequences that a message shows at most."""

ONE_BY_ONE = 1024
"""Steps if every one is a call."""


def _cases(subject: Subject) -> dict[str, str]:
    rule = rule_of(subject)
    ragged = without_lengths(subject)
    if not rule.takes_tree:
        ragged = ragged or f"{rule.name} builds its own token tree"
    coarse = f"its probabilities are {subject.dtype}" if "16" in subject.dtype else ""
    if not rule.takes_tree or (rule.fixed_tokens and not rule.greedy):
        coarse = "its draft tokens are fixed: the law hardly hinges on such digits"
    return dict.fromkeys(KINDS, "") | {
        "ragged": ragged,
        "early leaf": unfit(subject, SHAPES["early leaf"]),
        "one row at a time": "so it does everywhere" if subject.batch == 1 else "",
        "finer than bfloat16": coarse,
    }


def _problem(trial: Trial) -> Problem:
    subject, seed = trial.subject, trial.seed
    if trial.case == "ragged":
        return posed(subject, "dense", seed=seed, vocabulary=3, ragged=True)
    if trial.case == "one row at a time":
        return posed(subject, "dense", seed=seed, vocabulary=3)
    if trial.case == "finer than bfloat16":
        return finer(subject)
    if trial.case in SHAPES:
        return posed(subject, "dense", seed=seed, vocabulary=3, tree=SHAPES[trial.case])
    return posed(subject, trial.case, seed=seed, vocabulary=3)


def acceptance(trial: Trial) -> Mapping[str, Any]:
    """An implementation that rejects every draft is lossless; its sequences have another law."""
    subject, settings, problem = trial.subject, trial.settings, _problem(trial)
    sequences = _sequences(problem)
    places = {sequence: place for place, sequence in enumerate(sequences)}
    expected = np.array(list(sequences.values()))
    steps = settings.samples or steps_for(expected, settings.min_tv, trial.level / 2)
    pilot = PILOT
    if trial.case == "one row at a time":
        subject, steps, pilot = replace(subject, batch=1), min(steps, ONE_BY_ONE), ONE_BY_ONE // 8
    sampler = Sampler(subject, problem, trial.seed, pilot=pilot)
    test = statistics.SequentialTest(expected[None], alpha=trial.level / 2)
    others = 0

    def counts(seen: int) -> Any:
        nonlocal others
        sampler.run(seen - sampler.steps)
        found, others = np.zeros((1, len(expected)), dtype=np.int64), 0
        for emitted, number in sampler.counts().law().items():
            if emitted in places:
                found[0, places[emitted]] = number
            else:
                others += number
        return found

    look, seen = experiment.looked_at(test, steps, counts)
    strange = bdtrc(others - 1, seen, ROUNDING[subject.dtype]) if others and seen == steps else 1.0
    data = {
        "problem": sampler.problem.hash,
        "steps": seen,
        "log10_e": log10(look.largest),
        "detectable_sequence_tv": detectable_tv(expected, seen, trial.level / 2),
        "accepted": _lengths(sampler.counts().law(), problem.tree.depth).astype(int).tolist(),
    }
    if look.rejected or strange <= trial.level / 2:
        evidence = f"e-value {odds(look.largest)}, where {odds(-math.log(trial.level / 2))} is proof"
        if not look.rejected:
            evidence = f"{others:,} sequences have probability 0, more than rounding explains"
        raise Failure(_wrong_sequences(trial, problem, sequences, sampler, evidence), data)
    return data


def _sequences(problem: Problem) -> dict[tuple[int, ...], float]:
    """The exact law of the emitted sequence; rows of different lengths are equally frequent."""
    if not problem.ragged:
        return exact_law(problem, problem.tree.size)
    mean: dict[tuple[int, ...], float] = {}
    for count in range(problem.tree.size + 1):
        for emitted, weight in exact_law(problem, count).items():
            mean[emitted] = mean.get(emitted, 0.0) + weight / (problem.tree.size + 1)
    return mean


def _lengths(law: Mapping[tuple[int, ...], float], most: int) -> FloatArray:
    """How often, or how probably, 0, 1, …, ``most`` draft tokens are accepted."""
    found = np.zeros(most + 1)
    for emitted, weight in law.items():
        found[len(emitted) - 1] += weight
    return found


def _wrong_sequences(
    trial: Trial,
    problem: Problem,
    sequences: Mapping[tuple[int, ...], float],
    sampler: Sampler,
    evidence: str,
) -> str:
    observed = {s: n / sampler.steps for s, n in sampler.counts().law().items()}
    depth = problem.tree.depth
    differing = sorted(
        {*sequences, *observed}, key=lambda s: (-abs(sequences.get(s, 0) - observed.get(s, 0)), s)
    )
    shown = sorted(differing[:SHOWN], key=lambda s: (len(s), s))
    tv = sum(abs(sequences.get(s, 0) - observed.get(s, 0)) for s in differing) / 2
    return "\n".join(
        [
            f"{trial.subject.name} does not emit the sequences that {trial.rule.name} does.",
            "",
            f"{problem.name}, tree {problem.tree}, seed {trial.seed}: {sampler.steps:,} steps",
            *_columns(
                "accepted",
                [str(length) for length in range(depth + 1)],
                _lengths(sequences, depth),
                _lengths(observed, depth),
            ),
            "Emitted sequences, those that differ most:",
            *_columns(
                "tokens",
                [" ".join(map(str, s)) for s in shown],
                [sequences.get(s, 0.0) for s in shown],
                [observed.get(s, 0.0) for s in shown],
            ),
            f"  TV {tv:.4g} observed, of the whole sequences",
            f"{evidence[0].upper()}{evidence[1:]}.",
            "",
            f"A correct implementation fails here with probability at most {trial.level:.0e}.",
        ]
    )


def _columns(what: str, names: list[str], expected: Any, observed: Any) -> list[str]:
    table = [[what, "expected", "observed"]] + [
        [name, f"{p:.4g}", f"{r:.4g}"] for name, p, r in zip(names, expected, observed, strict=True)
    ]
    return aligned(table)


CHECKS = (
    Check(
        "acceptance",
        "the emitted sequences, and so the accept lengths, have the rule's law",
        acceptance,
        _cases,
        True,
    ),
)
