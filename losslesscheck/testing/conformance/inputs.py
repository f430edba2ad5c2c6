"""Batches of problems, and what an implementation emits in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from losslesscheck.testing import cases
from losslesscheck.testing.batch import stacked
from losslesscheck.testing.conformance.problems import posed, rule_of
from losslesscheck.testing.drafting import Drafter, flattened
from losslesscheck.testing.problem import Problem, round_to
from losslesscheck.testing.subject import Batch, Emitted, Subject
from losslesscheck.tree import Tree


def drafted(subject: Subject, problem: Problem, size: int, seed: int) -> Batch:
    """A batch of a problem, with probabilities that the subject's dtype holds."""
    wide = "float64" if subject.dtype == "float64" else "float32"
    batch = Drafter(problem, wide).batch(size, np.random.default_rng([seed, 1]))
    if subject.dtype == wide:
        return batch
    target, draft = (
        round_to(values.astype(np.float64), subject.dtype).astype(wide)
        for values in (batch.target, batch.draft)
    )
    return replace(batch, target=target, draft=draft)


def every_kind(
    subject: Subject, rows: int, seed: int, *, tree: Tree | None = None, ragged: bool = False
) -> Batch:
    """``rows`` rows of every one of ``cases.KINDS``, one below the other."""
    problems = [posed(subject, kind, seed=seed, tree=tree, ragged=ragged) for kind in cases.KINDS]
    return stacked([drafted(subject, problem, rows, seed) for problem in problems])


def reordered(batch: Batch, rng: np.random.Generator) -> Batch:
    """The batch with the draft tokens of every row in an order of its own.

    Parents stand before their children, and siblings in the order that they had.
    """
    rows = np.arange(batch.size)[:, None]
    order = np.array([_any_order(parents, rng) for parents in batch.parents.tolist()])
    above = batch.parents[rows, order]
    return replace(
        batch,
        target=batch.target[rows, np.column_stack([np.zeros_like(rows), order + 1])],
        draft=batch.draft[rows, order],
        tokens=batch.tokens[rows, order],
        parents=np.where(above < 0, -1, np.argsort(order, axis=1)[rows, above]),
        coins=batch.coins[rows, order],
    )


def _any_order(parents: list[int], rng: np.random.Generator) -> list[int]:
    order: list[int] = []
    while len(order) < len(parents):
        ready = [
            i
            for i, parent in enumerate(parents)
            if i not in order
            and (parent < 0 or parent in order)
            and all(j in order for j in range(i) if parents[j] == parent)
        ]
        order.append(ready[int(rng.integers(len(ready)))])
    return order


def truncated(tree: Tree, count: int) -> Tree:
    """The first ``count`` draft tokens of a token tree, level by level."""
    parents, tokens = flattened(tree)
    return Tree.from_parents(parents[:count], tokens[:count] if tree.tokens else None)


def same(one: Emitted, other: Emitted) -> npt.NDArray[np.bool_]:
    """Which rows of two results of ``emit`` are equal, shape [B]."""
    equal: npt.NDArray[np.bool_] = (one.tokens == other.tokens).all(axis=1) & (one.accepted == other.accepted)
    return equal


def sequence(emitted: Emitted, row: int) -> tuple[int, ...]:
    """The tokens that were emitted in a row."""
    return tuple(emitted.tokens[row, : emitted.accepted[row] + 1].tolist())


def spelled(emitted: Emitted, row: int) -> str:
    """The tokens that were emitted in a row, for a message."""
    return " ".join(map(str, sequence(emitted, row)))


def determined(subject: Subject) -> bool:
    """Whether what is emitted is a function of the batch: coins are injected, or the rule throws none."""
    return subject.injected or rule_of(subject).greedy
