"""Checks of the law: of every next token given those before, and of the whole emitted sequence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

from losslesscheck import statistics
from losslesscheck.testing import assertion, experiment
from losslesscheck.testing.cases import KINDS
from losslesscheck.testing.conformance.certain import law as exact_law
from losslesscheck.testing.conformance.check import Check, Failure, Trial
from losslesscheck.testing.conformance.inputs import SHAPES, posed, rule_of, unfit, without_lengths
from losslesscheck.testing.conformance.sequential import (
    LEAST,
    detectable_tv,
    log10,
    steps_for,
)
from losslesscheck.testing.message import aligned, odds
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.sampling import Sampler
from losslesscheck.testing.subject import Subject
from losslesscheck.tree import Tree

FloatArray = npt.NDArray[np.float64]

ROUNDING = {"float64": 2.0**-20, "float32": 2.0**-20, "float16": 2.0**-6, "bfloat16": 2.0**-4}
"""How often a correct implementation may emit a sequence of probability 0 because it rounds, by dtype.

A residual that should be 0 at a token is 10⁻⁸ in float32, and divided by what is left of the others.
"""

SHOWN = 6
"""Sequences that a message shows."""


def _law_cases(subject: Subject) -> dict[str, str]:
    rule = rule_of(subject)
    ragged = without_lengths(subject)
    if not rule.claims_lossless:
        ragged = ragged or f"the law of {rule.name}, which is lossy, depends on the length"
    duplicates = impossible = unfit(subject, Tree.regular((2,)))
    if rule.distinct_siblings:
        duplicates = duplicates or f"{rule.name} needs distinct siblings"
    if rule.takes_tried:
        duplicates = duplicates or f"{rule.name} draws its siblings without replacement"
    if not rule.fixed_tokens:
        impossible = impossible or "its siblings are drawn: see law[zero tail] and law[disjoint]"
    return (
        dict.fromkeys(KINDS, "")
        | {"ragged": ragged, "padded": ""}
        | {name: unfit(subject, tree) for name, tree in SHAPES.items()}
        | {"duplicate siblings": duplicates, "impossible siblings": impossible}
    )


def _law_problem(trial: Trial) -> Problem:
    subject, seed, rule = trial.subject, trial.seed, trial.rule
    # The law of a lossy rule is computed exactly, which is quick for few tokens.
    few = 8 if rule.claims_lossless else 4
    match trial.case:
        case "ragged":
            return posed(subject, "dense", seed=seed, vocabulary=few, ragged=True)
        case "padded":
            return posed(subject, "dense", seed=seed, vocabulary=few, padded=3)
        case "duplicate siblings" if rule.fixed_tokens:
            below = (Tree(token=0),)
            tree = Tree((Tree(below, 1), Tree(below, 1), Tree((), 2)))
            return posed(subject, "dense", seed=seed, vocabulary=few, tree=tree)
        case "duplicate siblings":
            return posed(subject, "dense", seed=seed, vocabulary=2, tree=Tree.regular((3, 1)))
        case "impossible siblings":
            # The last half of the tokens have probability 0.
            tree = Tree((Tree((Tree(token=1),), few - 1), Tree((Tree(token=few - 2), Tree(token=0)), 1)))
            return posed(subject, "zero tail", seed=seed, vocabulary=few, tree=tree)
    if trial.case in SHAPES:
        return posed(subject, "dense", seed=seed, vocabulary=4, tree=SHAPES[trial.case])
    return posed(subject, trial.case, seed=seed, vocabulary=few)


def law(trial: Trial) -> Mapping[str, Any]:
    settings, problem = trial.settings, _law_problem(trial)
    if not trial.rule.claims_lossless:
        exact_law(problem, problem.tree.size)  # where it has none, the check does not apply
    steps = settings.samples or max(LEAST, experiment.steps_for(problem, settings.min_tv, trial.level))
    found = experiment.run(trial.subject, problem, steps=steps, alpha=trial.level, seed=trial.seed)
    data = {
        "problem": found.problem.hash,
        "steps": found.steps,
        "log10_e": log10(found.log_e),
        "tv_bound": found.tv_bound,
        "detectable_tv": found.detectable_tv,
        "accepted": list(found.accepted),
    }
    if found.refuted:
        raise Failure(assertion.failure(found, None), data)
    return data


def _acceptance_cases(subject: Subject) -> dict[str, str]:
    rule = rule_of(subject)
    ragged = without_lengths(subject)
    if not rule.takes_tree:
        ragged = ragged or f"{rule.name} builds its own token tree"
    return dict.fromkeys(KINDS, "") | {
        "ragged": ragged,
        "early leaf": unfit(subject, SHAPES["early leaf"]),
    }


def _acceptance_problem(trial: Trial) -> Problem:
    subject, seed = trial.subject, trial.seed
    if trial.case == "ragged":
        return posed(subject, "dense", seed=seed, vocabulary=3, ragged=True)
    if trial.case in SHAPES:
        return posed(subject, "dense", seed=seed, vocabulary=3, tree=SHAPES[trial.case])
    return posed(subject, trial.case, seed=seed, vocabulary=3)


def acceptance(trial: Trial) -> Mapping[str, Any]:
    """An implementation that rejects every draft is lossless; its sequences have another law."""
    subject, settings, problem = trial.subject, trial.settings, _acceptance_problem(trial)
    sequences = _sequences(problem)
    places = {sequence: place for place, sequence in enumerate(sequences)}
    expected = np.array(list(sequences.values()))
    steps = settings.samples or steps_for(expected, settings.min_tv, trial.level / 2)
    sampler = Sampler(subject, problem, trial.seed)
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
    Check("law", "every next token follows its law, given the tokens before", law, _law_cases, True),
    Check(
        "acceptance",
        "the emitted sequences, and so the accept lengths, have the rule's law",
        acceptance,
        _acceptance_cases,
        True,
    ),
)
