"""The best draft length γ of a chain."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import Acceptance, check_count
from losslesscheck.sim.acceptance.models import ByPosition
from losslesscheck.sim.cost import Cost, Draft
from losslesscheck.sim.cost.checks import FloatArray, figures
from losslesscheck.sim.cost.exact import check_alpha, check_c
from losslesscheck.tree import LONGEST


@dataclass(frozen=True)
class DraftLength:
    """A choice of γ; ``draft_length`` 0 says not to speculate.

    Attributes:
        tokens_per_step: accepted draft tokens + 1.
        limited: whether it is the longest that was allowed: a longer one might be better.
    """

    draft_length: int
    tokens_per_step: float
    speedup: float
    limited: bool


@dataclass(frozen=True)
class ExactDraftLength:
    """``DraftLength`` in fractions."""

    draft_length: int
    tokens_per_step: Fraction
    speedup: Fraction
    limited: bool


def best_draft_length(
    acceptance: Acceptance,
    cost: Cost,
    *,
    longest: int | None = None,
    batch: float = 1,
    context: float = 0,
) -> DraftLength:
    """The γ with the greatest speedup; the smallest of several.

    Args:
        longest: γ that is tried; by default 128, or as many as ``ByPosition`` has.

    Raises:
        InputError: if a number is out of range, or the model says nothing about ``longest`` positions.

    >>> from losslesscheck.sim.acceptance import Constant
    >>> best_draft_length(Constant(0.8), Cost.relative(0.05)).draft_length
    8
    """
    tokens, speedups = _by_length(acceptance, cost, longest_tried(acceptance, longest), batch, context)
    best = int(speedups.argmax())
    return DraftLength(best, float(tokens[best]), float(speedups[best]), best == len(tokens) - 1)


def exact_draft_length(alpha: Fraction, c: Fraction, *, longest: int = LONGEST) -> ExactDraftLength:
    """The γ that maximises Theorem 3.8 for one α, in fractions.

    Raises:
        InputError: if α is outside [0, 1], c negative, ``longest`` no count.

    >>> exact_draft_length(Fraction(4, 5), Fraction(1, 20)).draft_length
    8
    """
    check_alpha(alpha)
    check_c(c)
    check_count("longest", longest)
    power = tokens = Fraction(1)
    best = ExactDraftLength(0, tokens, Fraction(1), longest == 0)
    for length in range(1, longest + 1):
        power *= alpha
        tokens += power
        speedup = tokens / (length * c + 1)
        if speedup <= best.speedup:
            # Speedups rise while α^γ outweighs c times the best so far, and α^γ never rises.
            break
        best = ExactDraftLength(length, tokens, speedup, length == longest)
    return best


def draft_lengths(
    alpha: npt.ArrayLike, c: npt.ArrayLike, *, longest: int = LONGEST
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """``best_draft_length`` for a constant α and a relative c, on arrays that broadcast.

    Returns:
        The best γ and its speedup, in the shape of α and c together.

    Raises:
        InputError: naming the argument, the index and the value.
    """
    alphas, costs = np.broadcast_arrays(
        figures("alpha", alpha, least=0.0, most=1.0), figures("c", c, least=0.0)
    )
    check_count("longest", longest)
    power, tokens = np.ones(alphas.shape), np.ones(alphas.shape)
    lengths, speedups = np.zeros(alphas.shape, dtype=np.int64), np.ones(alphas.shape)
    for length in range(1, longest + 1):
        power = power * alphas
        tokens = tokens + power
        found = tokens / (length * costs + 1.0)
        better = found > speedups
        lengths[better] = length
        speedups = np.maximum(found, speedups)
    return lengths, speedups


def _by_length(
    acceptance: Acceptance, cost: Cost, longest: int, batch: float, context: float
) -> tuple[FloatArray, FloatArray]:
    """Tokens per step and speedup for γ = 0 … longest."""
    tokens = np.concatenate(([1.0], 1.0 + np.cumsum(acceptance.reach(longest))))
    speedups = [
        cost.speedup(min(emitted, length + 1.0), Draft.chain(length), batch=batch, context=context)
        for length, emitted in enumerate(tokens.tolist())
    ]
    return tokens, np.array(speedups)


def longest_tried(acceptance: Acceptance, longest: int | None) -> int:
    if not isinstance(acceptance, Acceptance):
        raise InputError(f"acceptance: {acceptance!r} is no acceptance model")
    if longest is None:
        return len(acceptance.alphas) if isinstance(acceptance, ByPosition) else LONGEST
    check_count("longest", longest)
    return longest
