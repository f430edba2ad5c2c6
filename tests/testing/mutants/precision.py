"""Faults of precision: what was float32 is computed in fewer digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.testing.mutants.chains import Array, Given, Outcome, SeededChain
from tests.testing.mutants.registry import mutant


def bfloat16(values: Array) -> Array:
    """The nearest numbers of 8 significant bits."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.rint(fraction * 256) / 256, exponent).astype(values.dtype)


@mutant("acceptance[finer than bfloat16]")
class BrainFloats(SeededChain):
    """Computes in bfloat16."""

    def verify(self, given: Given) -> Outcome:
        return super().verify(replace(given, target=bfloat16(given.target), draft=bfloat16(given.draft)))


@mutant("acceptance[finer than bfloat16]")
class BrainFloatResidual(SeededChain):
    """Subtracts q from p in bfloat16."""

    def residual(self, p: Array, q: Array, x: Array) -> Array:
        return np.maximum(bfloat16(p) - bfloat16(q), 0)


@mutant("acceptance[finer than bfloat16]")
class EightBits(SeededChain):
    """Keeps the target's probabilities in 8 bits, as multiples of 1/256."""

    def verify(self, given: Given) -> Outcome:
        rounded = (np.rint(given.target * 256) / 256).astype(given.target.dtype)
        return super().verify(replace(given, target=rounded))
