"""Drafts for greedy rules, of which every accept length comes up.

A draft token at random is hardly ever the target's likeliest, and then a greedy rule accepts nothing.
Here every row has an accept length of its own that it aims at.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from losslesscheck.testing.batch import Batch, IntArray
from losslesscheck.testing.drafting import SEEDS, drafting, flattened
from losslesscheck.testing.problem import Problem, round_to

Paths = list[tuple[int, ...]]


class Baiter:
    """Makes batches of a problem whose rule is greedy.

    Args:
        problem: with probabilities rounded to ``dtype``.
        dtype: of the subject's probabilities.
        fixed: the draft tokens are those of the problem's tree, instead of others on the same shape.
    """

    def __init__(self, problem: Problem, dtype: str, *, fixed: bool) -> None:
        self.problem = problem
        self.fixed = fixed
        self.parents, self.tokens = flattened(problem.tree)
        # A greedy drafter has one token for all siblings of a node.
        self.alike = drafting(problem.rule) == "greedy"
        self._float = np.float64 if dtype == "float64" else np.float32
        self._target = round_to(problem.target.floats, dtype).astype(self._float)
        self._draft = None if problem.draft is None else round_to(problem.draft.floats, dtype)

    def batch(self, size: int, rng: np.random.Generator) -> Batch:
        """``size`` steps, each with draft tokens of its own."""
        count = len(self.parents)
        tokens = np.array([self._row(rng) for _ in range(size)], dtype=np.int64).reshape(size, count)
        paths = [paths_of(self.parents, row) for row in tokens.tolist()]
        target_rows = [[int(self.problem.target.index(path)) for path in row] for row in paths]
        draft = np.zeros((size, count, self.problem.vocabulary), dtype=self._float)
        for row, drawn in enumerate(tokens.tolist()):
            for i, (parent, token) in enumerate(zip(self.parents, drawn, strict=True)):
                draft[row, i] = self._drawn_from(paths[row][parent + 1], token)
        return Batch(
            target=self._target.take(np.array(target_rows), axis=0),
            draft=draft,
            tokens=tokens,
            parents=np.broadcast_to(np.array(self.parents, dtype=np.int64), (size, count)),
            lengths=np.full(size, count, dtype=np.int64),
            coins=rng.random((size, count), dtype=self._float),
            final=rng.random(size, dtype=self._float),
            seed=int(rng.integers(SEEDS)),
        )

    @cached_property
    def _heights(self) -> list[int]:
        """How many draft tokens may follow, at the root and after every draft token."""
        heights = [0] * (len(self.parents) + 1)
        for i in reversed(range(len(self.parents))):
            above = self.parents[i] + 1
            heights[above] = max(heights[above], heights[i + 1] + 1)
        return heights

    def _row(self, rng: np.random.Generator) -> list[int]:
        """Draft tokens of which any number up to the tree's depth is accepted, where V allows it."""
        if self.fixed:
            return self.tokens
        aim = int(rng.integers(self._heights[0] + 1))
        tokens = [-1] * len(self.parents)
        paths: Paths = [()] * (len(tokens) + 1)
        greedy = [True] + [False] * len(tokens)  # nodes that greedy decoding reaches
        for node, path in enumerate(paths):  # those further on are named on the way
            below = [i for i, parent in enumerate(self.parents) if parent + 1 == node]
            if not below:
                continue
            likely = self._likeliest(path)
            hit = len(path) < aim
            if not greedy[node]:
                # For whoever goes on after a rejection, or looks below the wrong node.
                hit = bool(rng.integers(3))
                likely = likely if rng.integers(2) else self._decoded[len(path)]
            others = [t for t in rng.permutation(self.problem.vocabulary).tolist() if t != likely]
            names = others[:1] * len(below) if self.alike else others[: len(below)]
            if hit or len(names) < len(below):
                fit = [i for i in below if self._heights[i + 1] >= aim - len(path) - 1] or below
                place = 0 if self.alike else below.index(fit[int(rng.integers(len(fit)))])
                names = [likely] * len(below) if self.alike else others[: len(below) - 1]
                if not self.alike:
                    names.insert(place, likely)
                greedy[below[place] + 1] = greedy[node]
            for i, name in zip(below, names, strict=True):
                tokens[i] = name
                paths[i + 1] = (*path, name)
        return tokens

    @cached_property
    def _decoded(self) -> tuple[int, ...]:
        """What greedy decoding gives, as many tokens as the tree is deep."""
        path: tuple[int, ...] = ()
        for _ in range(self._heights[0]):
            path = (*path, self._likeliest(path))
        return path

    def _likeliest(self, path: tuple[int, ...]) -> int:
        return int(self._target[int(self.problem.target.index(path))].argmax())

    def _drawn_from(self, path: tuple[int, ...], token: int) -> npt.NDArray[np.float64]:
        """A row of which a greedy drafter takes this token: the draft's own, if necessary with two
        entries exchanged."""
        point = np.zeros(self.problem.vocabulary)
        point[token] = 1
        if self._draft is None or self.problem.draft is None:
            return point
        row = self._draft[int(self.problem.draft.index(path))].copy()
        best = int(row.argmax())
        row[[best, token]] = row[[token, best]]
        return row if row.argmax() == token else point


def paths_of(parents: list[int] | IntArray, tokens: list[int]) -> Paths:
    """The tokens from the root to every node, the root's first."""
    paths: Paths = [()]
    for parent, token in zip(parents, tokens, strict=True):
        paths.append((*paths[parent + 1], token))
    return paths
