"""Verification of chains in plain NumPy, as an engine's author writes it. A mutant changes one method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Array = Any
"""A NumPy array; B rows of a batch, N draft tokens, V tokens, as ``losslesscheck.testing.subject`` says."""

Outcome = tuple[Array, Array]
"""Emitted tokens [B, N+1], −1 after the last, and how many drafts were accepted [B]."""


@dataclass(frozen=True)
class Given:
    """The arguments of a call; those that a rule does not ask for are ``None``."""

    target: Array
    tokens: Array
    lengths: Array
    draft: Array = None
    parents: Array = None
    coins: Array = None
    final: Array = None


def at(rows: Array, tokens: Array) -> Array:
    """The entry of every row [B, V] at its token [B]."""
    return np.take_along_axis(rows, tokens[:, None], axis=1)[:, 0]


class Verifier:
    """What all implementations share: the draw of the last token."""

    rule: str
    parameters: Mapping[str, Any] = {}
    """Of the rule, where they are not as they come."""

    def verify(self, given: Given) -> Outcome:
        raise NotImplementedError

    def draw(self, weights: Array, coin: Array) -> Array:
        """A token of every row in proportion to its weights [B, V], by inverse transform."""
        cumulative = weights.cumsum(axis=1)
        total = cumulative[:, -1]
        # coin·total may round up to total, and nothing lies above that.
        threshold = np.minimum(coin * total, np.nextafter(total, 0))
        return (cumulative > threshold[:, None]).argmax(axis=1)


class Chain(Verifier):
    """Leviathan's rule: accept x with min(1, p(x)/q(x)), else draw from norm((p − q)₊)."""

    rule = "chain"

    def __call__(
        self, target: Array, draft: Array, tokens: Array, lengths: Array, coins: Array, final: Array
    ) -> Outcome:
        return self.verify(Given(target, tokens, lengths, draft, coins=coins, final=final))

    def verify(self, given: Given) -> Outcome:
        tokens, lengths = given.tokens, given.lengths
        accepted = np.zeros(len(tokens), dtype=np.int64)
        for i in range(tokens.shape[1]):
            taken = self.accepts(*self.rows(given, i), tokens[:, i], given.coins[:, i])
            accepted += (accepted == i) & (i < lengths) & taken
        return self.end(given, accepted)

    def rows(self, given: Given, i: int) -> tuple[Array, Array]:
        """p and q [B, V] for draft token i."""
        return given.target[:, i], given.draft[:, i]

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return coin * at(q, x) < at(p, x)

    def end(self, given: Given, accepted: Array, weight: Array = 1) -> Outcome:
        """Draws the last token [B] behind the accepted ones.

        Args:
            weight: what p is multiplied by, [B], for the residual.
        """
        weights = self.bonus(given, accepted)
        rejected = accepted < given.lengths
        if rejected.any():
            i = np.where(rejected, accepted, 0)
            scaled = given.target * np.asarray(weight, dtype=given.target.dtype).reshape(-1, 1, 1)
            residual = self.recovery(replace(given, target=scaled), i)
            weights = np.where(rejected[:, None] & residual.any(axis=1, keepdims=True), residual, weights)
        return self.emit(given.tokens, accepted, self.draw(weights, self.final(given, accepted)))

    def bonus(self, given: Given, accepted: Array) -> Array:
        """The weights [B, V] of the token behind the accepted ones, if none was rejected."""
        return given.target[np.arange(len(accepted)), accepted]

    def recovery(self, given: Given, i: Array) -> Array:
        """The weights [B, V] of the token that replaces draft token i [B]."""
        rows = np.arange(len(i))
        return self.residual(given.target[rows, i], given.draft[rows, i], given.tokens[rows, i])

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return np.maximum(p - q, 0)

    def final(self, given: Given, accepted: Array) -> Array:
        """The coin [B] that draws the last token."""
        return given.final

    def emit(self, tokens: Array, accepted: Array, last: Array) -> Outcome:
        emitted = np.full((len(tokens), tokens.shape[1] + 1), -1)
        emitted[:, :-1] = np.where(np.arange(tokens.shape[1]) < accepted[:, None], tokens, -1)
        emitted[np.arange(len(tokens)), accepted] = last
        return emitted, accepted


class ChainKernel(Chain):
    """The same, with the guard against a q that is no probability."""

    rule = "chain_kernel"

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return (at(q, x) > 0) & (at(q, x) <= 1) & super().accepts(p, q, x, coin)


class SeededChain(Chain):
    """The same, with coins of its own."""

    def __call__(  # type: ignore[override]
        self, target: Array, draft: Array, tokens: Array, lengths: Array, seed: int
    ) -> Outcome:
        batch, drafts = tokens.shape
        coins, last = self.thrown(batch, drafts, seed)
        return self.verify(Given(target, tokens, lengths, draft, coins=coins, final=last))

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        rng = np.random.default_rng(seed)
        return rng.random((batch, drafts), dtype=np.float32), rng.random(batch, dtype=np.float32)


class Block(Chain):
    """Block verification: the longest prefix whose coin falls below its h is kept."""

    rule = "block_verification"

    def verify(self, given: Given) -> Outcome:
        tokens, lengths = given.tokens, given.lengths
        kept = np.zeros(len(tokens), dtype=np.int64)
        weight = weight_kept = np.ones(len(tokens), dtype=given.target.dtype)
        for i in range(tokens.shape[1]):
            p, q = (at(rows, tokens[:, i]) for rows in self.rows(given, i))
            weight = self.weight(weight, p, q)
            surplus = np.zeros_like(weight)
            if i + 1 < tokens.shape[1]:
                surplus = self.surplus(weight, *self.rows(given, i + 1)).sum(axis=1)
            keep = (i < lengths) & (given.coins[:, i] < self.keeps(weight, surplus, i + 1 == lengths))
            kept, weight_kept = self.keep(keep, i, weight, kept, weight_kept)
        return self.end(given, kept, weight_kept)

    def weight(self, before: Array, p: Array, q: Array) -> Array:
        """pᵢ = min(1, pᵢ₋₁·p(xᵢ)/q(xᵢ)), without a division by 0."""
        return np.where(before * p < q, before * p / np.where(q > 0, q, 1), 1).astype(p.dtype)

    def surplus(self, weight: Array, p: Array, q: Array) -> Array:
        return np.maximum(weight[:, None] * p - q, 0)

    def keeps(self, weight: Array, surplus: Array, last: Array) -> Array:
        """hᵢ = Sᵢ/(Sᵢ + 1 − pᵢ), and p_γ for the last."""
        inner = np.where(weight < 1, surplus / np.where(weight < 1, surplus + 1 - weight, 1), 1)
        return np.where(last, weight, inner)

    def keep(
        self, keep: Array, i: int, weight: Array, kept: Array, weight_kept: Array
    ) -> tuple[Array, Array]:
        """How many drafts are kept, and the weight behind them."""
        return np.where(keep, i + 1, kept), np.where(keep, weight, weight_kept)
