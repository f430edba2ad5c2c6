"""The check that the rows of a batch have nothing to do with one another, for injected coins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from losslesscheck.testing.batch import stacked
from losslesscheck.testing.calls import emit
from losslesscheck.testing.conformance.check import Check, Trial
from losslesscheck.testing.conformance.coins import MARGIN, calm, settled
from losslesscheck.testing.conformance.inputs import determined, drafted, same, spelled
from losslesscheck.testing.conformance.lane import failure
from losslesscheck.testing.conformance.problems import hot, posed
from losslesscheck.testing.subject import Batch, Emitted, Subject

ROWS = 96

SURROUNDINGS = {
    "alone": "when it is the only row",
    "permuted": "when the rows of the batch are permuted",
    "neighbours": "between rows certain of other tokens",
}


def _cases(subject: Subject) -> dict[str, str]:
    skip = ""
    if not determined(subject):
        skip = "its coins cannot be injected: see independence and certain"
    elif subject.batch == 1:
        skip = "takes one row at a time"
    return dict.fromkeys(SURROUNDINGS, skip)


def rows(trial: Trial) -> Mapping[str, Any]:
    subject, rng = trial.subject, np.random.default_rng([trial.seed, 2])
    for kind in ("mixed", "dense", "sparse"):
        batch = drafted(subject, posed(subject, kind, seed=trial.seed), trial.rows(ROWS), trial.seed)
        if "lengths" in subject.takes:
            batch = replace(batch, lengths=rng.integers(batch.tokens.shape[1] + 1, size=batch.size))
        batch = calm(batch, MARGIN[subject.dtype])
        together, elsewhere = emit(subject, batch), _elsewhere(trial, batch, rng)
        differ = ~same(together, elsewhere)
        if differ.any():
            differ &= settled(subject, batch, together)
        if differ.any():
            row = int(np.argmax(differ))
            what = f"another outcome {SURROUNDINGS[trial.case]}"
            raise failure(trial, batch, together, row, what, f"There it is {spelled(elsewhere, row)}.")
    return {}


def _elsewhere(trial: Trial, batch: Batch, rng: np.random.Generator) -> Emitted:
    """What the rows emit in other surroundings."""
    subject = trial.subject
    if trial.case == "alone":
        single = [emit(subject, batch.rows([row])) for row in range(batch.size)]
        return Emitted(
            np.concatenate([one.tokens for one in single]), np.concatenate([one.accepted for one in single])
        )
    if trial.case == "permuted":
        order = rng.permutation(batch.size)
        return _chosen(emit(subject, batch.rows(order)), np.argsort(order))
    hostile = [
        drafted(subject, hot(subject, number, batch.vocabulary), batch.size, trial.seed)
        for number in (0, batch.vocabulary + 1)
    ]
    if "lengths" in subject.takes:
        hostile[0] = replace(hostile[0], lengths=np.zeros_like(hostile[0].lengths))
    order = np.arange(3 * batch.size).reshape(3, batch.size).T.ravel()
    emitted = emit(subject, stacked([hostile[0], batch, hostile[1]]).rows(order))
    return _chosen(emitted, np.arange(1, 3 * batch.size, 3))


def _chosen(emitted: Emitted, rows: Any) -> Emitted:
    return Emitted(emitted.tokens[rows], emitted.accepted[rows])


CHECKS = (Check("rows", "a row's outcome does not depend on the other rows", rows, _cases),)
