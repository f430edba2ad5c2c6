"""What an acceptance model answers: how many draft tokens of a step are accepted, and with which probability.

Every number here counts *accepted* draft tokens, 0 … γ; a step emits one token more (the bonus token, or the
one drawn after a rejection).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.tree import Tree

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ROUNDING = 1e-9
"""By how much probabilities that should sum to one may miss it."""


class Acceptance(ABC):
    """A model of which draft tokens are accepted.

    As it stands here the nodes of a step decide independently of one another: given that a node is reached,
    which of its siblings is accepted depends on the node's depth and on nothing else. Models for which that
    is not so override all methods but ``siblings``.
    """

    @abstractmethod
    def siblings(self, depth: int, width: int) -> FloatArray:
        """P(the r-th sibling tried is the one accepted | the node is reached), r = 0 … width − 1.

        Args:
            depth: of the node whose children they are; 0 for the root.
            width: how many siblings the node has.

        Returns:
            Shape [width]; sums to at most 1, what is missing is the probability that all are rejected.

        Raises:
            InputError: if the model says nothing about that depth or width.
        """

    def reach(self, draft_length: int) -> FloatArray:
        """P(the first i draft tokens of a chain are all accepted), i = 1 … γ; shape [γ]."""
        return products(self._conditional(draft_length))

    def lengths(self, draft_length: int) -> FloatArray:
        """P(exactly i draft tokens of a chain are accepted), i = 0 … γ; shape [γ + 1]."""
        law: FloatArray = -np.diff(self.reach(draft_length), prepend=1.0, append=0.0)
        return law

    def tree_lengths(self, tree: Tree) -> FloatArray:
        """P(exactly i draft tokens are accepted), i = 0 … depth, on a token tree; shape [depth + 1].

        The tokens of the tree are irrelevant; siblings are tried in their order.
        """
        law = np.zeros(tree.depth + 1)
        known: dict[tuple[int, int], FloatArray] = {}
        stack = [(tree, 0, 1.0)]
        while stack:
            node, depth, reached = stack.pop()
            key = depth, len(node.children)
            if key not in known:
                known[key] = self.siblings(*key)
            chances = known[key]
            law[depth] += reached * max(0.0, 1.0 - float(chances.sum()))
            stack.extend(
                (child, depth + 1, reached * float(chance))
                for child, chance in zip(node.children, chances, strict=True)
            )
        return law

    def throw(self, steps: int, draft_length: int, rng: np.random.Generator) -> IntArray:
        """Accepted draft tokens of so many steps, one after the other in one sequence; shape [steps].

        A coin is thrown for every draft token of the chain, whatever ``lengths`` says.
        """
        check_count("steps", steps)
        return leading(rng.random((steps, draft_length)) < self._conditional(draft_length))

    def throw_tree(self, steps: int, tree: Tree, rng: np.random.Generator) -> IntArray:
        """``throw`` on a token tree: a coin for every sibling that is tried; shape [steps]."""
        check_count("steps", steps)
        nodes = Nodes(tree)
        coins = np.zeros((len(nodes.widths), max(1, tree.width)))
        for number, (depth, width) in enumerate(zip(nodes.depths, nodes.widths, strict=True)):
            coins[number, :width] = one_by_one(self.siblings(int(depth), int(width)))
        return nodes.walk(steps, rng, lambda lanes, at, rank: coins[at, rank])

    def _conditional(self, draft_length: int) -> FloatArray:
        check_count("draft_length", draft_length)
        return np.array([self.siblings(depth, 1)[0] for depth in range(draft_length)], dtype=np.float64)


class Nodes:
    """A token tree as arrays, for walking it with many lanes at once; node 0 is the root."""

    def __init__(self, tree: Tree) -> None:
        depths, widths, first = [0], [len(tree.children)], []
        queue = [tree]
        for number, node in enumerate(queue):
            first.append(len(queue))
            queue.extend(node.children)
            depths.extend([depths[number] + 1] * len(node.children))
            widths.extend(len(child.children) for child in node.children)
        self.depths = np.array(depths, dtype=np.int64)
        self.widths = np.array(widths, dtype=np.int64)
        self.first = np.array(first, dtype=np.int64)
        """Number of the first child; its siblings have the numbers that follow."""

    def walk(self, steps: int, rng: np.random.Generator, chance: Any) -> IntArray:
        """Accepted draft tokens of ``steps`` independent walks.

        Args:
            chance: ``chance(lanes, nodes, rank)``, shape [lanes]: with which probability the sibling of that
                rank is accepted at those nodes, if it is tried.
        """
        at = np.zeros(steps, dtype=np.int64)
        alive = np.arange(steps)
        while alive.size:
            moved = []
            rank = 0
            while (alive := alive[self.widths[at[alive]] > rank]).size:
                hit = rng.random(alive.size) < chance(alive, at[alive], rank)
                moved.append((alive[hit], rank))
                alive, rank = alive[~hit], rank + 1
            for lanes, rank in moved:
                at[lanes] = self.first[at[lanes]] + rank
            alive = np.concatenate([lanes for lanes, _ in moved]) if moved else alive
        return self.depths[at]


def leading(hits: npt.NDArray[np.bool_]) -> IntArray:
    """How many hits every row begins with; shape [rows, γ] → [rows]."""
    counts: IntArray = np.logical_and.accumulate(hits, axis=1).sum(axis=1, dtype=np.int64)
    return counts


def products(factors: npt.ArrayLike) -> FloatArray:
    """Of the first i factors, i = 1, 2, …"""
    running: FloatArray = np.multiply.accumulate(np.asarray(factors, dtype=np.float64))
    return running


def one_by_one(chances: FloatArray) -> FloatArray:
    """P(the r-th sibling is accepted | the ones before were rejected), from ``Acceptance.siblings``."""
    left = 1.0 - (np.cumsum(chances) - chances)
    ratios: FloatArray = np.clip(chances / np.maximum(left, ROUNDING), 0.0, 1.0)
    ratios[left <= ROUNDING] = 0.0
    return ratios


def independent_siblings(alpha: float, width: int) -> FloatArray:
    """α (1 − α)^r, r = 0 … width − 1: every sibling tried is accepted with α, whatever came before."""
    check_count("width", width)
    return np.asarray(alpha * (1.0 - alpha) ** np.arange(width), dtype=np.float64)


def probability(name: str, value: Any) -> float:
    """``value`` as a float in [0, 1].

    Raises:
        InputError: naming the argument and the value.
    """
    number = finite(name, value)
    if not 0.0 <= number <= 1.0:
        raise InputError(f"{name}: {value} is outside [0, 1]")
    return number


def finite(name: str, value: Any) -> float:
    """``value`` as a finite float."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InputError(f"{name}: {value!r} is not a number")
    if not math.isfinite(value):
        raise InputError(f"{name}: {value} is not finite")
    return float(value)


def probabilities(name: str, values: Any) -> tuple[float, ...]:
    """A non-empty vector of numbers in [0, 1]."""
    return tuple(probability(f"{name}[{i}]", value) for i, value in enumerate(vector(name, values)))


def vector(name: str, values: Any) -> Sequence[Any]:
    """A non-empty sequence, whatever it holds."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InputError(f"{name}: {values!r} is not a vector")
    if not values:
        raise InputError(f"{name}: it is empty")
    return values


def check_drafted(draft_length: Any, tree: Any) -> None:
    """Checks that one of the two is given: a draft length, or a token tree."""
    if (draft_length is None) == (tree is None):
        raise InputError("draft_length: give either a draft length or a tree")
    if draft_length is not None:
        check_count("draft_length", draft_length)
    elif not isinstance(tree, Tree):
        raise InputError(f"tree: {tree!r} is no token tree")


def check_count(name: str, value: Any, least: int = 0) -> None:
    """Checks that ``value`` is an integer of at least ``least``."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise InputError(f"{name}: {value!r} is not an integer")
    if value < least:
        raise InputError(f"{name}: {value} is below {least}")
