"""An acceptance model with a memory: easy and hard stretches of a sequence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import (
    ROUNDING,
    Acceptance,
    FloatArray,
    IntArray,
    Nodes,
    check_count,
    probabilities,
    vector,
)
from losslesscheck.tree import Tree


@dataclass(frozen=True)
class Correlated(Acceptance):
    """A Markov chain of states along the tokens of the sequence, with an acceptance for every state.

    The state moves once from a token of the sequence to the next. A draft token is accepted with the
    acceptance of the state at its place (all siblings of a node stand at one place and are independent). A
    step with i accepted draft tokens emits i + 1 tokens, so the next one begins i + 1 places on: steps begin
    more often in bad states than tokens stand in them. ``lengths`` is the law in the long run, with the state
    at the start of a step distributed by the stationary law of the chain of step starts, which depends on
    the draft length or tree (at most 128 draft tokens deep).

    Args:
        alphas: acceptance of every state, S of them.
        transition: rows of P(next state | state), shape [S, S].

    Raises:
        InputError: if a number is not in [0, 1], the shapes differ or a row does not sum to 1; later, if the
            long run depends on the state at the very beginning.

    >>> Correlated((0.5, 0.5), ((0.9, 0.1), (0.2, 0.8))).reach(2).round(12).tolist()
    [0.5, 0.25]
    """

    alphas: tuple[float, ...]
    transition: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        alphas = probabilities("alphas", self.alphas)
        rows = vector("transition", self.transition)
        if len(rows) != len(alphas):
            raise InputError(f"transition: it has {len(rows)} rows for {len(alphas)} states")
        checked = tuple(probabilities(f"transition[{i}]", row) for i, row in enumerate(rows))
        for i, row in enumerate(checked):
            if len(row) != len(alphas):
                raise InputError(f"transition[{i}]: it has {len(row)} entries for {len(alphas)} states")
            if abs(sum(row) - 1) > ROUNDING:
                raise InputError(f"transition[{i}]: it sums to {sum(row):.6g}, not to 1")
        object.__setattr__(self, "alphas", alphas)
        object.__setattr__(self, "transition", checked)

    def siblings(self, depth: int, width: int) -> FloatArray:
        """Not defined: they depend on the path to the node.

        Raises:
            InputError: always; ``tree_lengths`` has the law on a tree.
        """
        raise InputError("siblings: of correlated acceptances they depend on the path; use tree_lengths")

    def reach(self, draft_length: int) -> FloatArray:
        law = self.lengths(draft_length)
        return np.cumsum(law[::-1])[-2::-1]

    def lengths(self, draft_length: int) -> FloatArray:
        check_count("draft_length", draft_length)
        return self.tree_lengths(Tree.chain(draft_length))

    def tree_lengths(self, tree: Tree) -> FloatArray:
        start = self.start(tree)
        return np.array([(start @ end).sum() for end in self._ends(tree)])

    def start(self, tree: Tree) -> FloatArray:
        """The law of the state in which a step begins, in the long run; shape [S]."""
        return stationary(self._ends(tree).sum(axis=0))

    def throw(self, steps: int, draft_length: int, rng: np.random.Generator) -> IntArray:
        check_count("draft_length", draft_length)
        return self.throw_tree(steps, Tree.chain(draft_length), rng)

    def throw_tree(self, steps: int, tree: Tree, rng: np.random.Generator) -> IntArray:
        check_count("steps", steps)
        nodes = Nodes(tree)
        first, widths = nodes.first.tolist(), nodes.widths.tolist()
        moves = [np.cumsum(row)[:-1].tolist() for row in self.transition]
        state = int(rng.choice(len(self.alphas), p=self.start(tree)))
        reached = np.empty(steps, dtype=np.int64)
        coins = _coins(rng)
        for step in range(steps):
            node = rank = 0
            while rank < widths[node]:
                if next(coins) < self.alphas[state]:
                    node, rank = first[node] + rank, 0
                    state = bisect_right(moves[state], next(coins))
                else:
                    rank += 1
            state = bisect_right(moves[state], next(coins))  # past the token that ends the step
            reached[step] = node
        return nodes.depths[reached]

    def _ends(self, tree: Tree) -> FloatArray:
        """Entry [i, s, t]: P(i draft tokens are accepted and the next step begins in t | begun in s)."""
        states = len(self.alphas)
        accept = np.array(self.alphas)
        move = np.array(self.transition)
        ends = np.zeros((tree.depth + 1, states, states))
        stack = [(tree, 0, np.eye(states))]
        while stack:
            node, depth, reached = stack.pop()
            for child in node.children:
                stack.append((child, depth + 1, reached * accept @ move))
                reached = reached * (1.0 - accept)
            ends[depth] += reached @ move
        return ends


def stationary(kernel: FloatArray) -> FloatArray:
    """The stationary law of a Markov chain, by elimination without subtractions (Grassmann, Taksar & Heyman
    1985), which loses no accuracy however slowly the chain mixes.

    Args:
        kernel: rows of P(next state | state), shape [S, S].

    Raises:
        InputError: if there is more than one such law.
    """
    states = len(kernel)
    reachable = (kernel > 0) | np.eye(states, dtype=bool)
    for middle in range(states):
        reachable |= reachable[:, middle : middle + 1] & reachable[middle]
    closed = [s for s in range(states) if all(reachable[t, s] for t in np.flatnonzero(reachable[s]))]
    if not all(reachable[closed[0], s] for s in closed):
        raise InputError("transition: the states fall apart, so the long run depends on where it begins")
    left = kernel[np.ix_(closed, closed)].copy()
    for last in range(len(closed) - 1, 0, -1):
        left[:last, last] /= left[last, :last].sum()
        left[:last, :last] += np.outer(left[:last, last], left[last, :last])
    weights = np.ones(len(closed))
    for state in range(1, len(closed)):
        weights[state] = weights[:state] @ left[:state, state]
    law = np.zeros(states)
    law[closed] = weights / weights.sum()
    return law


def _coins(rng: np.random.Generator, block: int = 4096) -> Iterator[float]:
    while True:
        yield from rng.random(block).tolist()
