"""One row of a batch, in words, for the message of a failed check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.testing.conformance.check import Failure, Trial
from losslesscheck.testing.conformance.inputs import sequence
from losslesscheck.testing.conformance.problems import rule_of
from losslesscheck.testing.outcome import NOWHERE, impossible, nodes, strayed
from losslesscheck.testing.subject import Batch, Emitted, Subject

ENTRIES = 8
"""The largest vocabulary of which a message shows all probabilities."""

LINES = 8
"""Rows of probabilities that a message shows."""


def failure(trial: Trial, batch: Batch, emitted: Emitted, row: int, what: str, because: str = "") -> Failure:
    """The failure of a check that involves no chance.

    Args:
        row: the row of the batch that shows it.
        what: what is wrong there.
        because: what should have been, a sentence.
    """
    lines = [f"{trial.subject.name}, row {row} of {batch.size}: {what}."]
    if because:
        lines.append(because)
    lines += described(trial.subject, batch, emitted, row)
    coins = "the coins were injected" if trial.subject.injected else "the seed decides it"
    if trial.rule.greedy:
        coins = "greedy decoding throws no coins"
    lines.append(f"Not by chance: {coins}. Seed {trial.seed}.")
    return Failure("\n".join(lines), {"rows": batch.size})


def described(subject: Subject, batch: Batch, emitted: Emitted, row: int) -> list[str]:
    """Inputs and outcome of a row."""
    count = int(batch.lengths[row])
    facts = [
        ("draft tokens", _numbers(batch.tokens[row, :count]) or "none"),
        ("emitted", f"{_numbers(sequence(emitted, row))}  ({int(emitted.accepted[row])} accepted)"),
    ]
    if batch.parents[row, :count].tolist() != list(range(-1, count - 1)):
        facts.insert(1, ("below token", _numbers(batch.parents[row, :count])))
    if subject.injected:
        facts.append(("coins", f"{_numbers(batch.coins[row, :count]) or 'none'}; final {batch.final[row]!s}"))
    facts += _probabilities(subject, batch, emitted, row)[:LINES]
    width = max(len(name) for name, _ in facts)
    return [f"  {name:{width}}  {value}" for name, value in facts]


def _probabilities(subject: Subject, batch: Batch, emitted: Emitted, row: int) -> list[tuple[str, str]]:
    """p at the nodes that were reached, and q of the draft tokens below them."""
    facts = []
    path = nodes(batch.rows([row]), Emitted(emitted.tokens[[row]], emitted.accepted[[row]]))[0].tolist()
    for node, token in zip(path, emitted.tokens[row].tolist(), strict=True):
        if node == NOWHERE:
            continue
        below = [i for i in range(int(batch.lengths[row])) if batch.parents[row, i] + 1 == node]
        concerned = sorted({token, *batch.tokens[row, below].tolist()})
        where = "at the start" if node == 0 else f"after draft {node - 1}"
        facts.append((f"p {where}", _row(batch.target[row, node], concerned)))
        if "draft" in subject.takes and not rule_of(subject).fixed_tokens:
            facts += [(f"q of draft {i}", _row(batch.draft[row, i], concerned)) for i in below]
    return facts


def _row(values: npt.NDArray[Any], concerned: list[int]) -> str:
    """A row of probabilities; of a large vocabulary the entries of some tokens only."""
    if len(values) > ENTRIES:
        return ", ".join(f"{values[token]:.4g} at {token}" for token in concerned)
    if (np.floor(values * 256) == values * 256).all():
        return f"({_numbers((values * 256).astype(np.int64))}) / 256"
    return f"({' '.join(f'{value:.4g}' for value in values)})"


def _numbers(values: Any) -> str:
    return " ".join(map(str, values))


def demand_sound(trial: Trial, batch: Batch, emitted: Emitted, note: str = "") -> None:
    """What every outcome must be: a path of draft tokens, and then a token; all of positive probability.

    Raises:
        Failure: naming the first row where it is not, with a sentence on what is special there.
    """
    demand_path(trial, batch, emitted, note)
    demand_possible(trial, batch, emitted, note)


def demand_path(trial: Trial, batch: Batch, emitted: Emitted, note: str = "") -> None:
    """Raises a ``Failure`` if what counts as accepted is no path of draft tokens."""
    found = strayed(batch, emitted)
    if found is not None:
        row, place = found
        token = emitted.tokens[row, place]
        raise failure(
            trial,
            batch,
            emitted,
            row,
            f"token {token} at place {place} counts as accepted, but no draft token there is",
            note,
        )


def demand_possible(trial: Trial, batch: Batch, emitted: Emitted, note: str = "") -> None:
    """Raises a ``Failure`` if a token is emitted that the target gives probability 0.

    Under greedy decoding all tokens but the first of the likeliest have probability 0.
    """
    greedy = trial.rule.greedy and trial.rule.claims_lossless
    found = impossible(_greedily(batch) if greedy else batch, emitted)
    if found is not None:
        row, place = found
        what = "is not the likeliest, of equals the first," if greedy else "has probability 0"
        token = emitted.tokens[row, place]
        raise failure(trial, batch, emitted, row, f"token {token} at place {place} {what}", note)


def _greedily(batch: Batch) -> Batch:
    """The batch with the target's point masses of greedy decoding."""
    best = batch.target.argmax(axis=-1)[..., None]
    return replace(batch, target=(np.arange(batch.vocabulary) == best).astype(batch.target.dtype))
