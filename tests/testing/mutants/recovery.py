"""Faults of the last token of a chain: the one that replaces a rejected draft, or the bonus token."""

from __future__ import annotations

import numpy as np

from tests.testing.mutants.chains import Array, Chain, ChainKernel, Given, Outcome
from tests.testing.mutants.registry import mutant


@mutant("law[dense]", seen="engines and papers' code")
class ResamplesTarget(Chain):
    """Replaces a rejected token from p instead of norm((p − q)₊)."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return p


@mutant("law[dense]", seen="engines and papers' code")
class StrikesOutRejected(Chain):
    """Replaces a rejected token from p without that token."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return np.where(np.arange(p.shape[1]) == x[:, None], 0, p)


@mutant("law[dense]", "support[coins at thresholds]")
class ReversedResidual(Chain):
    """Draws from (q − p)₊."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return np.maximum(q - p, 0)


@mutant("law[dense]", "support[large vocabulary]")
class AbsoluteResidual(Chain):
    """Draws from |p − q|."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return np.abs(p - q)


@mutant("law[dense]")
class UnclampedResidual(Chain):
    """Draws from p − q, negative weights and all."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return p - q


@mutant("law[dense]")
class HalvedDraft(Chain):
    """Draws from (p − q/2)₊."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return np.maximum(p - q / 2, 0)


@mutant("law[dense]")
class SquaredResidual(Chain):
    """Applies the temperature to the residual: draws from its square."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return np.maximum(p - q, 0) ** 2


@mutant("law[dense]")
class LikeliestRecovery(Chain):
    """Replaces a rejected token by the likeliest of the residual."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        residual = np.maximum(p - q, 0)
        return np.where(residual < residual.max(axis=1, keepdims=True), 0, residual)


@mutant("law[mixed]")
class TopKResidual(Chain):
    """Keeps the three largest entries of the residual, all that a thread holds."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        residual = np.maximum(p - q, 0)
        return np.where(residual < np.sort(residual, axis=1)[:, -3:][:, :1], 0, residual)


@mutant("support[coins at thresholds]")
class SmoothedResidual(Chain):
    """Adds a millionth to every entry of the residual, so that there is something to draw from."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return np.maximum(p - q, 0) + np.float32(1e-6)


@mutant("coins[near thresholds]")
class ResidualOfHalves(Chain):
    """Takes the residual from q rounded to float16."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return super().residual(p, q.astype(np.float16).astype(p.dtype), x)


@mutant("law[dense]", seen="engines and papers' code")
class RecoveryFromTheNextRow(Chain):
    """Takes p of the recovery from the row after the rejected draft."""

    def recovery(self, given: Given, i: Array) -> Array:
        rows = np.arange(len(i))
        return self.residual(given.target[rows, i + 1], given.draft[rows, i], given.tokens[rows, i])


@mutant("law[dense]")
class RecoveryAgainstTheLastDraft(Chain):
    """Subtracts the q of the last draft token, whichever was rejected."""

    def recovery(self, given: Given, i: Array) -> Array:
        rows = np.arange(len(i))
        return self.residual(given.target[rows, i], given.draft[:, -1], given.tokens[rows, i])


@mutant("law[dense]", seen="engines and papers' code")
class BonusFromTheRowBefore(Chain):
    """Draws the bonus token from the row before its own."""

    def bonus(self, given: Given, accepted: Array) -> Array:
        return given.target[np.arange(len(accepted)), np.maximum(accepted - 1, 0)]


@mutant("law[dense]")
class BonusFromResidual(Chain):
    """Subtracts q from p for the bonus token too."""

    def bonus(self, given: Given, accepted: Array) -> Array:
        if given.draft.shape[1] == 0:
            return super().bonus(given, accepted)
        residual = np.maximum(super().bonus(given, accepted) - given.draft[:, -1], 0)
        return np.where(residual.any(axis=1, keepdims=True), residual, super().bonus(given, accepted))


@mutant("law[dense]")
class BonusIsLikeliest(Chain):
    """Emits the target's likeliest token as the bonus."""

    def bonus(self, given: Given, accepted: Array) -> Array:
        p = super().bonus(given, accepted)
        return np.where(p < p.max(axis=1, keepdims=True), 0, p)


@mutant("law[dense]")
class NoBonus(Chain):
    """Emits the last draft token again in place of the bonus."""

    def emit(self, tokens: Array, accepted: Array, last: Array) -> Outcome:
        count = tokens.shape[1]
        if count:
            last = np.where(accepted == count, tokens[:, -1], last)
        return super().emit(tokens, accepted, last)


@mutant("support[coins at the ends]")
class InclusiveCumulative(Chain):
    """Takes the first token whose cumulative weight is >= the coin: for a coin of 0 that is token 0."""

    def draw(self, weights: Array, coin: Array) -> Array:
        cumulative = weights.cumsum(axis=1)
        return (cumulative >= coin[:, None] * cumulative[:, -1:]).argmax(axis=1)


@mutant("law[dense]", "support[ordinary coins]")
class OneTokenFurther(Chain):
    """Counts the tokens whose cumulative weight is reached from 1."""

    def draw(self, weights: Array, coin: Array) -> Array:
        return np.minimum(super().draw(weights, coin) + 1, weights.shape[1] - 1)


@mutant("law[dense]", "support[coins at thresholds]")
class NotNormalised(Chain):
    """Compares the coin with cumulative weights that are not divided by their sum; else the last token."""

    def draw(self, weights: Array, coin: Array) -> Array:
        cumulative = weights.cumsum(axis=1)
        return np.minimum((cumulative <= coin[:, None]).sum(axis=1), weights.shape[1] - 1)


@mutant("law[dense]", "rows[permuted]")
class TotalOfFirstRow(Chain):
    """Divides the residuals of all rows by the sum of the first row's."""

    def draw(self, weights: Array, coin: Array) -> Array:
        cumulative = weights.cumsum(axis=1)
        found = cumulative > coin[:, None] * cumulative[:1, -1:]
        return np.where(found.any(axis=1), found.argmax(axis=1), super().draw(weights, coin))


@mutant("support[coins at the ends]", seen="SGLang's Triton kernel: coins within 256 ulp of 1")
class LastTokenIfNone(ChainKernel):
    """Emits token V−1 where no cumulative weight exceeds coin·sum; sum and cumulative sum round apart."""

    def draw(self, weights: Array, coin: Array) -> Array:
        found = weights.cumsum(axis=1) > (coin * np.nextafter(weights.sum(axis=1), np.inf))[:, None]
        return np.where(found.any(axis=1), found.argmax(axis=1), weights.shape[1] - 1)


@mutant("support[coins at thresholds]", seen="FlashInfer: what is drawn for a coin of 1")
class StaleSharedMemory(Chain):
    """Emits what the row before emitted where no cumulative weight exceeds coin·sum."""

    def draw(self, weights: Array, coin: Array) -> Array:
        found = weights.cumsum(axis=1) > (coin * np.nextafter(weights.sum(axis=1), np.inf))[:, None]
        drawn = found.argmax(axis=1)
        return np.where(found.any(axis=1), drawn, np.roll(drawn, 1))


@mutant("coins[near thresholds]")
class HalfCumulative(Chain):
    """Adds up the weights in float16."""

    def draw(self, weights: Array, coin: Array) -> Array:
        cumulative = weights.astype(np.float16).cumsum(axis=1, dtype=np.float16).astype(np.float32)
        found = cumulative > coin[:, None] * cumulative[:, -1:]
        return np.where(found.any(axis=1), found.argmax(axis=1), super().draw(weights, coin))


@mutant("vocabulary[padded]")
class TailDropped(Chain):
    """Reads four tokens at a time and leaves out what remains of the vocabulary."""

    def draw(self, weights: Array, coin: Array) -> Array:
        whole = weights.shape[1] // 4 * 4
        head = weights[:, :whole]
        return super().draw(head if whole and head.any(axis=1).all() else weights, coin)


@mutant("support[large vocabulary]")
class OneTile(Chain):
    """Looks for the last token in the first tile of 1024 tokens only."""

    def draw(self, weights: Array, coin: Array) -> Array:
        return super().draw(weights[:, :1024], coin)


@mutant("floats[sums that are off by an ulp]", says="outside a vocabulary")
class SearchesBeyondTheEnd(Chain):
    """Counts the cumulative weights that are <= coin: V of them, if they end an ulp below 1."""

    def draw(self, weights: Array, coin: Array) -> Array:
        total = weights.sum(axis=1, keepdims=True)
        return ((weights / total).cumsum(axis=1) <= coin[:, None]).sum(axis=1)


@mutant("support[coins at the ends]")
class ReciprocalOfSum(Chain):
    """Multiplies by the reciprocal of the sum, which is infinite where the sum is a denormal."""

    def draw(self, weights: Array, coin: Array) -> Array:
        reciprocal = 1 / weights.sum(axis=1, keepdims=True)
        return ((weights * reciprocal).cumsum(axis=1) > coin[:, None]).argmax(axis=1)


@mutant("support[ordinary coins]", "vocabulary[padded]")
class PaddingNotMasked(Chain):
    """Gives the last tokens of the vocabulary, which pad it, the weight of the smallest real one."""

    def draw(self, weights: Array, coin: Array) -> Array:
        floor = np.where(weights > 0, weights, 1).min(axis=1, keepdims=True) * np.float32(0.01)
        return super().draw(np.maximum(weights, floor), coin)
