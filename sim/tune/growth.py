"""Sequoia's dynamic program over token trees (Chen et al. 2024, arXiv 2402.12374).

T[n, b] = max_m T[n − m, b − 1] + P[b] · Tmax[m]: the best expectation of a tree of n nodes whose root has b
children, the b-th of them the root of a subtree of m nodes. With a bound on the depth, Tmax is that of one
level less. Here nodes are counted without the root, and a value is Σ P(reached) over them.

Where P never rises with the rank, all values of a level are concave in the number of nodes, and the
convolution is a merge: no node is worth more than its parent or the sibling before it, so the n best
nodes are a tree. Otherwise the convolution is done in full.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from losslesscheck.sim.cost.checks import FloatArray

BLOCK = 128
"""Values of n that a convolution handles at a time; a block stays in the cache."""

Subtrees = tuple[int, ...]
"""Draft tokens of the subtree of each child, the child itself included."""


class Level(ABC):
    """What is best below a node, by how many draft tokens there may be.

    Attributes:
        values: ``values[n]``, n = 0 … budget: the greatest Σ P(reached | the node is) over at most n nodes.
        gains: what each node adds where these never rise, so that the best n + 1 nodes hold the best n;
            ``None`` elsewhere. Kept, because differences of ``values`` are off by a rounding.
    """

    values: FloatArray
    gains: FloatArray | None = None

    @abstractmethod
    def split(self, nodes: int) -> Subtrees:
        """How at most that many nodes are shared out among the children in the best tree."""


class Leaf(Level):
    """Nothing below."""

    def __init__(self, budget: int) -> None:
        self.values = np.zeros(budget + 1)
        self.gains = np.zeros(0)

    def split(self, nodes: int) -> Subtrees:
        return ()


class Merged(Level):
    """By merging, for acceptances that never rise with the rank, above gains that never rise.

    Args:
        row: P(the sibling of that rank is accepted | the node is reached); shape [width].
        gains: of the level of the children.
        budget: nodes, at most.
    """

    def __init__(self, row: FloatArray, gains: FloatArray, budget: int) -> None:
        worth = np.concatenate(([1.0], gains))
        ranks, places = _pairs(len(row), budget)
        ranks, places = ranks[places < len(worth)], places[places < len(worth)]
        found = row[ranks] * worth[places]
        # Stable, so that among equals a parent comes before its child and a sibling before the next.
        order = np.argsort(-found, kind="stable")[:budget]
        order = order[found[order] > 0]
        self.ranks, self.gains = ranks[order], found[order]
        self.values = np.zeros(budget + 1)
        self.values[1 : len(order) + 1] = self.gains
        np.cumsum(self.values, out=self.values)

    def split(self, nodes: int) -> Subtrees:
        return tuple(np.bincount(self.ranks[:nodes]).tolist())


class Convolved(Level):
    """By max-plus convolution, for any acceptances above any level."""

    def __init__(self, row: FloatArray, below: Level) -> None:
        budget = len(below.values) - 1
        sums = np.zeros(budget + 1)
        self.values = sums
        self.width = np.zeros(budget + 1, dtype=np.int64)
        self.taken: list[npt.NDArray[np.int64]] = []
        for rank, chance in enumerate(row[:budget]):
            child = np.concatenate(([-np.inf], chance * (1.0 + below.values[:-1])))
            sums, taken = _max_plus(sums, child)
            self.taken.append(taken)
            better = sums > self.values
            self.values = np.where(better, sums, self.values)
            self.width[better] = rank + 1

    def split(self, nodes: int) -> Subtrees:
        shares = []
        for taken in reversed(self.taken[: self.width[nodes]]):
            shares.append(int(taken[nodes]))
            nodes -= shares[-1]
        return tuple(reversed(shares))


def grow(rows: Sequence[FloatArray], budget: int) -> list[Level]:
    """The levels of a tree, the deepest first.

    Args:
        rows: what the siblings at every depth are accepted with, the root's children first.
        budget: draft tokens of the tree, at most.
    """
    levels: list[Level] = []
    below: Level = Leaf(budget)
    for depth in reversed(range(len(rows))):
        row = rows[depth]
        if len(levels) > 1 and np.array_equal(row, rows[depth + 1]) and _settled(levels):
            levels.append(below)
            continue
        if below.gains is not None and (np.diff(row) <= 0).all():
            below = Merged(row, below.gains, budget)
        else:
            below = Convolved(row, below)
        levels.append(below)
    return levels


def _settled(levels: list[Level]) -> bool:
    """Whether the last level gained nothing over the one below it; with the same row none above will."""
    return np.array_equal(levels[-1].values, levels[-2].values)


def _pairs(width: int, budget: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Every (rank, j) with (rank + 1)(j + 1) ≤ budget, rank by rank.

    The others are not among the best: j nodes of the same child beat the j-th of them, and as many of every
    earlier sibling.
    """
    counts = budget // np.arange(1, min(width, budget) + 1)
    ranks = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks, places


def _max_plus(left: FloatArray, right: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """max_m left[n − m] + right[m] and its m, n = 0 … budget."""
    budget = len(left) - 1
    # Row n of the windows is left[n − budget] … left[n], so that the column of m is budget − m.
    windows = sliding_window_view(np.concatenate((np.full(budget, -np.inf), left)), budget + 1)
    backwards = right[::-1]
    best, taken = np.empty(budget + 1), np.empty(budget + 1, dtype=np.int64)
    # Block by block, because of the columns with m > n nothing is needed.
    for start in range(0, budget + 1, BLOCK):
        stop = min(start + BLOCK, budget + 1)
        first = budget + 1 - stop
        sums = windows[start:stop, first:] + backwards[first:]
        place = sums.argmax(axis=1)
        best[start:stop] = sums[np.arange(stop - start), place]
        taken[start:stop] = budget - first - place
    return best, taken
