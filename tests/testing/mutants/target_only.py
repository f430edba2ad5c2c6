"""Faults of rules that look at all siblings of a node at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.testing.mutants.chains import Array, Given, Outcome
from tests.testing.mutants.registry import mutant
from tests.testing.mutants.trees import NaiveSampling, Path, Standalone, TargetOnly, Thresholded


@mutant("support[coins at thresholds]", seen="sglang-kernel 0.4.5 (fixed in SGLang 0.5.21)")
class InclusiveCumulativeTest(TargetOnly):
    """The test is u <= Σp: a coin of 0 accepts a sibling that the target never emits."""

    def accepts(self, coin: Array, cumulative: Array, p: Array) -> Array:
        return coin <= cumulative


@mutant("law[dense]", "acceptance[dense]", seen="SGLang's threshold_acc")
class ThresholdAcc(TargetOnly):
    """Divides the siblings' cumulative probability by .9."""

    def accepts(self, coin: Array, cumulative: Array, p: Array) -> Array:
        return super().accepts(coin, cumulative / np.float32(0.9), p)


@mutant("law[sparse]", "acceptance[dense]", seen="SGLang's threshold_single")
class ThresholdSingle(TargetOnly):
    """Accepts a sibling of p >= .3 whatever the coin says."""

    def accepts(self, coin: Array, cumulative: Array, p: Array) -> Array:
        return super().accepts(coin, cumulative, p) | (p >= 0.3)


@mutant("law[dense]", "acceptance[dense]")
class SiblingsAlone(TargetOnly):
    """Compares the one coin with every sibling's own probability, not their sum."""

    def accepts(self, coin: Array, cumulative: Array, p: Array) -> Array:
        return coin < p


@mutant("law[dense]", "acceptance[dense]")
class CoinPerSibling(TargetOnly):
    """Compares the cumulative probability with a fresh coin for every sibling."""

    def coin(self, coin: Array, fresh: Array, first: Array, below: Array) -> Array:
        return np.where(below, fresh, coin)


@mutant("law[dense]")
class CoinOfTheRoot(TargetOnly):
    """Uses the root's coin at all nodes of a path."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, coins=np.broadcast_to(given.coins[:, :1], given.coins.shape)))


@mutant("law[dense]", seen="engines and papers' code")
class CoinDrawsToo(TargetOnly):
    """Draws the last token with the coin that rejected the siblings."""

    def final(self, given: Given, coin: Array) -> Array:
        return coin if given.tokens.shape[1] else given.final


@mutant("law[dense]")
class RejectedStayIn(TargetOnly):
    """Draws the last token from p, rejected siblings and all."""

    def rejected(self, rest: Array, x: Array, begun: Array) -> Array:
        return rest


@mutant("law[dense]")
class FirstRejectedOut(TargetOnly):
    """Strikes only the first rejected sibling out of p."""

    def rejected(self, rest: Array, x: Array, begun: Array) -> Array:
        return np.where(begun[:, None], rest, super().rejected(rest, x, begun))


@mutant("law[dense]")
class SumNotReset(TargetOnly):
    """Keeps the siblings' sum of the node above when it goes down a level."""

    def onward(self, cumulative: Array, taken: Array) -> Array:
        return cumulative


@mutant("law[dense]")
class LastFromTheRoot(TargetOnly):
    """Draws the last token from the root's row."""

    def left(self, given: Given, path: Path, rest: Array) -> Array:
        p = given.target[:, 0]
        return np.where((path.node >= 0)[:, None], p, rest)


@mutant("law[dense]", seen="SGLang's n-gram drafts: token 0 below the root")
class PaddedBelowRoot(TargetOnly):
    """Fills the tree up with two copies of token 0 below the root."""

    def verify(self, given: Given) -> Outcome:
        batch, count = given.tokens.shape
        two = np.zeros((batch, 2), dtype=np.int64)
        emitted, accepted = super().verify(
            replace(
                given,
                tokens=np.hstack([given.tokens, two]),
                parents=np.hstack([given.parents, two - 1]),
                target=np.concatenate([given.target, given.target[:, :1], given.target[:, :1]], axis=1),
                coins=np.hstack([given.coins, given.coins[:, :1], given.coins[:, :1]]),
                lengths=given.lengths + 2,
            )
        )
        return emitted[:, : count + 1], np.minimum(accepted, given.lengths)


@mutant("law[dense]", "acceptance[dense]")
class ThresholdIgnored(Thresholded):
    """Is asked for threshold_acc = .5 and uses 1: lossless, but not what was asked for."""

    def accepts(self, coin: Array, cumulative: Array, p: Array) -> Array:
        return TargetOnly.accepts(self, coin, cumulative, p)


@mutant("coins[anywhere]", "acceptance[peaked]")
class StandaloneByTheBest(Standalone):
    """Accepts a sibling of p > .5 outright, as greedy verification would."""

    def accepts(self, coin: Array, cumulative: Array, p: Array) -> Array:
        return (p > 0.5) | super().accepts(coin, cumulative, p)


@mutant("acceptance[dense]")
class NoTree(NaiveSampling):
    """Never looks at the tree: the target's law, without any speed."""

    def continues(self, drawn: Array, x: Array, p: Array) -> Array:
        return np.zeros(len(x), dtype=bool)


@mutant("law[dense]")
class DrawsAgain(NaiveSampling):
    """Draws a fresh token where the first is no child of the node."""

    def last(self, drawn: Array, fresh: Array) -> Array:
        return fresh


@mutant("law[peaked]", "acceptance[dense]")
class ContinuesIfLikely(NaiveSampling):
    """Goes on below a child that is the target's best token, whatever was drawn."""

    def continues(self, drawn: Array, x: Array, p: Array) -> Array:
        return (drawn == x) | (p.argmax(axis=1) == x)
