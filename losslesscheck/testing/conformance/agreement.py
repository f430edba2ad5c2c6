"""The check against the reference: the same coins, the same outcome, but for rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.testing import reference
from losslesscheck.testing.conformance.check import Check, Inapplicable, Trial
from losslesscheck.testing.conformance.coins import MARGIN, calm, moved, thresholds
from losslesscheck.testing.conformance.inputs import (
    determined,
    drafted,
    emit,
    every_kind,
    rule_of,
    same,
    softmax,
    spelled,
    stacked,
)
from losslesscheck.testing.conformance.lane import failure
from losslesscheck.testing.outcome import strayed
from losslesscheck.testing.subject import Batch, Emitted, Subject

ROWS = 128

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
    return {"anywhere": skip, "near thresholds": skip or greedy}


def _reference(subject: Subject) -> Subject:
    return reference.subject(rule_of(subject), dtype="float64")


def coins(trial: Trial) -> Mapping[str, Any]:
    """How coins are to be used is said in ``losslesscheck.testing.subject``."""
    subject, oracle = trial.subject, _reference(trial.subject)
    rng = np.random.default_rng([trial.seed, 2])
    rows = trial.rows(ROWS)
    # Rows as models have them show what is rounded to fewer digits.
    models = [softmax(subject, trial.seed + number, close=number > 1) for number in range(4)]
    batch = stacked(
        [
            every_kind(subject, rows, trial.seed),
            *(drafted(subject, problem, rows, trial.seed) for problem in models),
        ]
    )
    batches = [batch]
    if trial.case == "near thresholds":
        low, high, _ = thresholds(lambda b: emit(oracle, _exact(b)), batch, rng)
        by = 4 * MARGIN[subject.dtype]
        batches = [moved(low, -by), moved(high, by)]
    margin = MARGIN[subject.dtype]
    compared = sum(_demand_agreement(trial, oracle, calm(b, margin), rng) for b in batches)
    if not compared:
        raise Inapplicable(f"rounding to {subject.dtype} decides every row")
    return {"rows": compared}


def _demand_agreement(trial: Trial, oracle: Subject, batch: Batch, rng: np.random.Generator) -> int:
    """Compares the rows in which rounding cannot matter; returns how many those are."""
    subject = trial.subject
    expected, clear = _clear(subject, oracle, batch, rng)
    emitted = emit(subject, batch)
    differ = clear & ~same(emitted, expected)
    if differ.any():
        row = int(np.argmax(differ))
        raise failure(
            trial,
            batch,
            emitted,
            row,
            "the reference does otherwise with the same coins",
            f"It emits {spelled(expected, row)} ({expected.accepted[row]} accepted), also for coins that are "
            f"{MARGIN[subject.dtype]:.1g} larger or smaller.",
        )
    return int(clear.sum())


def _clear(
    subject: Subject, oracle: Subject, batch: Batch, rng: np.random.Generator
) -> tuple[Emitted, npt.NDArray[np.bool_]]:
    """What the reference emits, and in which rows that hinges on no rounding.

    It must be the same for coins and probabilities that are a little larger or smaller. Where a
    residual is all but empty, its entries are the rounding of larger ones; perturbing those shows it.
    """
    exact = _exact(batch)
    expected = emit(oracle, exact)
    clear = np.ones(batch.size, dtype=bool)
    relative, margin = RELATIVE[subject.dtype], MARGIN[subject.dtype]
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
