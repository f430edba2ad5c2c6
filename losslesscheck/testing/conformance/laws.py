"""The check of the law of every next token, given those before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from losslesscheck.testing import experiment
from losslesscheck.testing.cases import KINDS
from losslesscheck.testing.conformance.certain import law as exact_law
from losslesscheck.testing.conformance.check import Check, Failure, Trial
from losslesscheck.testing.conformance.problems import (
    SHAPES,
    alternating,
    posed,
    rule_of,
    unfit,
    without_lengths,
)
from losslesscheck.testing.conformance.sequential import LEAST, log10
from losslesscheck.testing.failure import failure
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Subject
from losslesscheck.tree import Tree

WIDE = ("flat draft", "disjoint", "one-hot draft")
"""Kinds beside the dense one in which the later siblings of a wide tree matter."""

LARGE = 2113
"""A vocabulary that kernels take in several pieces, the last one not whole."""

LARGE_STEPS = 2**12
"""Steps in it, as each of them takes long."""


def _cases(subject: Subject) -> dict[str, str]:
    rule = rule_of(subject)
    ragged = without_lengths(subject)
    if not rule.claims_lossless:
        ragged = ragged or f"the law of {rule.name}, which is lossy, depends on the length"
    large = "see coins[large vocabulary]" if rule.greedy else ""
    if not rule.claims_lossless:
        large = f"the law of {rule.name}, which is lossy, is computed for few tokens only"
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
        | {f"wide tree, {kind}": unfit(subject, SHAPES["wide tree"]) for kind in WIDE}
        | {
            "duplicate siblings": duplicates,
            "impossible siblings": impossible,
            "large vocabulary": large,
        }
    )


def _problem(trial: Trial) -> Problem:
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
        case "large vocabulary":
            return alternating(subject, LARGE, Tree.chain(1) if rule.takes_tree else None)
    shape, _, of = trial.case.partition(", ")
    if of:
        return posed(subject, of, seed=seed, vocabulary=4, tree=SHAPES[shape])
    if trial.case in SHAPES:
        return posed(subject, "dense", seed=seed, vocabulary=4, tree=SHAPES[trial.case])
    return posed(subject, trial.case, seed=seed, vocabulary=few)


def law(trial: Trial) -> Mapping[str, Any]:
    settings, problem = trial.settings, _problem(trial)
    if not trial.rule.claims_lossless:
        exact_law(problem, problem.tree.size)  # where it has none, the check does not apply
    steps = settings.samples or max(LEAST, experiment.steps_for(problem, settings.min_tv, trial.level))
    if trial.case == "large vocabulary":
        steps = min(steps, LARGE_STEPS)
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
        raise Failure(failure(found, None), data)
    return data


CHECKS = (Check("law", "every next token follows its law, given the tokens before", law, _cases, True),)
