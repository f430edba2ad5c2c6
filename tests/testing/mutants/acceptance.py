"""Faults of the test that accepts a draft token of a chain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.testing.mutants.chains import Array, Chain, Given, Outcome, at
from tests.testing.mutants.registry import mutant


@mutant("support[coins at thresholds]", seen="transformers 5.24, vLLM V1")
class InclusiveCoin(Chain):
    """The test is u·q <= p: a coin of 0 accepts a token that the target never emits."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return coin * at(q, x) <= at(p, x)


@mutant("law[dense]", "acceptance[dense]")
class InverseRatio(Chain):
    """Accepts with q/p, after a paper that calls the target q."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return coin * at(p, x) < at(q, x)


@mutant("law[dense]", "acceptance[dense]")
class ReversedInequality(Chain):
    """Accepts if u·q > p."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return coin * at(q, x) > at(p, x)


@mutant("law[dense]", "acceptance[dense]")
class AcceptsAll(Chain):
    """Accepts every draft token."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return np.ones(len(x), dtype=bool)


@mutant("acceptance[dense]", "certain[point masses]")
class AcceptsNone(Chain):
    """Accepts nothing and draws from p: the target's law, without any speed."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return np.zeros(len(x), dtype=bool)

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return p


@mutant("acceptance[dense]")
class SampleAndMatch(Chain):
    """Draws from p and accepts what happens to match: the target's law, but accepts less often."""

    def verify(self, given: Given) -> Outcome:
        accepted = np.zeros(len(given.tokens), dtype=np.int64)
        drawn = self.draw(given.target[:, 0], given.final)
        for i in range(given.tokens.shape[1]):
            going = (accepted == i) & (i < given.lengths) & (drawn == given.tokens[:, i])
            accepted += going
            drawn = np.where(going, self.draw(given.target[:, i + 1], given.coins[:, i]), drawn)
        return self.emit(given.tokens, accepted, drawn)


@mutant("law[dense]", "acceptance[dense]")
class OnlyIfLikelier(Chain):
    """Accepts if and only if p >= q, without a coin."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return at(p, x) >= at(q, x)


@mutant("law[dense]", "acceptance[dense]")
class RootOfRatio(Chain):
    """Accepts with the root of p/q: a logarithm was halved."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return coin * coin * at(q, x) < at(p, x)


@mutant("law[dense]", "acceptance[dense]", seen="lenience, as in lossy acceptance")
class Lenient(Chain):
    """Accepts with p/(.8·q)."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return coin * (at(q, x) * np.float32(0.8)) < at(p, x)


@mutant("law[dense]", "acceptance[dense]", seen="Medusa")
class TypicalAcceptance(Chain):
    """Accepts if p > min(.09, .3·exp(−entropy of p)), without a coin."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        entropy = -(p * np.log(np.maximum(p, np.float32(1e-30)))).sum(axis=1)
        return at(p, x) > np.minimum(0.09, 0.3 * np.exp(-entropy))


@mutant("law[sparse]", "acceptance[dense]", seen="SGLang's threshold_single")
class LikelyIsEnough(Chain):
    """Accepts a token of p >= .3 whatever the coin says."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return (at(p, x) >= 0.3) | super().accepts(p, q, x, coin)


@mutant("law[dense]", "acceptance[dense]", seen="vLLM's synthetic mode")
class SyntheticAcceptance(Chain):
    """Accepts with probability .7 whatever p and q are."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return coin < 0.7


@mutant("law[dense]", "acceptance[dense]", seen="SGLang's SGLANG_SIMULATE_ACC_LEN")
class SimulatedLength(Chain):
    """Accepts one draft token in every step, as simulations of speed do."""

    def end(self, given: Given, accepted: Array, weight: Array = 1) -> Outcome:
        return super().end(given, np.minimum(given.lengths, 1))


@mutant("coins[near thresholds]", "coins[long chain]")
class EpsilonInRatio(Chain):
    """Accepts with p/(q + .0001), so as not to divide by 0."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return coin < at(p, x) / (at(q, x) + np.float32(1e-4))


@mutant("coins[near thresholds]")
class HalfDraft(Chain):
    """Compares with q rounded to float16, while the draft was drawn from q in float32."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return super().accepts(p, q.astype(np.float16).astype(p.dtype), x, coin)


@mutant("coins[near thresholds]")
class HalfTarget(Chain):
    """Compares with p rounded to float16, while the residual is that of float32."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return super().accepts(p.astype(np.float16).astype(q.dtype), q, x, coin)


@mutant("coins[near thresholds]")
class HalfRatio(Chain):
    """Rounds the ratio p/q to float16 before it is compared with the coin."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        p_x, q_x = at(p, x), at(q, x)
        ratio = np.where(p_x < q_x, p_x / np.where(q_x > 0, q_x, 1), 1)
        return coin < ratio.astype(np.float16)


@mutant("law[dense]", "acceptance[dense]")
class TemperatureTwice(Chain):
    """Sharpens the target's probabilities, which have their temperature already, once more."""

    def verify(self, given: Given) -> Outcome:
        sharper = given.target**2
        return super().verify(replace(given, target=sharper / sharper.sum(axis=2, keepdims=True)))


@mutant("law[dense]")
class TopKTwice(Chain):
    """Keeps the target's four likeliest tokens only, which was not asked for."""

    def verify(self, given: Given) -> Outcome:
        fourth = np.sort(given.target, axis=2)[:, :, -4:][:, :, :1]
        return super().verify(replace(given, target=np.where(given.target < fourth, 0, given.target)))


@mutant("law[dense]", "acceptance[dense]")
class DraftOfTheRowBefore(Chain):
    """Takes q from the row of the draft token before."""

    def rows(self, given: Given, i: int) -> tuple[Array, Array]:
        return given.target[:, i], given.draft[:, max(i - 1, 0)]


@mutant("law[dense]", "acceptance[dense]")
class TargetOfTheNextRow(Chain):
    """Takes p from the row after the draft token instead of the row before it."""

    def rows(self, given: Given, i: int) -> tuple[Array, Array]:
        return given.target[:, i + 1], given.draft[:, i]


@mutant("law[dense]", "rows[permuted]")
class TargetStride(Chain):
    """Walks through the target with N rows to a request instead of N + 1."""

    def verify(self, given: Given) -> Outcome:
        batch, rows, _ = given.target.shape
        flat = given.target.reshape(batch * rows, -1)
        place = np.arange(batch)[:, None] * max(rows - 1, 1) + np.arange(rows)
        return super().verify(replace(given, target=flat[place]))


@mutant("law[dense]", "acceptance[dense]")
class TokenOfNeighbour(Chain):
    """Looks up q at the draft token and p at the number that follows it."""

    def accepts(self, p: Array, q: Array, x: Array, coin: Array) -> Array:
        return coin * at(q, x) < at(p, (x + 1) % p.shape[1])


@mutant("path[full rows]")
class DraftsAgain(Chain):
    """Ignores the draft tokens it is given and draws others from q."""

    def verify(self, given: Given) -> Outcome:
        other = [
            self.draw(given.draft[:, i], (given.coins[:, i] * 7) % 1) for i in range(given.draft.shape[1])
        ]
        tokens = np.stack(other, axis=1) if other else given.tokens
        return super().verify(replace(given, tokens=tokens))
