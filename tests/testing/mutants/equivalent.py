"""Changes that are no faults: other ways to do the same, which must pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tests.testing.mutants.chains import Array, Chain, ChainKernel, Given, Outcome, SeededChain, Verifier, at
from tests.testing.mutants.trees import Greedy

EQUIVALENT: dict[type[Verifier], str] = {}
"""The classes, and why they are no mutants."""


def equivalent(why: str) -> Callable[[type[Verifier]], type[Verifier]]:
    def register(implementation: type[Verifier]) -> type[Verifier]:
        EQUIVALENT[implementation] = why
        return implementation

    return register


@equivalent("the law changes by less than 10⁻³⁰, and what is emitted stays possible")
class FlushesDenormals(ChainKernel):
    """Takes probabilities below the smallest normal number for 0."""

    def verify(self, given: Given) -> Outcome:
        smallest = np.finfo(given.target.dtype).tiny
        target, draft = (np.where(rows < smallest, 0, rows) for rows in (given.target, given.draft))
        return super().verify(replace(given, target=target, draft=draft))


@equivalent("the quotient is rounded, by less than a coin's resolution")
class ComparesQuotient(Chain):
    """Compares u with p/q instead of u·q with p."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        q_x = at(q, x)
        return coin < at(p, x) / np.where(q_x > 0, q_x, 1)


@equivalent("the law of the last token is the same; only for coins of one's own")
class ExponentialRace(SeededChain):
    """Draws the last token as the largest of weight/Exp(1)."""

    def draw(self, weights: Array, coin: Array) -> Array:
        seed = np.ascontiguousarray(coin).view(np.uint32)
        waiting = np.random.default_rng(seed).exponential(size=weights.shape)
        return (weights / np.maximum(waiting, 1e-30)).argmax(axis=1)


@equivalent("coins are independent in any order")
class CoinsByColumn(SeededChain):
    """Throws the coins position by position, the final ones first."""

    def thrown(self, batch: int, drafts: int, seed: int) -> tuple[Array, Array]:
        rng = np.random.default_rng(seed)
        final = rng.random(batch, dtype=np.float32)
        return rng.random((drafts, batch), dtype=np.float32).T, final


@equivalent("the number of accepted drafts can be counted")
class TokensAlone(Chain):
    """Returns the emitted tokens alone, −1 behind the last."""

    def emit(self, tokens: Array, accepted: Array, last: Array) -> Outcome:
        emitted, _ = super().emit(tokens, accepted, last)
        return emitted  # type: ignore[no-any-return]


@equivalent("siblings of greedy verification cannot be accepted two at a time")
class LastSiblingFirst(Greedy):
    """Looks at the siblings from the last to the first."""

    def order(self, given: Given) -> Array:
        index = np.broadcast_to(np.arange(given.tokens.shape[1]), given.tokens.shape)
        return np.lexsort((-index, given.parents), axis=1)


@equivalent("logarithms tell apart what is not within a few ulps, and all tokens of a tie are equal")
class BestLogarithm(Greedy):
    """Looks for the best token among float32 log-probabilities."""

    def best(self, p: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(p).argmax(axis=1)
