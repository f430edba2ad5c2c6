"""Faults of the coins: shared, used twice, too coarse, or not what was handed over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.testing.mutants.chains import Array, Chain, Given, Outcome, SeededChain
from tests.testing.mutants.registry import mutant


@mutant("law[dense]", seen="engines and papers' code")
class OneCoin(Chain):
    """Draws the recovery with the coin that rejected the draft."""

    def final(self, given: Given, accepted: Array) -> Array:
        if given.coins.shape[1] == 0:
            return given.final
        i = np.minimum(accepted, given.coins.shape[1] - 1)
        return np.where(accepted < given.lengths, given.coins[np.arange(len(i)), i], given.final)


@mutant("law[dense]")
class FinalIsFirstCoin(Chain):
    """Draws the last token with the coin that tested the first draft: a stream was started anew."""

    def final(self, given: Given, accepted: Array) -> Array:
        return given.coins[:, 0] if given.coins.shape[1] else given.final


@mutant("law[dense]")
class CoinSharedByPositions(Chain):
    """Tests all draft tokens of a row with the coin of the first."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, coins=np.broadcast_to(given.coins[:, :1], given.coins.shape)))


@mutant("coins[anywhere]", "rows[permuted]")
class CoinSharedByRows(Chain):
    """Tests the draft tokens of all rows with the coins of the first row."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, coins=np.broadcast_to(given.coins[:1], given.coins.shape)))


@mutant("rows[permuted]")
class FinalSharedByRows(Chain):
    """Draws the last token of all rows with the coin of the first."""

    def final(self, given: Given, accepted: Array) -> Array:
        return np.broadcast_to(given.final[:1], given.final.shape)


@mutant("rows[permuted]")
class CoinsOfTheRowBefore(Chain):
    """Reads the coins of the row before: the law is right, but rows leak into each other."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, coins=np.roll(given.coins, 1, axis=0)))


@mutant("coins[near thresholds]")
class HalfCoins(Chain):
    """Throws coins of float16, which may round to 1."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, coins=given.coins.astype(np.float16).astype(np.float32)))


@mutant("certain[point masses]", seen="FlashInfer: curand_uniform")
class CoinUpToOne(Chain):
    """Uses 1 − u, which is 1 for a coin of 0: a draft with p = q is rejected."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, coins=1 - given.coins))


@mutant("independence[calls]", "repeatable[another seed]")
class SeedIgnored(SeededChain):
    """Throws the same coins in every call."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        return super().thrown(batch, drafts, 0)


@mutant("independence[rows]")
class SeedForEveryRow(SeededChain):
    """Seeds every row's own generator alike."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        coins, final = super().thrown(1, drafts, seed)
        return np.broadcast_to(coins, (batch, drafts)), np.broadcast_to(final, batch)


@mutant("independence[rows]")
class RowsInPairs(SeededChain):
    """Gives every row the coins of the row half a batch before."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        coins, final = super().thrown(batch, drafts, seed)
        half = np.arange(batch) % max(1, (batch + 1) // 2)
        return coins[half], final[half]


@mutant("law[dense]")
class StreamStartedAnew(SeededChain):
    """Starts the stream of coins anew for the last token."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        coins = np.random.default_rng(seed).random((drafts, batch), dtype=np.float32).T
        return coins, np.random.default_rng(seed).random(batch, dtype=np.float32)


@mutant("law[dense]")
class CoinsInLattice(SeededChain):
    """Throws one coin for a row and shifts it by the golden section from draft to draft."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        _, first = super().thrown(batch, drafts, seed)
        coins = (first[:, None] + np.float32(0.618) * np.arange(1, drafts + 1, dtype=np.float32)) % 1
        return coins, first


@mutant("law[dense]")
class AntitheticFinal(SeededChain):
    """Draws the last token with 1 − u of the last coin: variance is reduced."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        coins, final = super().thrown(batch, drafts, seed)
        return coins, np.nextafter(1 - coins[:, -1], np.float32(0)) if drafts else final


@mutant("repeatable[same seed]")
class FreshEntropy(SeededChain):
    """Throws coins of its own and ignores the seed."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        rng = np.random.default_rng()
        return rng.random((batch, drafts), dtype=np.float32), rng.random(batch, dtype=np.float32)


@mutant("repeatable[same seed]")
class RacingRows(Chain):
    """Now and then, as threads race, uses another final coin than the one handed over."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(5)

    def final(self, given: Given, accepted: Array) -> Array:
        late = self.rng.random(len(accepted)) < 0.05
        return np.where(late, self.rng.random(len(accepted), dtype=np.float32), given.final)
