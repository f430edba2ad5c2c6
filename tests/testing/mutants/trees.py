"""Verification of token trees in plain NumPy, as an engine's author writes it; to be mutated as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.testing.mutants.chains import Array, Given, Outcome, Verifier, at


class Path:
    """How far down its token tree every row of a batch is."""

    def __init__(self, given: Given) -> None:
        self.tokens, self.parents, self.lengths = given.tokens, given.parents, given.lengths
        self.rows = np.arange(len(self.tokens))
        self.node = np.full(len(self.tokens), -1)
        self.accepted = np.zeros(len(self.tokens), dtype=np.int64)
        self.emitted = np.full((len(self.tokens), self.tokens.shape[1] + 1), -1)

    def below(self, i: Array) -> Array:
        """Whether draft token i [B] is a child of the node that was reached."""
        return (self.parents[self.rows, i] == self.node) & (i < self.lengths)

    def take(self, taken: Array, i: Array) -> None:
        self.emitted[taken, self.accepted[taken]] = self.tokens[self.rows, i][taken]
        self.accepted += taken
        self.node = np.where(taken, i, self.node)

    def end(self, last: Array) -> Outcome:
        self.emitted[self.rows, self.accepted] = last
        return self.emitted, self.accepted


class TreeVerifier(Verifier):
    """What verifiers of trees share: every draft token is looked at once, parents first."""

    def order(self, given: Given) -> Array:
        """The order in which the draft tokens are looked at, [B, N]."""
        return np.broadcast_to(np.arange(given.tokens.shape[1]), given.tokens.shape)

    def path(self, given: Given) -> Path:
        return Path(given)

    def arrive(self, given: Given, path: Path) -> Array:
        """The row of p [B, V] at the node that was reached."""
        return given.target[path.rows, path.node + 1]


class Specinfer(TreeVerifier):
    """Multi-step speculative sampling: the siblings are tried one by one against what is left of p."""

    rule = "specinfer"

    def __call__(
        self,
        target: Array,
        draft: Array,
        tokens: Array,
        parents: Array,
        lengths: Array,
        coins: Array,
        final: Array,
    ) -> Outcome:
        return self.verify(Given(target, tokens, lengths, draft, parents, coins, final))

    def verify(self, given: Given) -> Outcome:
        path = self.path(given)
        rows = path.rows
        residual = self.arrive(given, path).copy()
        tried = np.zeros(residual.shape, dtype=bool)
        for i in self.order(given).T:
            x, below = given.tokens[rows, i], path.below(i)
            q = self.proposal(self.drafted(given, i), x, tried)
            taken = below & self.accepts(residual, q, x, self.coin(given, i))
            rejected = below & ~taken
            residual[rejected] = self.rejected(residual, q, x, tried)[rejected]
            tried[rejected, x[rejected]] = True
            path.take(taken, i)
            residual[taken] = self.onward(given, path, residual)[taken]
            tried[taken] = False
        return path.end(self.last(given, path, residual, tried))

    def drafted(self, given: Given, i: Array) -> Array:
        """The row of q [B, V] of draft token i [B]."""
        return given.draft[np.arange(len(i)), i]

    def coin(self, given: Given, i: Array) -> Array:
        return given.coins[np.arange(len(i)), i]

    def proposal(self, q: Array, x: Array, tried: Array) -> Array:
        """What x was drawn from, given the siblings tried before it [B, V]."""
        return q

    def accepts(self, residual: Array, q: Array, x: Array, coin: Array) -> Array:
        return coin * at(q, x) < at(residual, x)

    def rejected(self, residual: Array, q: Array, x: Array, tried: Array) -> Array:
        """What is left of p once x was rejected."""
        return normalised(np.maximum(residual - q, 0), residual)

    def onward(self, given: Given, path: Path, residual: Array) -> Array:
        """What is left of p at the node that was reached: all of it."""
        return self.arrive(given, path)

    def last(self, given: Given, path: Path, residual: Array, tried: Array) -> Array:
        return self.draw(residual, given.final)


class WithoutReplacement(Specinfer):
    """The same, for siblings drawn without replacement; uniformly once q's tokens are used up."""

    rule = "without_replacement"

    def proposal(self, q: Array, x: Array, tried: Array) -> Array:
        untried = np.where(tried, 0, 1).astype(q.dtype)
        return normalised(np.where(tried, 0, q), normalised(untried, untried))


class PointMass(Specinfer):
    """The same, for draft tokens that were not drawn: accept x with what is left of p, else strike it out."""

    rule = "point_mass"

    def proposal(self, q: Array, x: Array, tried: Array) -> Array:
        return (np.arange(q.shape[1]) == x[:, None]).astype(q.dtype)


class TargetOnly(TreeVerifier):
    """SGLang's rule: one coin against the cumulative target probability of the siblings."""

    rule = "target_only"

    def __call__(
        self, target: Array, tokens: Array, parents: Array, lengths: Array, coins: Array, final: Array
    ) -> Outcome:
        return self.verify(Given(target, tokens, lengths, None, parents, coins, final))

    def verify(self, given: Given) -> Outcome:
        path = self.path(given)
        rows = path.rows
        rest = self.arrive(given, path).copy()
        coin = cumulative = np.zeros_like(given.final)
        begun = np.zeros(len(rows), dtype=bool)
        for i in self.order(given).T:
            x, below = given.tokens[rows, i], path.below(i)
            p = at(self.arrive(given, path), x)
            coin = self.coin(coin, given.coins[rows, i], below & ~begun, below)
            cumulative = cumulative + np.where(below, p, 0)
            taken = below & self.accepts(coin, cumulative, p)
            rejected = below & ~taken
            rest[rejected] = self.rejected(rest, x, begun)[rejected]
            path.take(taken, i)
            rest[taken] = self.arrive(given, path)[taken]
            begun = (begun | below) & ~taken
            cumulative = self.onward(cumulative, taken)
        rest = np.where(rest.any(axis=1, keepdims=True), rest, self.arrive(given, path))
        return path.end(self.draw(self.left(given, path, rest), self.final(given, coin)))

    def coin(self, coin: Array, fresh: Array, first: Array, below: Array) -> Array:
        """The coin for a draft token, given the one so far: that of the first sibling."""
        return np.where(first, fresh, coin)

    def accepts(self, coin: Array, cumulative: Array, p: Array) -> Array:
        return (p > 0) & (coin < cumulative)

    def rejected(self, rest: Array, x: Array, begun: Array) -> Array:
        """What is left of p once x was rejected; ``begun``: others were before."""
        return np.where(np.arange(rest.shape[1]) == x[:, None], 0, rest)

    def onward(self, cumulative: Array, taken: Array) -> Array:
        """The cumulative probability at the node that was reached."""
        return np.where(taken, 0, cumulative)

    def left(self, given: Given, path: Path, rest: Array) -> Array:
        """The weights of the last token."""
        return rest

    def final(self, given: Given, coin: Array) -> Array:
        """The coin that draws the last token."""
        return given.final


class Thresholded(TargetOnly):
    """The same with a threshold, which is lossy on purpose."""

    parameters: Mapping[str, Any] = {"threshold_acc": 0.5}

    def accepts(self, coin: Array, cumulative: Array, p: Array) -> Array:
        return super().accepts(coin, cumulative / np.float32(0.5), p)


class Standalone(TargetOnly):
    """The same on the tree that SGLang's STANDALONE drafts."""

    rule = "standalone"


class NaiveSampling(TreeVerifier):
    """The target draws at every node, and goes on below the child that is the token drawn."""

    rule = "naive_sampling"

    def __call__(
        self, target: Array, tokens: Array, parents: Array, lengths: Array, coins: Array, final: Array
    ) -> Outcome:
        return self.verify(Given(target, tokens, lengths, None, parents, coins, final))

    def verify(self, given: Given) -> Outcome:
        path = self.path(given)
        drawn = np.full(len(path.rows), -1)
        for i in self.order(given).T:
            below, p = path.below(i), self.arrive(given, path)
            drawn = np.where(below & (drawn < 0), self.draw(p, given.coins[path.rows, i]), drawn)
            taken = below & self.continues(drawn, given.tokens[path.rows, i], p)
            drawn = np.where(taken, -1, drawn)
            path.take(taken, i)
        return path.end(self.last(drawn, self.draw(self.arrive(given, path), given.final)))

    def continues(self, drawn: Array, x: Array, p: Array) -> Array:
        return drawn == x

    def last(self, drawn: Array, fresh: Array) -> Array:
        """The token drawn at the node; at a leaf none was."""
        return np.where(drawn < 0, fresh, drawn)


class Greedy(TreeVerifier):
    """Greedy verification: go on below the child that is the target's best token."""

    rule = "tree_greedy"

    def __call__(self, target: Array, draft: Array, tokens: Array, parents: Array, lengths: Array) -> Outcome:
        return self.verify(Given(target, tokens, lengths, draft, parents))

    def verify(self, given: Given) -> Outcome:
        path = self.path(given)
        for i in self.order(given).T:
            p, q = self.arrive(given, path), given.draft[path.rows, i]
            path.take(path.below(i) & self.accepts(p, q, given.tokens[path.rows, i]), i)
        return path.end(self.last(given, path))

    def best(self, p: Array) -> Array:
        return p.argmax(axis=1)

    def accepts(self, p: Array, q: Array, x: Array) -> Array:
        return self.best(p) == x

    def last(self, given: Given, path: Path) -> Array:
        return self.best(self.arrive(given, path))


class Blockwise(Greedy):
    """The same along a chain."""

    rule = "blockwise"


def normalised(weights: Array, otherwise: Array) -> Array:
    """Rows [B, V] divided by their sums; ``otherwise`` where that is 0."""
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1), otherwise)
