"""Faults that only show where the rows of a batch have different trees, in any order of their nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.testing.mutants.chains import Array, Given, Outcome
from tests.testing.mutants.registry import mutant
from tests.testing.mutants.trees import Specinfer


@mutant("coins[different trees]", "certain[different trees]")
class TreeOfFirstRow(Specinfer):
    """Takes the first row's tree for that of all rows."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, parents=np.broadcast_to(given.parents[:1], given.parents.shape)))


class SeededSpecinfer(Specinfer):
    """The rule with coins of its own."""

    def __call__(  # type: ignore[override]
        self, target: Array, draft: Array, tokens: Array, parents: Array, lengths: Array, seed: int
    ) -> Outcome:
        rng = np.random.default_rng(seed)
        coins = rng.random(tokens.shape, dtype=np.float32)
        final = rng.random(len(tokens), dtype=np.float32)
        return self.verify(Given(target, tokens, lengths, draft, parents, coins, final))


@mutant("certain[different trees]")
class SeededTreeOfFirstRow(SeededSpecinfer):
    """The same, with coins of its own."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, parents=np.broadcast_to(given.parents[:1], given.parents.shape)))


@mutant("coins[different trees]")
class LevelByLevel(Specinfer):
    """Expects the draft tokens level by level: passes over one whose parent stands before the last one's."""

    def verify(self, given: Given) -> Outcome:
        furthest = np.maximum.accumulate(given.parents, axis=1)
        late = given.parents < furthest
        return super().verify(replace(given, parents=np.where(late, NOBODY, given.parents)))


@mutant("coins[different trees]")
class SiblingsSideBySide(Specinfer):
    """Takes the siblings of a node to stand next to each other, and does not see those further on."""

    def verify(self, given: Given) -> Outcome:
        parents = given.parents.copy()
        for i in range(1, parents.shape[1]):
            above = given.parents[:, i]
            known = (given.parents[:, :i] == above[:, None]).any(axis=1)
            parents[:, i] = np.where(known & (given.parents[:, i - 1] != above), NOBODY, above)
        return super().verify(replace(given, parents=parents))


NOBODY = -9
"""The parent of a draft token that is not looked at."""
