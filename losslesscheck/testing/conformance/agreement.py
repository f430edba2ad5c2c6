"""The check against the reference: the same coins, the same outcome, but for rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.testing import reference
from losslesscheck.testing.batch import stacked
from losslesscheck.testing.calls import emit
from losslesscheck.testing.conformance.check import Check, Inapplicable, Trial
from losslesscheck.testing.conformance.coins import MARGIN, calm, moved, thresholds
from losslesscheck.testing.conformance.inputs import determined, drafted, every_kind, reordered, same, spelled
from losslesscheck.testing.conformance.lane import failure
from losslesscheck.testing.conformance.problems import (
    FOREST,
    MANY,
    at_seams,
    posed,
    rule_of,
    softmax,
    too_many_rows,
    unfit,
)
from losslesscheck.testing.outcome import strayed
from losslesscheck.testing.subject import Batch, Emitted, Subject
from losslesscheck.tree import Tree

ROWS = 128

LARGE_TREES = {
    "one draft": Tree.chain(1),
    "long chain": Tree.chain(20),
    "large tree": Tree.regular((8, 4, 1)),
}
"""Trees on which a kernel's own limits show: of drafts, siblings, nodes in a mask."""

DIFFERENT_TREES = (*FOREST, Tree.regular((6,)))

DIFFERENT_ROWS = 48
"""Rows of each of them and of either kind."""

LARGE = 4133
"""A vocabulary that kernels take in several pieces, the last one not whole."""

MANY_TERMS = 2.0**-8
"""The margin of a coin where so many probabilities are summed up in float32, one after the other."""

PERTURBATIONS = 4
"""Perturbed copies of p and q on which the reference must agree with itself where it is to be trusted."""

RELATIVE = {"float64": 2.0**-20, "float32": 2.0**-20, "float16": 2.0**-8, "bfloat16": 2.0**-5}
"""How much the perturbations change a probability, by the subject's dtype: eight roundings."""


def _cases(subject: Subject) -> dict[str, str]:
    skip = "" if determined(subject) else "its coins cannot be injected"
    try:
        _reference(subject)
    except InputError:
        skip = skip or f"there is no reference for {rule_of(subject).name}"
    greedy = "" if subject.injected else "greedy decoding throws no coins"
    return (
        {
            "anywhere": skip,
            "near thresholds": skip or greedy,
            "large vocabulary": skip,
            "dense large vocabulary": skip,
        }
        | {name: skip or unfit(subject, tree) for name, tree in LARGE_TREES.items()}
        | {
            "different trees": skip or unfit(subject, DIFFERENT_TREES[-1]),
            "many rows": skip or too_many_rows(subject, MANY),
        }
    )


def _reference(subject: Subject) -> Subject:
    return reference.subject(rule_of(subject), dtype="float64")


def coins(trial: Trial) -> Mapping[str, Any]:
    """How coins are to be used is said in ``losslesscheck.testing.subject``."""
    subject, oracle = trial.subject, _reference(trial.subject)
    rng = np.random.default_rng([trial.seed, 2])
    batches = _batches(trial, oracle, rng)
    margin = MARGIN[subject.dtype]
    if trial.case == "dense large vocabulary":
        margin = max(margin, MANY_TERMS)
    compared = sum(_demand_agreement(trial, oracle, calm(b, margin), margin, rng) for b in batches)
    if not compared:
        raise Inapplicable(f"rounding to {subject.dtype} decides every row")
    return {"rows": compared}


def _batches(trial: Trial, oracle: Subject, rng: np.random.Generator) -> list[Batch]:
    subject, rows = trial.subject, trial.rows(ROWS)
    if trial.case == "large vocabulary":
        return [drafted(subject, at_seams(subject, trial.seed, vocabulary=LARGE), rows, trial.seed)]
    if trial.case == "dense large vocabulary":
        return [drafted(subject, softmax(subject, trial.seed, vocabulary=LARGE), rows, trial.seed)]
    if trial.case == "different trees":
        problems = [
            posed(subject, kind, seed=trial.seed, tree=tree)
            for tree in DIFFERENT_TREES
            for kind in ("dense", "sparse")
        ]
        few = trial.rows(DIFFERENT_ROWS)
        batch = stacked(
            [drafted(subject, problem, few, trial.seed + place) for place, problem in enumerate(problems)]
        )
        return [reordered(batch.rows(rng.permutation(batch.size)), rng)]
    if trial.case == "many rows":
        trial.demand_rows(MANY)
        return [drafted(subject, posed(subject, "dense", seed=trial.seed, vocabulary=3), MANY, trial.seed)]
    if trial.case in LARGE_TREES:
        tree = LARGE_TREES[trial.case]
        kinds = [
            posed(subject, kind, seed=trial.seed, vocabulary=12, tree=tree)
            for kind in ("dense", "flat", "sparse", "p ≈ q", "p = q")
        ]
        return [drafted(subject, problem, rows, trial.seed) for problem in kinds]
    # Rows as models have them show what is rounded to fewer digits.
    models = [softmax(subject, trial.seed + number, close=number > 1) for number in range(4)]
    batch = stacked(
        [
            every_kind(subject, rows, trial.seed),
            *(drafted(subject, problem, rows, trial.seed) for problem in models),
        ]
    )
    if trial.case == "anywhere":
        return [batch]
    low, high, _ = thresholds(lambda b: emit(oracle, _exact(b)), batch, rng)
    by = 4 * MARGIN[subject.dtype]
    return [moved(low, -by), moved(high, by)]


def _demand_agreement(
    trial: Trial, oracle: Subject, batch: Batch, margin: float, rng: np.random.Generator
) -> int:
    """Compares the rows in which rounding cannot matter; returns how many those are."""
    subject = trial.subject
    expected, clear = _clear(subject, oracle, batch, margin, rng)
    emitted = emit(subject, batch)
    differ = clear & ~same(emitted, expected)
    if differ.any():
        row = int(np.argmax(differ))
        what = f"It emits {spelled(expected, row)} ({expected.accepted[row]} accepted)"
        if trial.rule.greedy:
            raise failure(trial, batch, emitted, row, "the reference does otherwise", f"{what}.")
        raise failure(
            trial,
            batch,
            emitted,
            row,
            "the reference does otherwise with the same coins",
            f"{what}, also for coins that are {margin:.1g} larger or smaller. A subject that uses its coins "
            "otherwise than losslesscheck.testing.subject says is not lossy for that: xfail coins, or let it "
            "take a seed.",
        )
    return int(clear.sum())


def _clear(
    subject: Subject, oracle: Subject, batch: Batch, margin: float, rng: np.random.Generator
) -> tuple[Emitted, npt.NDArray[np.bool_]]:
    """What the reference emits, and in which rows that hinges on no rounding.

    It must be the same for coins and probabilities that are a little larger or smaller. Where a
    residual is all but empty, its entries are the rounding of larger ones; perturbing those shows it.
    """
    exact = _exact(batch)
    expected = emit(oracle, exact)
    clear = np.ones(batch.size, dtype=bool)
    relative = RELATIVE[subject.dtype]
    for number in range(PERTURBATIONS):
        shaken = replace(
            moved(exact, margin * (-1) ** number),
            target=exact.target * (1 + relative * rng.choice([-1, 1], size=exact.target.shape)),
            draft=exact.draft * (1 + relative * rng.choice([-1, 1], size=exact.draft.shape)),
        )
        clear &= same(expected, emit(oracle, shaken))
    assert strayed(batch, expected) is None
    return expected, clear


def _exact(batch: Batch) -> Batch:
    """The batch in float64."""
    arrays = {name: getattr(batch, name).astype(np.float64) for name in ("target", "draft", "coins", "final")}
    return replace(batch, **arrays)


CHECKS = (Check("coins", "it does what the reference does with the same coins", coins, _cases),)
