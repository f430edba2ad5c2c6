"""Faults that only show beyond a limit: long paths, large trees, vocabularies and batches, single drafts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.testing.mutants.chains import Array, Chain, Given, Outcome
from tests.testing.mutants.registry import mutant
from tests.testing.mutants.trees import Specinfer


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
