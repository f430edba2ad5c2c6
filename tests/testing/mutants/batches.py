"""Faults of the batch: rows lost, mixed up or of other lengths, layouts, what is returned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.testing.mutants.chains import Array, Chain, Given, Outcome
from tests.testing.mutants.registry import mutant
from tests.testing.mutants.trees import Specinfer


@mutant("rows[neighbours]", "sizes[three rows]")
class LastRowLost(Chain):
    """The grid is one block too small: the last row repeats what the row before emitted."""

    def verify(self, given: Given) -> Outcome:
        emitted, accepted = super().verify(given)
        if len(accepted) > 1:
            emitted[-1], accepted[-1] = emitted[-2], accepted[-2]
        return emitted, accepted


@mutant("certain[point masses]")
class FirstRowForAll(Chain):
    """All rows emit what the first row emitted."""

    def verify(self, given: Given) -> Outcome:
        emitted, accepted = super().verify(given)
        return np.broadcast_to(emitted[:1], emitted.shape), np.broadcast_to(accepted[:1], accepted.shape)


@mutant("sizes[large batch]", seen="SGLang: offsets in uint32, 520 rows of 64 × 131072")
class OffsetsWrap(Chain):
    """Row offsets overflow: row 512 and the following read the target of rows 0, 1, 2, …"""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, target=given.target[np.arange(len(given.target)) % 512]))


@mutant("sizes[large batch]")
class OneBlockOfRows(Chain):
    """Verifies 1024 rows, a block of threads, and accepts nothing in the others."""

    def verify(self, given: Given) -> Outcome:
        emitted, accepted = super().verify(given)
        accepted[1024:] = 0
        return emitted, accepted


@mutant("rows[alone]", "sizes[three rows]")
class OddRowDropped(Chain):
    """Handles rows two by two: the last one of an odd batch is left as it was allocated."""

    def verify(self, given: Given) -> Outcome:
        emitted, accepted = super().verify(given)
        if len(accepted) % 2:
            emitted[-1, 0], accepted[-1] = 0, 0
        return emitted, accepted


@mutant("sizes[one row]", says="raised IndexError")
class SingleRowSqueezed(Chain):
    """Squeezes the batch away if it has a single row, and raises."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(
            replace(given, tokens=given.tokens.squeeze(axis=0) if len(given.tokens) == 1 else given.tokens)
        )


@mutant("rows[alone]", "law[dense]", "acceptance[dense]")
class StopsWithTheFirst(Chain):
    """Stops looking at drafts as soon as one row of the batch has rejected."""

    def verify(self, given: Given) -> Outcome:
        accepted = np.zeros(len(given.tokens), dtype=np.int64)
        for i in range(given.tokens.shape[1]):
            taken = self.accepts(*self.rows(given, i), given.tokens[:, i], given.coins[:, i])
            accepted += (accepted == i) & (i < given.lengths) & taken
            if not taken.all():
                break
        return self.end(given, accepted)


@mutant("certain[point masses]")
class SortedRows(Chain):
    """Sorts the rows by how many drafts they accepted and does not sort them back."""

    def verify(self, given: Given) -> Outcome:
        emitted, accepted = super().verify(given)
        order = np.argsort(accepted, kind="stable")
        return emitted[order], accepted[order]


@mutant("law[dense]")
class StaleScratch(Chain):
    """Writes the residual into the buffer of the call before, and only where it is positive."""

    def __init__(self) -> None:
        self.scratch = np.zeros((0, 0), dtype=np.float32)

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        before = self.scratch if self.scratch.shape == p.shape else np.zeros_like(p)
        self.scratch = np.where(p > q, p - q, before)
        return self.scratch


@mutant("interface", says="writes into its argument target")
class OverwritesTarget(Chain):
    """Computes the residual in place, in the target that it was handed."""

    def end(self, given: Given, accepted: Array, weight: Array = 1) -> Outcome:
        outcome = super().end(given, accepted)
        if given.tokens.shape[1] and given.target.flags.writeable:
            np.maximum(given.target[:, :-1] - given.draft, 0, out=given.target[:, :-1])
        return outcome


@mutant("layout[transposed]")
class AssumesContiguous(Chain):
    """Reads the target in the order in which it lies in memory, whatever its strides."""

    def verify(self, given: Given) -> Outcome:
        in_memory = given.target.ravel(order="K").reshape(given.target.shape)
        return super().verify(replace(given, target=in_memory))


@mutant("layout[transposed]")
class AssumesContiguousTree(Specinfer):
    """Reads the draft's rows in the order in which they lie in memory, whatever their strides."""

    def verify(self, given: Given) -> Outcome:
        in_memory = given.draft.ravel(order="K").reshape(given.draft.shape)
        return super().verify(replace(given, draft=in_memory))


@mutant("support[large vocabulary]")
class Int8Tokens(Chain):
    """Keeps token numbers in 8 bits."""

    def emit(self, tokens: Array, accepted: Array, last: Array) -> Outcome:
        return super().emit(tokens, accepted, last % 256)


@mutant("sizes[ragged]", says="draft tokens, but")
class LengthsIgnored(Chain):
    """Looks at padding as if it were draft tokens."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, lengths=np.full_like(given.lengths, given.tokens.shape[1])))


@mutant("rows[permuted]", "acceptance[ragged]")
class LengthsOfFirstRow(Chain):
    """Looks at no more draft tokens than the first row has, in any row."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, lengths=np.minimum(given.lengths, given.lengths[:1])))


@mutant("law[ragged]")
class BonusAsRecovery(Chain):
    """Takes a row that ends before the padding for a rejection, and draws from (p − q)₊ of the padding."""

    def end(self, given: Given, accepted: Array, weight: Array = 1) -> Outcome:
        return super().end(
            replace(given, lengths=np.full_like(given.lengths, given.tokens.shape[1])), accepted
        )


@mutant("sizes[no drafts]", says="raised ValueError")
class EmptyDraftFails(Chain):
    """Raises if there are no draft tokens."""

    def verify(self, given: Given) -> Outcome:
        given.tokens.max()
        return super().verify(given)


@mutant("interface", says="is no token", seen="FlashInfer 0.5.3")
class RejectedCounted(Chain):
    """Counts the rejected position as accepted."""

    def emit(self, tokens: Array, accepted: Array, last: Array) -> Outcome:
        emitted, accepted = super().emit(tokens, accepted, last)
        return emitted, np.minimum(accepted + 1, tokens.shape[1])


@mutant("law[dense]", "acceptance[dense]")
class OneTooFew(Chain):
    """Drops the last of the emitted tokens if there is another."""

    def emit(self, tokens: Array, accepted: Array, last: Array) -> Outcome:
        emitted, accepted = super().emit(tokens, accepted, last)
        return emitted, np.maximum(accepted - 1, 0)


@mutant("interface", says="counts as accepted")
class PaddedWithZeros(Chain):
    """Returns the emitted tokens alone, with 0 behind the last where −1 was agreed."""

    def emit(self, tokens: Array, accepted: Array, last: Array) -> Outcome:
        emitted, _ = super().emit(tokens, accepted, last)
        return np.where(emitted < 0, 0, emitted)  # type: ignore[return-value]


@mutant("path[full rows]")
class LastTokenMisplaced(Chain):
    """Writes the last token one place too early, over the last accepted draft."""

    def emit(self, tokens: Array, accepted: Array, last: Array) -> Outcome:
        emitted, _ = super().emit(tokens, accepted, last)
        emitted[np.arange(len(last)), np.maximum(accepted - 1, 0)] = last
        return emitted, accepted


@mutant("interface", says="holds float32, not integers")
class FloatTokens(Chain):
    """Returns token numbers as floats."""

    def emit(self, tokens: Array, accepted: Array, last: Array) -> Outcome:
        emitted, accepted = super().emit(tokens, accepted, last)
        return emitted.astype(np.float32), accepted
