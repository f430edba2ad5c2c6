"""Faults of greedy verification."""

from __future__ import annotations

import numpy as np

from tests.testing.mutants.chains import Array, Given, at
from tests.testing.mutants.registry import mutant
from tests.testing.mutants.trees import Blockwise, Greedy, Path


@mutant("law[dense]", "support[ordinary coins]")
class BestOfDraft(Greedy):
    """Compares with the draft's best token instead of the target's."""

    def accepts(self, p: Array, q: Array, x: Array) -> Array:
        return q.argmax(axis=1) == x


@mutant("law[flat]", "coins[anywhere]")
class LastOfTies(Greedy):
    """Breaks ties in favour of the last of the likeliest tokens."""

    def best(self, p: Array) -> Array:
        return p.shape[1] - 1 - p[:, ::-1].argmax(axis=1)


@mutant("floats[ties]")
class BestInHalves(Greedy):
    """Looks for the best token in float16, where close ones tie."""

    def best(self, p: Array) -> Array:
        return p.astype(np.float16).argmax(axis=1)


@mutant("law[flat]", "support[ordinary coins]", seen="blockwise decoding's top-k criterion")
class SecondBestToo(Blockwise):
    """Accepts a draft among the two likeliest tokens."""

    def accepts(self, p: Array, q: Array, x: Array) -> Array:
        return (p > at(p, x)[:, None]).sum(axis=1) < 2


@mutant("law[zero tail]", "support[ordinary coins]", seen="blockwise decoding's distance criterion")
class NearEnough(Blockwise):
    """Accepts a draft whose number is within 1 of the best token's."""

    def accepts(self, p: Array, q: Array, x: Array) -> Array:
        return np.abs(self.best(p) - x) <= 1


@mutant("certain[point masses]")
class BestOfTheRowBefore(Blockwise):
    """Emits the best token of the last accepted draft's own row instead of the row behind it."""

    def last(self, given: Given, path: Path) -> Array:
        return self.best(given.target[path.rows, np.maximum(path.node, 0)])


@mutant("law[dense]")
class SampledBonus(Blockwise):
    """Draws the last token from p instead of taking its best."""

    def last(self, given: Given, path: Path) -> Array:
        p = self.arrive(given, path)
        return self.draw(p, np.full(len(p), 0.37, dtype=p.dtype))


@mutant("acceptance[sparse]", "coins[anywhere]")
class FirstChildOnly(Greedy):
    """Compares the first child of a node only: right, but accepts less."""

    def order(self, given: Given) -> Array:
        first = [
            i
            for i in range(given.tokens.shape[1])
            if not (given.parents[:, :i] == given.parents[:, i : i + 1]).any()
        ]
        return np.broadcast_to(np.array(first, dtype=np.int64), (len(given.tokens), len(first)))
