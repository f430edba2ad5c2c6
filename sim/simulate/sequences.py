"""Sequences in which one step depends on the one before, many side by side."""

from __future__ import annotations

import numpy as np

from losslesscheck.sim.acceptance.base import FloatArray, IntArray, Nodes
from losslesscheck.sim.acceptance.correlated import Correlated
from losslesscheck.tree import Tree

STEPS = 64
"""Steps of a sequence. Longer ones are fewer, and it is their number that narrows the interval."""


class Sequences:
    """Draws whole sequences of a ``Correlated`` acceptance, a coin for every draft token that is looked at.

    Every sequence begins as the long run does, with the state at the start of a step distributed by the
    stationary law of step starts, so that no step has to be thrown away and the sequences are independent
    and identically distributed.
    """

    def __init__(self, acceptance: Correlated, tree: Tree) -> None:
        self.nodes = Nodes(tree)
        self.depth = tree.depth
        self._start = acceptance.start(tree).cumsum()
        self._alphas = np.array(acceptance.alphas)
        self._moves = np.cumsum(acceptance.transition, axis=1)

    def draw(self, sequences: int, rng: np.random.Generator) -> tuple[IntArray, float]:
        """Runs so many sequences of ``STEPS`` steps; see ``stopping.Source``."""
        state = _pick(np.broadcast_to(self._start, (sequences, len(self._start))), rng)
        lengths = np.zeros(self.depth + 1, dtype=np.int64)
        totals = np.zeros(sequences, dtype=np.int64)
        for _ in range(STEPS):
            accepted = self._step(state, rng)
            totals += accepted
            lengths += np.bincount(accepted, minlength=self.depth + 1)
        means = totals / STEPS
        return lengths, float(means @ means)

    def _step(self, state: IntArray, rng: np.random.Generator) -> IntArray:
        """One step of every sequence; ``state`` is moved on to where the next one begins."""
        places = np.zeros(len(state), dtype=np.int64)  # tokens that the state has moved past

        def chance(lanes: IntArray, at: IntArray, rank: int) -> FloatArray:
            if rank == 0:
                arrived = lanes[self.nodes.depths[at] > places[lanes]]
                state[arrived] = self._next(state[arrived], rng)
                places[arrived] += 1
            acceptances: FloatArray = self._alphas[state[lanes]]
            return acceptances

        accepted = self.nodes.walk(len(state), rng, chance)
        leaf = np.flatnonzero(accepted > places)  # below it no coin is thrown
        state[leaf] = self._next(state[leaf], rng)
        state[:] = self._next(state, rng)  # past the token that ends the step
        return accepted

    def _next(self, state: IntArray, rng: np.random.Generator) -> IntArray:
        return _pick(self._moves[state], rng)


def _pick(cumulative: FloatArray, rng: np.random.Generator) -> IntArray:
    """An index for every row of cumulative probabilities, shape [n, S] → [n]."""
    coin = rng.random((len(cumulative), 1))
    picked: IntArray = (cumulative[:, :-1] <= coin).sum(axis=1)
    return picked
