"""Acceptance models in which what is accepted does not depend on the state of a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import (
    ROUNDING,
    Acceptance,
    FloatArray,
    IntArray,
    Nodes,
    check_count,
    finite,
    independent_siblings,
    leading,
    probabilities,
    probability,
    products,
    vector,
)
from losslesscheck.tree import Tree


@dataclass(frozen=True)
class Constant(Acceptance):
    """Every draft token is accepted with the same probability, independently (Leviathan et al., Sec. 3.1).

    On a tree every sibling that is tried is accepted with ``alpha`` whatever was rejected before it. That is
    a model, and no consequence of any p and q: the residual of a rejected sibling is another distribution
    (``exact`` and ``closed_forms`` compute what p and q imply).

    Raises:
        InputError: if ``alpha`` is not in [0, 1].

    >>> Constant(0.5).lengths(2).tolist()
    [0.5, 0.25, 0.25]
    """

    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", probability("alpha", self.alpha))

    def siblings(self, depth: int, width: int) -> FloatArray:
        check_count("depth", depth)
        return independent_siblings(self.alpha, width)


@dataclass(frozen=True)
class ByPosition(Acceptance):
    """A conditional acceptance for every position: ``alphas[i]`` is P(draft token i + 1 of the chain is
    accepted | those before it were). On a tree siblings are independent, as in ``Constant``.

    Raises:
        InputError: if there is none, or one is not in [0, 1]; later, if more positions are asked for.

    >>> ByPosition((0.75, 0.5)).reach(2).tolist()
    [0.75, 0.375]
    """

    alphas: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "alphas", probabilities("alphas", self.alphas))

    def siblings(self, depth: int, width: int) -> FloatArray:
        check_count("depth", depth)
        check_count("width", width)
        if width == 0:
            return np.zeros(0)
        if depth >= len(self.alphas):
            raise InputError(f"alphas: {len(self.alphas)} are given, but position {depth + 1} is asked for")
        return independent_siblings(self.alphas[depth], width)


@dataclass(frozen=True)
class BySibling(Acceptance):
    """``rows[depth][rank]`` is P(the sibling of that rank is the one accepted | the node is reached), at a
    node of that depth (the root: 0). The last row serves deeper nodes. A chain uses rank 0.

    The accepted sibling's rank must not depend on how many siblings follow it, as in any rule that tries one
    after the other.

    Raises:
        InputError: if there are no rows, an entry is not in [0, 1] or a row sums to more than 1; later, if
            more siblings are asked for than a row has.

    >>> BySibling(((0.5, 0.25),)).siblings(3, 2).tolist()
    [0.5, 0.25]
    """

    rows: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        rows = tuple(probabilities(f"rows[{i}]", row) for i, row in enumerate(vector("rows", self.rows)))
        for depth, row in enumerate(rows):
            if sum(row) > 1 + ROUNDING:
                raise InputError(f"rows[{depth}]: it sums to {sum(row):.6g}, which is above 1")
        object.__setattr__(self, "rows", rows)

    def siblings(self, depth: int, width: int) -> FloatArray:
        check_count("depth", depth)
        check_count("width", width)
        row = self.rows[min(depth, len(self.rows) - 1)]
        if width > len(row):
            raise InputError(f"rows: at depth {depth} there are {len(row)} siblings, {width} are asked for")
        return np.array(row[:width], dtype=np.float64)


@dataclass(frozen=True)
class Mixed(Acceptance):
    """The acceptance β itself varies: Beta(a, b) with a / (a + b) = ``mean`` and a + b = ``concentration``.

    Args:
        mean: α = E[β], in [0, 1].
        concentration: positive; the variance of β is mean (1 − mean) / (concentration + 1).
        per: ``token``: drawn anew at every node, all siblings of which are tried with it; on a chain that
            has the law of ``Constant(mean)``. ``step``: drawn once for a whole draft-and-verify step, so
            that P(i accepted in a row) = E[βⁱ] = Π_{j<i} (a + j) / (a + b + j), the law of Pólya's urn.

    Raises:
        InputError: if the mean is not in [0, 1], the concentration not positive, ``per`` neither word.

    >>> Mixed(0.5, 2.0, per="step").reach(2).tolist()  # β uniform: 1/2, 1/3
    [0.5, 0.3333333333333333]
    """

    mean: float
    concentration: float
    per: Literal["token", "step"] = "token"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", probability("mean", self.mean))
        object.__setattr__(self, "concentration", finite("concentration", self.concentration))
        if self.concentration <= 0:
            raise InputError(f"concentration: {self.concentration} is not positive")
        if self.per not in ("token", "step"):
            raise InputError(f"per: {self.per!r} is neither 'token' nor 'step'")

    def siblings(self, depth: int, width: int) -> FloatArray:
        """E[β (1 − β)^r], r = 0 … width − 1; with ``per="step"`` at the root only, because below it the
        law of β depends on the ranks accepted on the way."""
        check_count("depth", depth)
        check_count("width", width)
        if self.per == "step" and depth > 0:
            raise InputError(
                f"depth: {depth}; with per='step' only the root has siblings of their own law, "
                "tree_lengths has that of the tree"
            )
        rejected = 1.0
        chances = np.zeros(width)
        for rank in range(width):
            accept = self._urn(0, rank)
            chances[rank] = rejected * accept
            rejected *= 1.0 - accept
        return chances

    def reach(self, draft_length: int) -> FloatArray:
        check_count("draft_length", draft_length)
        if self.per == "token":
            return products(np.full(draft_length, self.mean))
        return products([self._urn(i, 0) for i in range(draft_length)])

    def tree_lengths(self, tree: Tree) -> FloatArray:
        if self.per == "token":
            return super().tree_lengths(tree)
        law = np.zeros(tree.depth + 1)
        stack = [(tree, 0, 0, 1.0)]
        while stack:
            node, accepted, rejected, reached = stack.pop()
            for child in node.children:
                accept = self._urn(accepted, rejected)
                stack.append((child, accepted + 1, rejected, reached * accept))
                reached *= 1.0 - accept
                rejected += 1
            law[accepted] += reached
        return law

    def throw(self, steps: int, draft_length: int, rng: np.random.Generator) -> IntArray:
        check_count("steps", steps)
        check_count("draft_length", draft_length)
        shape = (steps, draft_length if self.per == "token" else 1)
        return leading(rng.random((steps, draft_length)) < self._draw(shape, rng))

    def throw_tree(self, steps: int, tree: Tree, rng: np.random.Generator) -> IntArray:
        check_count("steps", steps)
        beta = self._draw((steps,), rng)

        def chance(lanes: IntArray, at: IntArray, rank: int) -> FloatArray:
            if self.per == "token" and rank == 0:
                beta[lanes] = self._draw(lanes.shape, rng)
            return beta[lanes]

        return Nodes(tree).walk(steps, rng, chance)

    def _urn(self, accepted: int, rejected: int) -> float:
        """P(the next coin accepts), given what the coins of the same β did."""
        return (self.mean * self.concentration + accepted) / (self.concentration + accepted + rejected)

    def _draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        a = self.mean * self.concentration
        if a in (0.0, self.concentration):
            return np.full(shape, self.mean)
        return rng.beta(a, self.concentration - a, shape)
