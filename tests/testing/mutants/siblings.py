"""Faults of rules that try the siblings of a node one by one."""

from __future__ import annotations

import numpy as np

from tests.testing.mutants.chains import Array, Given, at
from tests.testing.mutants.registry import mutant
from tests.testing.mutants.trees import Path, PointMass, Specinfer, WithoutReplacement, normalised


@mutant("law[dense]", seen="engines and papers' code")
class TargetNeverUpdated(Specinfer):
    """Tests every sibling against p itself and draws the last token from p."""

    def rejected(self, residual: Array, q: Array, x: Array, tried: Array) -> Array:
        return residual


@mutant("law[dense]", seen="engines and papers' code")
class ResidualNotNormalised(Specinfer):
    """Tests later siblings against (p − q)₊ that was not renormalised."""

    def rejected(self, residual: Array, q: Array, x: Array, tried: Array) -> Array:
        return np.maximum(residual - q, 0)


@mutant("acceptance[mixed]")
class OnlyFirstSubtracted(Specinfer):
    """Subtracts q once, for the first sibling that is rejected."""

    def rejected(self, residual: Array, q: Array, x: Array, tried: Array) -> Array:
        first = ~tried.any(axis=1, keepdims=True)
        return np.where(first, super().rejected(residual, q, x, tried), residual)


@mutant("law[dense]")
class SiblingsStruckOut(Specinfer):
    """Strikes rejected siblings out of p instead of subtracting q."""

    def rejected(self, residual: Array, q: Array, x: Array, tried: Array) -> Array:
        return normalised(np.where(np.arange(q.shape[1]) == x[:, None], 0, residual), residual)


@mutant("law[dense]", seen="engines and papers' code")
class SortedSiblings(Specinfer):
    """Tries the siblings in the order of their token numbers, not as they were drawn."""

    def order(self, given: Given) -> Array:
        return np.lexsort((given.tokens, given.parents), axis=1)


@mutant("law[dense]")
class LikeliestSiblingFirst(Specinfer):
    """Tries the siblings from the likeliest to the least likely by p."""

    def order(self, given: Given) -> Array:
        rows, parents = np.arange(len(given.tokens))[:, None], given.parents
        return np.lexsort((-given.target[rows, parents + 1, given.tokens], parents), axis=1)


@mutant("acceptance[flat]")
class SiblingsShareACoin(Specinfer):
    """Tests all siblings of a node with the coin of the first."""

    def coin(self, given: Given, i: Array) -> Array:
        first = (given.parents == given.parents[np.arange(len(i)), i][:, None]).argmax(axis=1)
        return super().coin(given, first)


@mutant("law[dense]")
class ResidualCarriedDown(Specinfer):
    """Goes on below an accepted sibling with what was left of p at its parent."""

    def onward(self, given: Given, path: Path, residual: Array) -> Array:
        return residual


@mutant("law[dense]")
class RowOfTheParent(Specinfer):
    """Takes p at an accepted node from its parent's row."""

    def arrive(self, given: Given, path: Path) -> Array:
        above = np.where(path.node < 0, -1, path.parents[path.rows, path.node])
        return given.target[path.rows, above + 1]


@mutant("law[dense]")
class RowByDepth(Specinfer):
    """Takes p from the row whose number is the depth, as for a chain."""

    def arrive(self, given: Given, path: Path) -> Array:
        return given.target[path.rows, path.accepted]


@mutant("law[dense]")
class DraftRowOfTheRoot(Specinfer):
    """Takes q from the root's row, whatever the depth."""

    def drafted(self, given: Given, i: Array) -> Array:
        return given.draft[:, 0]


class PathByLevel(Path):
    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self.level = np.zeros_like(given.parents)
        for i in range(self.level.shape[1]):
            above = given.parents[:, i]
            self.level[:, i] = np.where(above < 0, 0, self.level[self.rows, above] + 1)

    def below(self, i: Array) -> Array:
        return (self.level[self.rows, i] == self.accepted) & (i < self.lengths)


@mutant("path[early leaf]", "path[wide tree]")
class ParentsIgnored(Specinfer):
    """Takes every draft token of the next level for a child of the node that was reached."""

    def path(self, given: Given) -> Path:
        return PathByLevel(given)


@mutant("acceptance[dense]")
class DepthCut(Specinfer):
    """Stops one level above the leaves: the target's law, but fewer drafts are accepted."""

    def order(self, given: Given) -> Array:
        count = given.tokens.shape[1]
        inner = [i for i in range(count) if i < 1 or (given.parents == i).any()]
        return np.broadcast_to(np.array(inner, dtype=np.int64), (len(given.tokens), len(inner)))


@mutant("acceptance[dense]")
class FirstSiblingOnly(Specinfer):
    """Tries the first sibling of a node only: the target's law, but fewer drafts are accepted."""

    def order(self, given: Given) -> Array:
        first = [
            i
            for i in range(given.tokens.shape[1])
            if not (given.parents[:, :i] == given.parents[:, i : i + 1]).any()
        ]
        return np.broadcast_to(np.array(first, dtype=np.int64), (len(given.tokens), len(first)))


@mutant("law[dense]")
class LeafTakenForRejection(Specinfer):
    """At a leaf, draws the bonus from (p − q)₊ with the q that the leaf was drawn from."""

    def last(self, given: Given, path: Path, residual: Array, tried: Array) -> Array:
        if given.tokens.shape[1] == 0:
            return self.draw(residual, given.final)
        accepted = (path.node >= 0) & ~tried.any(axis=1)
        q = given.draft[path.rows, np.maximum(path.node, 0)]
        left = np.where(accepted[:, None], normalised(np.maximum(residual - q, 0), residual), residual)
        return self.draw(left, given.final)


@mutant("law[one-hot draft]", seen="engines and papers' code")
class WithReplacementAssumed(WithoutReplacement):
    """Tests siblings drawn without replacement with the q of the first draw."""

    def proposal(self, q: Array, x: Array, tried: Array) -> Array:
        return q


@mutant("law[wide tree, disjoint]", "coins[different trees]")
class ThirdSiblingAsTheFirst(WithoutReplacement):
    """Tests the third sibling and those after it with the q of the first draw."""

    def proposal(self, q: Array, x: Array, tried: Array) -> Array:
        many = tried.sum(axis=1, keepdims=True) >= 2
        return np.where(many, q, super().proposal(q, x, tried))


@mutant("certain[one-hot draft]")
class ExhaustedIsCertain(WithoutReplacement):
    """Takes a sibling for certain once q has no other tokens left, instead of one of all untried."""

    def proposal(self, q: Array, x: Array, tried: Array) -> Array:
        exhausted = ~np.where(tried, 0, q).any(axis=1, keepdims=True)
        return np.where(exhausted, np.eye(q.shape[1], dtype=q.dtype)[x], super().proposal(q, x, tried))


@mutant("acceptance[mixed]")
class ReplacementStruckOut(Specinfer):
    """Strikes rejected siblings out of q, though they are drawn with replacement."""

    def proposal(self, q: Array, x: Array, tried: Array) -> Array:
        return normalised(np.where(tried, 0, q), q)


@mutant("law[early leaf]")
class PointNotNormalised(PointMass):
    """Strikes rejected siblings out of p without renormalising it for the next."""

    def rejected(self, residual: Array, q: Array, x: Array, tried: Array) -> Array:
        return np.where(q > 0, 0, residual)


@mutant("law[dense]")
class PointNotStruckOut(PointMass):
    """Leaves rejected siblings in p."""

    def rejected(self, residual: Array, q: Array, x: Array, tried: Array) -> Array:
        return residual


@mutant("law[dense]")
class OnlyLastStruckOut(PointMass):
    """Draws the last token from p without the last rejected sibling only."""

    def last(self, given: Given, path: Path, residual: Array, tried: Array) -> Array:
        p = self.arrive(given, path)
        none = ~tried.any(axis=1, keepdims=True)
        latest = tried & (
            np.arange(p.shape[1]) == np.where(tried, np.arange(p.shape[1]), -1).max(axis=1)[:, None]
        )
        left = np.where(latest, 0, p)
        return self.draw(np.where(none | ~left.any(axis=1, keepdims=True), residual, left), given.final)


@mutant("law[duplicate siblings]", seen="SGLang's target-only kernel with duplicate siblings")
class DuplicatesCountedTwice(PointMass):
    """Accepts the second copy of a sibling as if the first had not been rejected."""

    def rejected(self, residual: Array, q: Array, x: Array, tried: Array) -> Array:
        left = 1 - at(residual, x)[:, None]
        return np.where(left > 0, residual / np.where(left > 0, left, 1), residual)

    def last(self, given: Given, path: Path, residual: Array, tried: Array) -> Array:
        left = np.where(tried, 0, residual)
        return self.draw(np.where(left.any(axis=1, keepdims=True), left, residual), given.final)


@mutant("support[coins at the ends]", "certain[point masses]", seen="sglang-kernel 0.4.5 with a coin of 0")
class PointInclusive(PointMass):
    """The test is u <= p: a coin of 0 accepts a token that the target never emits."""

    def accepts(self, residual: Array, q: Array, x: Array, coin: Array) -> Array:
        return coin <= at(residual, x)
