"""Faults of block verification."""

from __future__ import annotations

import numpy as np

from tests.testing.mutants.chains import Array, Block, Chain, Given, Outcome
from tests.testing.mutants.registry import mutant


@mutant("law[dense]", seen="engines and papers' code")
class BlockForgetsLonger(Block):
    """Keeps a prefix with its own weight, hᵢ = pᵢ, as if no longer one had been rejected."""

    def keeps(self, weight: Array, surplus: Array, last: Array) -> Array:
        return weight


@mutant("law[dense]")
class BlockSurplusAlone(Block):
    """Keeps a prefix with hᵢ = Sᵢ, which is not divided."""

    def keeps(self, weight: Array, surplus: Array, last: Array) -> Array:
        return np.where(last, weight, surplus)


@mutant("law[dense]", "acceptance[dense]")
class BlockLastAsOthers(Block):
    """Treats the last draft like the others, and behind it there is no surplus: h_γ is 0."""

    def keeps(self, weight: Array, surplus: Array, last: Array) -> Array:
        return super().keeps(weight, surplus, np.zeros_like(last))


@mutant("coins[anywhere]")
class BlockUnweighted(Block):
    """Replaces from (p − q)₊, without the weight of what was kept."""

    def end(self, given: Given, accepted: Array, weight: Array = 1) -> Outcome:
        return super().end(given, accepted)


@mutant("law[dense]")
class BlockFinalWeight(Block):
    """Replaces from (p_γ·p − q)₊: the weight of the whole path, whatever was kept."""

    def keep(
        self, keep: Array, i: int, weight: Array, kept: Array, weight_kept: Array
    ) -> tuple[Array, Array]:
        return np.where(keep, i + 1, kept), weight


@mutant("law[dense]")
class BlockUnclamped(Block):
    """Lets the weight of a path exceed 1."""

    def weight(self, before: Array, p: Array, q: Array) -> Array:
        return before * p / np.where(q > 0, q, 1)


@mutant("law[dense]")
class BlockRatiosAlone(Block):
    """Weighs a path by its last ratio alone."""

    def weight(self, before: Array, p: Array, q: Array) -> Array:
        return super().weight(np.ones_like(before), p, q)


@mutant("law[dense]")
class BlockSurplusUnweighted(Block):
    """Computes Sᵢ = Σ(p − q)₊ without the weight of the path."""

    def surplus(self, weight: Array, p: Array, q: Array) -> Array:
        return np.maximum(p - q, 0)


@mutant("law[dense]", "acceptance[dense]")
class BlockStopsAtFirst(Block):
    """Stops at the first coin that fails instead of keeping the longest prefix whose coin falls below."""

    def keep(
        self, keep: Array, i: int, weight: Array, kept: Array, weight_kept: Array
    ) -> tuple[Array, Array]:
        return super().keep(keep & (kept == i), i, weight, kept, weight_kept)


@mutant("acceptance[dense]")
class BlockTokenByToken(Block):
    """Verifies token by token: the target's law, but fewer drafts are accepted."""

    def verify(self, given: Given) -> Outcome:
        return Chain.verify(self, given)


@mutant("acceptance[dense]")
class ChainByBlocks(Chain):
    """Verifies by blocks where token by token was agreed: the target's law, but more drafts are accepted."""

    def verify(self, given: Given) -> Outcome:
        return Block().verify(given)
