"""Faults that only show beyond a limit: long paths, large trees, vocabularies and batches, single drafts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.testing.mutants.chains import Array, Chain, Given, Outcome, SeededChain
from tests.testing.mutants.registry import mutant
from tests.testing.mutants.trees import Greedy, Specinfer


@mutant("coins[long chain]")
class SixDraftsAtMost(Chain):
    """Never accepts more than six draft tokens, whatever the length."""

    def verify(self, given: Given) -> Outcome:
        emitted, accepted = super().verify(given)
        return emitted, np.minimum(accepted, 6)  # with a draft token in place of the last one


@mutant("coins[large vocabulary]")
class SecondTileWithoutDraft(Chain):
    """The residual subtracts the draft in the first tile of 1024 tokens only."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return np.concatenate([np.maximum(p - q, 0)[:, :1024], p[:, 1024:]], axis=1)


@mutant("coins[many rows]")
class SixteenBitRows(Chain):
    """Rows are numbered with 16 bits: row 65536 and the following are left as row 0."""

    def verify(self, given: Given) -> Outcome:
        emitted, accepted = super().verify(given)
        emitted[65536:], accepted[65536:] = emitted[:1], accepted[:1]
        return emitted, accepted


@mutant("coins[large tree]")
class ThirtyTwoNodes(Specinfer):
    """A mask of 32 bits: draft tokens from the 32nd on are not looked at."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, lengths=np.minimum(given.lengths, 32)))


@mutant("coins[one draft]", "law[one draft]")
class SingleDraftFromTarget(Chain):
    """Where there is exactly one draft token, a rejection draws from p."""

    def recovery(self, given: Given, i: Array) -> Array:
        if given.tokens.shape[1] == 1:
            return given.target[:, 0]
        return super().recovery(given, i)


@mutant("law[large vocabulary]")
class SeededSecondTile(SeededChain):
    """The same as the second tile without draft, with coins of its own."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return np.concatenate([np.maximum(p - q, 0)[:, :1024], p[:, 1024:]], axis=1)


@mutant("sizes[many rows]")
class SeededSixteenBitRows(SeededChain):
    """Row 65536 and the following emit what row 0 and the following do; with coins of its own."""

    def verify(self, given: Given) -> Outcome:
        emitted, accepted = super().verify(given)
        row = np.arange(len(accepted)) % 65536
        return emitted[row], accepted[row]


@mutant("support[151936 tokens]", says="is no token")
class SixteenBitTokens(SeededChain):
    """Keeps the numbers of tokens in 16 bits, so that 131072 and more come out wrong."""

    def draw(self, weights: Array, coin: Array) -> Array:
        return super().draw(weights, coin).astype(np.int16).astype(np.int64)


@mutant("support[large vocabulary]")
class LastTileOfTies(Greedy):
    """Takes the best of the best of every tile of 1024 tokens, and the last of them if they tie."""

    def best(self, p: Array) -> Array:
        tiles = np.stack(
            [p[:, start : start + 1024].argmax(axis=1) + start for start in range(0, p.shape[1], 1024)],
            axis=1,
        )
        values = np.take_along_axis(p, tiles, axis=1)
        last = values.shape[1] - 1 - values[:, ::-1].argmax(axis=1)
        return tiles[np.arange(len(p)), last]


@mutant("acceptance[one row at a time]")
class SingleRowFromTarget(SeededChain):
    """Where there is exactly one row, a rejection draws from p."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return p if len(p) == 1 else super().residual(p, q, x)


@mutant("law[flat draft]", "acceptance[flat draft]")
class FlatDraftIsNone(SeededChain):
    """Takes a row of q without a peak for a missing one, and draws from p."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        flat = q.max(axis=1) - q.min(axis=1) < 0.005
        return np.where(flat[:, None], p, super().residual(p, q, x))


@mutant("vocabulary[33]")
class WholeVectorsOnly(Chain):
    """Loads four probabilities at a time: does not accept what comes after the last whole vector."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return super().accepts(p, q, x, coin) & (x < p.shape[1] // 4 * 4)


@mutant("coins[dense large vocabulary]")
class SixtyFourLargest(Chain):
    """Draws from the 64 largest weights only, for which there is room in registers."""

    def draw(self, weights: Array, coin: Array) -> Array:
        least = np.sort(weights, axis=1)[:, -64:][:, :1]
        return super().draw(np.where(weights < least, 0, weights), coin)
