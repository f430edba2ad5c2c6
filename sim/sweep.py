"""Sweeps: predictions for every acceptance, draft and cost that is asked for, as columns."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import FloatArray, check_drafted
from losslesscheck.sim.cost import Draft, operations_factor, speedup
from losslesscheck.sim.tokens.prediction import Prediction
from losslesscheck.tree import Tree

MOST_POINTS = 10**7


@dataclass(frozen=True)
class Shape:
    """What is drafted: a chain of ``draft_length`` tokens, or a token tree.

    Raises:
        InputError: unless it is one of the two.
    """

    draft_length: int | None = None
    tree: Tree | None = None

    def __post_init__(self) -> None:
        check_drafted(self.draft_length, self.tree)

    @property
    def draft(self) -> Draft:
        if self.tree is not None:
            return Draft.of(self.tree)
        return Draft.chain(self.draft_length or 0)

    @property
    def drafted(self) -> Tree:
        """The token tree, also of a chain."""
        return Tree.chain(self.draft_length or 0) if self.tree is None else self.tree


Predictor = Callable[[Shape], Prediction]


@dataclass(frozen=True, eq=False)
class Sweep:
    """Points of a sweep, as columns of one length.

    Attributes:
        alpha: the constant α; NaN for another acceptance.
        draft_length: γ; of a tree its depth.
        draft_tokens: that are verified: γ, or those of the tree.
        c: time of a draft pass over that of a target pass.
        tokens_per_step: accepted draft tokens + 1.
        speedup, operations_factor: against decoding one token at a time.
        lowest, highest: the confidence interval of ``tokens_per_step``; NaN unless simulated.
        method: "closed-form", "exact" or "simulated".
    """

    alpha: FloatArray
    draft_length: npt.NDArray[np.int64]
    draft_tokens: npt.NDArray[np.int64]
    c: FloatArray
    tokens_per_step: FloatArray
    speedup: FloatArray
    operations_factor: FloatArray
    lowest: FloatArray
    highest: FloatArray
    method: npt.NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.c)

    @property
    def swept(self) -> list[str]:
        """The columns among the inputs that take several values, those with most values first."""
        counts = {name: len(np.unique(getattr(self, name))) for name in ("draft_length", "alpha", "c")}
        return sorted((name for name, count in counts.items() if count > 1), key=lambda n: -counts[n])

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary for every point; NaN is ``None``."""
        names = [field.name for field in fields(self)]
        columns = [getattr(self, name).tolist() for name in names]
        return [
            {name: None if value != value else value for name, value in zip(names, row, strict=True)}
            for row in zip(*columns, strict=True)
        ]

    def write_csv(self, file: TextIO) -> None:
        """The columns under their names; an empty cell for NaN."""
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(self))
        columns = [getattr(self, field.name).tolist() for field in fields(self)]
        for row in zip(*columns, strict=True):
            writer.writerow("" if value != value else value for value in row)


def sweep(
    predictors: Sequence[tuple[float | None, Predictor]],
    shapes: Sequence[Shape],
    c: npt.ArrayLike,
    *,
    c_hat: float | None = None,
    verify: float = 1.0,
    parallel: bool = False,
) -> Sweep:
    """Every acceptance on every shape at every cost.

    Args:
        predictors: with the constant α that each stands for, if it does.
        c: costs of a draft pass, in target passes.
        c_hat: the same ratio for operations; as c by default.
        verify: what the pass that verifies takes, in target passes over one token.
        parallel: one draft pass drafts everything, as heads do; else there is one for every level.

    Raises:
        InputError: for a cost that is negative, or more than ``MOST_POINTS`` points.

    >>> from losslesscheck.sim import Constant, predict
    >>> eight = lambda shape: predict(Constant(0.8), draft_length=shape.draft_length)
    >>> sweep([(0.8, eight)], [Shape(4)], 0.05).speedup.round(4).tolist()
    [2.8013]
    """
    costs = np.atleast_1d(np.asarray(c, dtype=np.float64))
    if (points := len(predictors) * len(shapes) * len(costs)) > MOST_POINTS:
        raise InputError(f"sweep: {points:,} points are more than {MOST_POINTS:,}")
    speedup(
        1.0, draft_length=1, c=costs, verify=verify
    )  # refuses what is no cost before anything is predicted
    found = [(alpha, shape, predict(shape)) for alpha, predict in predictors for shape in shapes]
    drafts = [shape.draft for _, shape, _ in found]
    passes = [bool(draft.passes) if parallel else len(draft.passes) for draft in drafts]

    def column(values: Sequence[Any]) -> npt.NDArray[Any]:
        return np.repeat(np.array(values), len(costs))

    tokens = column([p.tokens_per_step for _, _, p in found])
    drafted = column([draft.tokens for draft in drafts])
    every_c = np.tile(costs, len(found))
    times = speedup(tokens, draft_length=column(passes), c=every_c, verify=verify)
    # A draft model takes in the nodes that have children: on a chain as many as there are draft tokens.
    taken_in = column([min(1, draft.tokens) if parallel else sum(draft.passes) for draft in drafts])
    share = taken_in / np.maximum(drafted, 1)
    work = operations_factor(
        tokens, draft_length=drafted, c_hat=share * (every_c if c_hat is None else c_hat)
    )
    nowhere = (np.nan, np.nan)
    return Sweep(
        alpha=column([np.nan if alpha is None else alpha for alpha, _, _ in found]),
        draft_length=column([len(draft.passes) for draft in drafts]),
        draft_tokens=drafted,
        c=every_c,
        tokens_per_step=tokens,
        speedup=np.asarray(times),
        operations_factor=np.asarray(work),
        lowest=column([(p.interval or nowhere)[0] for _, _, p in found]),
        highest=column([(p.interval or nowhere)[1] for _, _, p in found]),
        method=column([p.method for _, _, p in found]),
    )
