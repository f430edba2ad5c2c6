"""Faults that take an edge case to show: tiny probabilities, coins at an end, memory, arguments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.testing.mutants.chains import Array, Chain, Given, Outcome
from tests.testing.mutants.registry import mutant


@mutant("support[coins at the ends]")
class NothingIsZero(Chain):
    """Adds a little to probabilities of 0, so as to take logarithms."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, target=np.maximum(given.target, np.float32(1e-30))))


@mutant("support[large vocabulary]")
class TwoPassesApart(Chain):
    """Sums in two passes that round apart: the last coins lie above the sum, and the end is taken."""

    def draw(self, weights: Array, coin: Array) -> Array:
        return np.where(coin > 1 - 2.0**-20, weights.shape[1] - 1, super().draw(weights, coin))


@mutant("floats[denormals]", says="raised ValueError")
class RefusesDenormals(Chain):
    """Takes a denormal probability for a sign of corrupted memory."""

    def verify(self, given: Given) -> Outcome:
        if ((given.draft > 0) & (given.draft < np.finfo(np.float32).tiny)).any():
            raise ValueError("a denormal")
        return super().verify(given)


@mutant("certain[p = q]")
class NeverQuiteCertain(Chain):
    """Multiplies q by 1.01, to be on the safe side."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, draft=given.draft * np.float32(1.01)))


@mutant("vocabulary[padded]", says="Without them it is")
class CoinHashedWithSize(Chain):
    """Scrambles the last coin with the size of the vocabulary."""

    def final(self, given: Given, accepted: Array) -> Array:
        return (given.final + np.float32(0.1) * given.target.shape[2]) % 1


@mutant("coins[anywhere]", says="also for coins that are 2e-05 larger or smaller")
class FromTheOtherEnd(Chain):
    """Counts the last coin from the end: lossless, but not what was agreed."""

    def final(self, given: Given, accepted: Array) -> Array:
        return (1 - 2.0**-24 - given.final).astype(np.float32)


@mutant("rows[neighbours]", says="another outcome between rows certain of other tokens")
class DraftOfThePreviousRow(Chain):
    """Reads q from the row before."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, draft=np.roll(given.draft, 1, axis=0)))


@mutant("layout[strided]", says="where the arrays are strided")
class RawMemory(Chain):
    """Reads the target as if its entries stood side by side, whatever its strides."""

    def verify(self, given: Given) -> Outcome:
        packed = np.empty_like(given.target, order="C").strides
        memory = np.lib.stride_tricks.as_strided(given.target, given.target.shape, packed)
        return super().verify(replace(given, target=np.nan_to_num(memory)))


@mutant("layout[read-only]", says="raised ValueError")
class ScratchInItsArgument(Chain):
    """Uses the target as scratch space, though it restores it."""

    def verify(self, given: Given) -> Outcome:
        given.target[...] *= 1
        return super().verify(given)


@mutant("interface", says="writes into its argument lengths")
class OverwritesLengths(Chain):
    """Counts the lengths down to what is left behind the accepted drafts."""

    def end(self, given: Given, accepted: Array, weight: Array = 1) -> Outcome:
        outcome = super().end(given, accepted)
        if given.lengths.flags.writeable:
            given.lengths[...] -= accepted
        return outcome


@mutant("interface", says="writes into its argument tokens")
class OverwritesTokens(Chain):
    """Writes the accepted tokens over the drafts."""

    def emit(self, tokens: Array, accepted: Array, last: Array) -> Outcome:
        outcome = super().emit(tokens, accepted, last)
        if tokens.flags.writeable:
            tokens[np.arange(tokens.shape[1]) >= accepted[:, None]] = -1
        return outcome


@mutant("sizes[no rows]", says="raised")
class EmptyBatchFails(Chain):
    """Raises if there are no rows."""

    def verify(self, given: Given) -> Outcome:
        given.lengths.max()
        return super().verify(given)
