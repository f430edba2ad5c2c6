"""The mutants by which the conformance suite is tested, one module for every kind of fault.

``chains`` and ``trees`` hold correct implementations; a mutant is one of them with a method replaced.
"""

from tests.testing.mutants import (  # noqa: F401
    acceptance,
    batches,
    block,
    coins,
    edges,
    forests,
    greedy,
    limits,
    precision,
    recovery,
    siblings,
    streams,
    target_only,
)
from tests.testing.mutants.chains import Block, Chain, ChainKernel, SeededChain, Verifier
from tests.testing.mutants.equivalent import EQUIVALENT
from tests.testing.mutants.registry import MUTANTS, Mutant, subject_of
from tests.testing.mutants.trees import (
    Blockwise,
    Greedy,
    NaiveSampling,
    PointMass,
    Specinfer,
    Standalone,
    TargetOnly,
    Thresholded,
    WithoutReplacement,
)

__all__ = ["EQUIVALENT", "IMPLEMENTATIONS", "MUTANTS", "Mutant", "Verifier", "subject_of"]

IMPLEMENTATIONS: tuple[type[Verifier], ...] = (
    Chain,
    ChainKernel,
    SeededChain,
    Block,
    Specinfer,
    WithoutReplacement,
    PointMass,
    TargetOnly,
    Thresholded,
    Standalone,
    NaiveSampling,
    Greedy,
    Blockwise,
)
"""The correct implementations."""
