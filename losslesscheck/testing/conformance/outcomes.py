"""Checks of single outcomes: they are paths of the token tree, of tokens that are possible at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.model import Model
from losslesscheck.testing.batch import stacked
from losslesscheck.testing.calls import emit
from losslesscheck.testing.conformance.check import Check, Trial
from losslesscheck.testing.conformance.coins import LEVELS, thresholds
from losslesscheck.testing.conformance.inputs import drafted, every_kind
from losslesscheck.testing.conformance.lane import demand_path, demand_possible, demand_sound
from losslesscheck.testing.conformance.problems import (
    SHAPES,
    hot,
    posed,
    rule_of,
    seams,
    softmax,
    unfit,
    with_models,
    without_lengths,
)
from losslesscheck.testing.edges import extreme
from losslesscheck.testing.problem import round_to
from losslesscheck.testing.subject import Batch, Emitted, Subject

ROWS = 128
LARGE = 4133
"""A vocabulary that kernels take in several pieces, the last one not whole."""

MANY_TOKENS = 151_936
"""Qwen's vocabulary."""

FAR_TOKENS = (0, 2**15, 2**16 - 1, 2**16, MANY_TOKENS - 1)
"""Tokens in it, for which 16 bits are too few."""


def _path_cases(subject: Subject) -> dict[str, str]:
    lengths = without_lengths(subject)
    return {"full rows": "", "ragged": lengths} | {name: unfit(subject, t) for name, t in SHAPES.items()}


def path(trial: Trial) -> Mapping[str, Any]:
    subject, tree = trial.subject, SHAPES.get(trial.case)
    batch = every_kind(subject, trial.rows(ROWS), trial.seed, tree=tree, ragged=trial.case == "ragged")
    demand_path(trial, batch, emit(subject, batch))
    return {"rows": batch.size}


def _support_cases(subject: Subject) -> dict[str, str]:
    injected = "" if subject.injected else "its coins cannot be injected"
    if rule_of(subject).greedy:
        injected = "greedy decoding throws no coins"
    return {
        "ordinary coins": "",
        "coins at the ends": injected,
        "coins at thresholds": injected,
        "large vocabulary": "",
        f"{MANY_TOKENS} tokens": "",
    }


def support(trial: Trial) -> Mapping[str, Any]:
    subject, rng = trial.subject, np.random.default_rng([trial.seed, 2])
    if trial.case == "large vocabulary":
        batch = _large(trial, rng)
    elif trial.case == f"{MANY_TOKENS} tokens":
        masses = [hot(subject, number, len(FAR_TOKENS)) for number in range(2 * len(FAR_TOKENS))]
        batch = _far_apart(stacked([drafted(subject, problem, 1, trial.seed) for problem in masses]))
    else:
        rows = trial.rows(ROWS)
        models = drafted(subject, softmax(subject, trial.seed), rows, trial.seed)
        batch = stacked([every_kind(subject, rows, trial.seed), models])
    if trial.case == "coins at thresholds":

        def outcome(tried: Batch) -> Emitted:
            emitted = emit(subject, tried)
            demand_possible(trial, tried, emitted)
            return emitted

        thresholds(outcome, batch, rng)
        return {"rows": batch.size}
    if trial.case == "coins at the ends":
        batch = extreme(batch, rng)
    demand_possible(trial, batch, emit(subject, batch))
    return {"rows": batch.size}


def _large(trial: Trial, rng: np.random.Generator) -> Batch:
    """Sums of parts and of all differ by rounding: the last coins are such that they point beyond the end."""
    subject = trial.subject
    models = softmax(subject, trial.seed, vocabulary=LARGE, zeros="tail")
    # The last token may be among those that have all the probability: 4133 = 4·1033 + 1.
    peaks = [hot(subject, number, LARGE, step=LARGE // 4) for number in range(10)]
    places = seams(LARGE)
    equal = np.zeros((1, LARGE))
    equal[0, places] = 1 / len(places)  # so that under greedy decoding several tiles tie
    ties = with_models(subject, "ties at seams", Model(equal, name="target"), Model(equal, name="draft"))
    batch = stacked(
        [
            drafted(subject, models, trial.rows(64), trial.seed),
            *(drafted(subject, problem, 1, trial.seed) for problem in (*peaks, ties)),
        ]
    )
    if not subject.injected:
        return batch
    last = 1 - rng.integers(1, 257, size=batch.size) / LEVELS
    return replace(extreme(batch, rng), final=last.astype(batch.final.dtype))


def _far_apart(batch: Batch) -> Batch:
    """The batch with ``FAR_TOKENS`` in place of its tokens."""

    def widened(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        wide = np.zeros((*rows.shape[:-1], MANY_TOKENS), dtype=rows.dtype)
        wide[..., FAR_TOKENS] = rows
        return wide

    tokens = np.array(FAR_TOKENS)[batch.tokens]
    return replace(batch, target=widened(batch.target), draft=widened(batch.draft), tokens=tokens)


FLOATS = {
    "denormals": ("dense", "sparse"),
    "smallest normals": ("dense", "sparse"),
    # A residual without any mass is reached where no token has probability 0: any will do.
    "sums that are off by an ulp": ("dense", "p = q"),
    "ties": ("flat", "ties", "p ≈ q"),
}
"""Degenerate floats, and the kinds that they are put into."""


def floats(trial: Trial) -> Mapping[str, Any]:
    subject = trial.subject
    rng = np.random.default_rng([trial.seed, 3])
    for kind in FLOATS[trial.case]:
        batch = drafted(subject, posed(subject, kind, seed=trial.seed), trial.rows(ROWS), trial.seed)
        target, draft = _degenerate(trial, batch.target, rng), batch.draft
        if not rule_of(subject).fixed_tokens:
            # A draft token of denormal probability is never drawn; with a coin of (0, 1], u·q may
            # underflow to 0, and 0 <= p accepts it.
            draft = _degenerate(trial, draft, rng, keep=batch.tokens)
        batch = replace(batch, target=target, draft=draft)
        # A coin of 0 accepts what has a denormal probability; what is multiplied by it then underflows.
        if subject.injected and trial.case in ("sums that are off by an ulp", "ties"):
            batch = extreme(batch, rng)
        demand_sound(trial, batch, emit(subject, batch), f"Among the probabilities are {trial.case}.")
    return {}


def _degenerate(
    trial: Trial, rows: npt.NDArray[Any], rng: np.random.Generator, keep: npt.NDArray[Any] | None = None
) -> npt.NDArray[Any]:
    """The rows [..., V] with what the case says among their probabilities.

    Args:
        keep: a token of every row, [...], whose probability does not become a small one.
    """
    dtype = trial.subject.dtype
    smallest, tiny = SMALLEST[dtype]
    chosen = (rows > 0) & (rng.random(rows.shape) < 1 / 3) & (rows < rows.max(axis=-1, keepdims=True))
    if keep is not None:
        np.put_along_axis(chosen, keep[..., None], False, -1)
    if trial.case == "sums that are off by an ulp":
        return _next(rows, dtype, rng.integers(-1, 2, size=rows.shape) * (rows > 0) * (rows < 1))
    if trial.case == "ties":
        # The last of the likeliest tokens is the likeliest by a little, in every other row.
        last = np.arange(rows.shape[-1]) == rows.shape[-1] - 1 - rows[..., ::-1].argmax(axis=-1)[..., None]
        return _next(rows, dtype, TIE * last * (rows < 1) * rng.integers(2, size=(*rows.shape[:-1], 1)))
    small = smallest * rng.integers(1, 4, size=rows.shape) if trial.case == "denormals" else tiny
    replaced = np.where(chosen, np.asarray(small, dtype=rows.dtype), rows)
    # The largest entry takes what the others lost, so that the sum is 1 to the last bit.
    largest = rows.argmax(axis=-1)[..., None]
    lost = np.where(chosen, rows, 0).sum(axis=-1, keepdims=True)
    np.put_along_axis(replaced, largest, np.take_along_axis(rows, largest, -1) + lost, -1)
    return replaced


SMALLEST = {
    "float64": (2.0**-1074, 2.0**-1022),
    "float32": (2.0**-149, 2.0**-126),
    "float16": (2.0**-24, 2.0**-14),
    "bfloat16": (2.0**-133, 2.0**-126),
}
"""The smallest denormal and the smallest normal number by dtype."""


TIE = 8
"""By how many ulps one of two likeliest tokens is the likelier one: logarithms of neighbouring numbers
round to the same, and an argmax of logits or log-probabilities is right too."""


def _next(rows: npt.NDArray[Any], dtype: str, steps: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """The number of the dtype that is so many steps (−1 or more) above every entry."""
    spacing = 2.0 ** np.floor(np.log2(np.maximum(rows, 2.0**-100)).astype(np.float64))
    below = (steps < 0) & (rows == spacing)
    ulp = spacing * ULP[dtype] * np.where(below, 0.5, 1)
    return round_to(rows + steps * ulp, dtype).astype(rows.dtype)


ULP = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The spacing of the numbers from 1 to 2 by dtype."""

CHECKS = (
    Check("path", "what counts as accepted is a path of draft tokens", path, _path_cases),
    Check("support", "no token of probability 0 is ever emitted", support, _support_cases),
    Check(
        "floats",
        "denormals, ties and sums that are off by an ulp lead to a possible outcome",
        floats,
        lambda subject: dict.fromkeys(FLOATS, ""),
    ),
)
