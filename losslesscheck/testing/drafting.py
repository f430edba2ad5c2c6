"""Drafts for a batch: tokens drawn as the rule supposes, and the rows of both models along them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.machines.monte_carlo.sampler import Table
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Batch, IntArray
from losslesscheck.tree import Tree

SEEDS = 2**31
"""How many seeds there are: what generators of every library take."""

Drafting = Literal["independent", "without replacement", "greedy", "fixed"]
"""How the siblings of a node are made: drawn from q independently of one another; drawn from q
without replacement, then uniformly from what is left; the likeliest token of q; given by the tree."""


def drafting(rule: Rule) -> Drafting:
    """How the drafts are made that a rule supposes."""
    if rule.fixed_tokens or not rule.takes_tree:
        return "fixed"
    if rule.greedy:
        return "greedy"
    return "without replacement" if rule.takes_tried else "independent"


class Drafter:
    """Makes batches of a problem.

    Args:
        problem: with probabilities rounded to ``dtype``.
        dtype: of the subject's probabilities.
    """

    def __init__(self, problem: Problem, dtype: str) -> None:
        self.problem = problem
        self.vocabulary = problem.vocabulary
        self.kind = drafting(problem.rule)
        self.parents, self.fixed = flattened(problem.tree)
        if self.kind == "fixed" and -1 in self.fixed:
            raise InputError(f"tree: {problem.rule.name} needs the draft tokens in the tree")
        self._float = np.float64 if dtype == "float64" else np.float32
        self._target = problem.target.floats if dtype == "float64" else _as_given(problem.target)
        self._table = None
        if problem.draft is None or self.kind == "fixed":
            self._draft = np.zeros((len(self.fixed), self.vocabulary), dtype=self._float)
            self._draft[np.arange(len(self.fixed)), self.fixed] = 1
        else:
            self._draft = problem.draft.floats if dtype == "float64" else _as_given(problem.draft)
            self._table = Table(problem.draft.floats)

    def batch(self, size: int, rng: np.random.Generator) -> Batch:
        """``size`` steps with drafts and coins of their own."""
        count = len(self.parents)
        tokens = np.empty((size, count), dtype=np.int64)
        target_rows = np.empty((size, count + 1), dtype=np.intp)
        draft_rows = np.empty((size, count), dtype=np.intp)
        target_rows[:, 0] = self.problem.target.index(())
        paths: list[tuple[IntArray, ...]] = []
        for i, parent in enumerate(self.parents):
            above = () if parent < 0 else paths[parent]
            earlier = [j for j in range(i) if self.parents[j] == parent]
            self._draw(i, above, earlier, tokens, draft_rows, rng)
            paths.append((*above, tokens[:, i]))
            target_rows[:, i + 1] = self.problem.target.index(paths[-1])
        lengths = np.full(size, count, dtype=np.int64)
        if self.problem.ragged:
            lengths = rng.integers(count + 1, size=size)
        target, draft = self._target.take(target_rows, axis=0), self._draft.take(draft_rows, axis=0)
        if self.problem.ragged:
            # What is padding would be accepted if it were looked at.
            padding = np.arange(count) >= lengths[:, None]
            sure = np.zeros(self.vocabulary, dtype=self._float)
            sure[0] = 1
            tokens[padding], draft[padding], target[:, 1:][padding] = 0, sure, sure
        return Batch(
            target=target,
            draft=draft,
            tokens=tokens,
            parents=np.broadcast_to(np.array(self.parents, dtype=np.int64), (size, count)),
            lengths=lengths,
            coins=rng.random((size, count), dtype=self._float),
            final=rng.random(size, dtype=self._float),
            seed=int(rng.integers(SEEDS)),
        )

    def _draw(
        self,
        i: int,
        context: tuple[IntArray, ...],
        earlier: list[int],
        tokens: IntArray,
        rows: npt.NDArray[np.intp],
        rng: np.random.Generator,
    ) -> None:
        """Draft token i after ``context``, and the row of the draft model that it is drawn from."""
        if self.kind == "fixed":
            tokens[:, i], rows[:, i] = self.fixed[i], i
            return
        assert self.problem.draft is not None
        assert self._table is not None
        rows[:, i] = self.problem.draft.index(context)
        if self.kind == "greedy":
            tokens[:, i] = self._draft.argmax(axis=1)[rows[:, i]]
        elif self.kind == "independent" or not earlier:
            tokens[:, i] = self._table.draw(rng.random(len(tokens)), rows[:, i])
        else:
            tokens[:, i] = _untried(self.problem.draft.floats[rows[:, i]], tokens[:, earlier], rng)


def flattened(tree: Tree) -> tuple[list[int], list[int]]:
    """Parents and tokens of a tree's nodes level by level, siblings in order; token −1 where none is fixed.

    >>> flattened(Tree.regular((2, 1)))
    ([-1, -1, 0, 1], [-1, -1, -1, -1])
    """
    parents: list[int] = []
    tokens: list[int] = []
    level = [(-1, tree)]
    while level:
        following = []
        for number, node in level:
            for child in node.children:
                following.append((len(parents), child))
                parents.append(number)
                tokens.append(-1 if child.token is None else child.token)
        level = following
    return parents, tokens


def distinct_seeds(rng: np.random.Generator) -> Iterator[int]:
    """All seeds there are, each once, in an order in which neighbours look unrelated."""
    first = int(rng.integers(SEEDS))
    for number in range(SEEDS):
        mixed = (first + number) * 0x2545F491 % SEEDS  # an odd factor: no two give the same
        yield mixed ^ mixed >> 15


def _untried(q: npt.NDArray[np.float64], tried: IntArray, rng: np.random.Generator) -> IntArray:
    """A token of every row that was not tried: from q if there is one, else uniformly."""
    lanes = np.arange(len(q))[:, None]
    left, open_ = q.copy(), np.ones_like(q)
    left[lanes, tried] = open_[lanes, tried] = 0
    left = np.where(left.sum(axis=1, keepdims=True) > 0, left, open_)
    cumulative = left.cumsum(axis=1)
    coin = rng.random(len(q)) * cumulative[:, -1]
    drawn: IntArray = (cumulative > coin[:, None]).argmax(axis=1)
    return drawn


def _as_given(model: Model) -> npt.NDArray[Any]:
    return model.floats.astype(np.float32)


def own_tree(rule: Rule, draft: Model) -> Tree:
    """The token tree of a rule that builds its own, with the rule's settings."""
    steps, topk, draft_tokens = (int(rule.settings[name]) for name in ("steps", "topk", "draft_tokens"))
    return standalone_tree(draft, steps=steps, topk=topk, draft_tokens=draft_tokens)


def standalone_tree(draft: Model, *, steps: int, topk: int, draft_tokens: int) -> Tree:
    """The token tree that SGLang's STANDALONE drafts: fixed once the draft model is.

    Each step proposes the topk likeliest tokens after each of the topk likeliest paths of the step
    before; the draft_tokens − 1 likeliest of all proposals make the tree. Ties go to what was
    proposed first, tokens in ascending order.

    Raises:
        InputError: if fewer tokens are proposed than the tree needs.
    """
    beams: list[tuple[float, tuple[int, ...]]] = [(1.0, ())]
    proposed: list[tuple[float, tuple[int, ...]]] = []
    for _ in range(steps):
        rows = [(score, path, draft.floats[int(draft.index(path))]) for score, path in beams]
        level = [
            (score * float(row[token]), (*path, token))
            for score, path, row in rows
            for token in np.argsort(-row, kind="stable")[:topk].tolist()
        ]
        proposed += level
        beams = sorted(level, key=lambda entry: -entry[0])[:topk]
    if len(proposed) < draft_tokens - 1:
        raise InputError(f"draft_tokens: {draft_tokens} with the root, but {len(proposed)} are proposed")
    chosen = sorted(proposed, key=lambda entry: -entry[0])[: draft_tokens - 1]
    paths = [path for _, path in chosen]

    def node(path: tuple[int, ...]) -> Tree:
        below = tuple(node(other) for other in paths if other[:-1] == path and len(other) == len(path) + 1)
        return Tree(below, path[-1] if path else None)

    return node(())
