"""The walk over the token trees of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from array_api_compat import device

from losslesscheck.testing.reference.arrays import (
    Array,
    Namespace,
    Outcome,
    arange,
    draw,
    put,
    rows,
    take,
    which,
)


class Walk:
    """Where the rows of a batch stand in their token trees.

    Parents come before their children, and siblings in the order in which they are tried, so one pass
    over the draft tokens suffices: a token is tried in the rows that stand at its parent.
    """

    def __init__(self, xp: Namespace, target: Array, tokens: Array, parents: Array, lengths: Array) -> None:
        self.xp, self.target, self.tokens = xp, target, tokens
        self.parents, self.lengths = parents, lengths
        self.nodes = tokens.shape[1] + 1
        self.accepted = xp.zeros_like(lengths)
        self.node = self.accepted - 1
        self._emitted = xp.zeros((tokens.shape[0], self.nodes), dtype=tokens.dtype, device=device(tokens))

    @cached_property
    def left(self) -> Array:
        """What is left of the target at every node, to be written to; shape [B (N+1), V]."""
        left: Array = self.xp.reshape(self.target, (-1, self.target.shape[2]), copy=True)
        return left

    def tries(self) -> Iterator[tuple[int, Array, Array]]:
        """Every draft token i, the rows that try it and the token x of each."""
        for i in range(self.nodes - 1):
            row = which(self.xp, (self.parents[:, i] == self.node) & (self.lengths > i))
            if row.shape[0]:
                yield i, row, take(self.tokens[:, i], row)

    def here(self, row: Array | None = None) -> Array:
        """The place in ``left``, or in ``rows(target)``, of the node at which every row stands."""
        if row is None:
            return arange(self.xp, self.node.shape[0], self.node) * self.nodes + self.node + 1
        return row * self.nodes + take(self.node, row) + 1

    def accept(self, i: int, row: Array, x: Array, accept: Array) -> Array:
        """The rows for which ``accept`` holds emit x and stand at draft token i now.

        Returns:
            The indices of the other entries of ``row``.
        """
        yes = which(self.xp, accept)
        row, x = take(row, yes), take(x, yes)
        before = take(self.accepted, row)
        put(self._emitted.reshape(-1), row * self.nodes + before, x)
        put(self.accepted, row, before + 1)
        self.node[row] = i
        return which(self.xp, ~accept)

    def end(self, final: Array) -> Outcome:
        """Draws the last token from what is left; from the target if rounding has left nothing."""
        here = self.here()
        target = rows(self.target)
        last = draw(self.xp, take(self.left, here), final, lambda empty: take(target, take(here, empty)))
        return self.emit(last)

    def emit(self, last: Array) -> Outcome:
        """The accepted drafts and the last token [B] as a subject returns them."""
        place = arange(self.xp, last.shape[0], last) * self.nodes + self.accepted
        put(self._emitted.reshape(-1), place, last)
        return self._emitted, self.accepted
