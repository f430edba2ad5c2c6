"""Faults of an implementation's own coins: bits of the seed lost, coins shared by rows."""

from __future__ import annotations

import numpy as np

from tests.testing.mutants.chains import Array, Given, SeededChain
from tests.testing.mutants.registry import mutant


@mutant("repeatable[another seed]")
class SixteenBitSeed(SeededChain):
    """Keeps the last 16 bits of its seed."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        return super().thrown(batch, drafts, seed % 2**16)


@mutant("repeatable[another seed]")
class SeedInFloats(SeededChain):
    """Hands its seed over as a float32, as a launcher of kernels does with numbers."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        return super().thrown(batch, drafts, int(np.float32(seed)))


@mutant("repeatable[another seed]")
class SeedHalved(SeededChain):
    """Shifts its seed by one bit, so as to store a flag in it."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        return super().thrown(batch, drafts, seed >> 1 << 1)


@mutant("independence[rows]")
class OverlappingStreams(SeededChain):
    """Row b's coins begin one coin after those of row b − 1 in a common stream."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        stream = np.random.default_rng(seed).random(batch + drafts + 1, dtype=np.float32)
        coins = stream[np.arange(batch)[:, None] + np.arange(drafts + 1)]
        return coins[:, :drafts], coins[:, drafts]


@mutant("independence[rows]", says="rows 2 apart are not independent")
class CoinsOfVectors(SeededChain):
    """Throws two coins where four rows of a vector need one each."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        coins, final = super().thrown(batch, drafts, seed)
        lane = np.arange(batch) & ~2
        return coins[lane], final[lane]


@mutant("independence[rows]", says="rows 1024 apart are not independent")
class CounterOfTheBlock(SeededChain):
    """The last coin depends on the thread, not on the block: rows 1024 apart share it."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        coins, final = super().thrown(batch, drafts, seed)
        return coins, final[np.arange(batch) % 1024]


@mutant("independence[rows]", says="rows 1 apart are not independent of each other (second tokens")
class SecondCoinInPairs(SeededChain):
    """Two rows share the coin that tests their second draft tokens."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        coins, final = super().thrown(batch, drafts, seed)
        if drafts > 1:
            coins[:, 1] = coins[np.arange(batch) & ~1, 1]
        return coins, final


@mutant("independence[rows]", says="rows 1 apart are not independent of each other (third tokens")
class BonusCoinInPairs(SeededChain):
    """Two rows share the coin that draws their bonus tokens, but not that of a recovery."""

    def final(self, given: Given, accepted: Array) -> Array:
        shared = given.final[np.arange(len(accepted)) & ~1]
        return np.where(accepted == given.lengths, shared, given.final)
