"""What drafting costs: pass after pass, all at once, or nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import check_count
from losslesscheck.sim.cost.checks import Figures, FloatArray, figures, plain
from losslesscheck.sim.cost.draft import Draft
from losslesscheck.sim.cost.passes import Pass


class Drafter(ABC):
    """A model of the time that drafting takes."""

    @abstractmethod
    def seconds(self, draft: Draft, *, batch: npt.ArrayLike = 1, context: npt.ArrayLike = 0) -> Figures:
        """Time to draft for a step; 0 if there is nothing to draft."""


@dataclass(frozen=True)
class Sequential(Drafter):
    """A draft model that runs once for every level: a separate model, EAGLE, STANDALONE.

    Args:
        step: what a pass of the draft model costs.
        window: tokens of context that it keeps, if it drops the rest (a sparse KV cache, as in MagicDec,
            Chen et al. 2024, arXiv 2408.11049).

    Raises:
        InputError: if the window is no positive integer.

    >>> from losslesscheck.sim.cost.passes import Linear
    >>> Sequential(Linear(0.05)).seconds(Draft.chain(4))
    0.2
    """

    step: Pass
    window: int | None = None

    def __post_init__(self) -> None:
        _check_pass("step", self.step)
        if self.window is not None:
            check_count("window", self.window, least=1)

    def seconds(self, draft: Draft, *, batch: npt.ArrayLike = 1, context: npt.ArrayLike = 0) -> Figures:
        kept = figures("context", context, least=0.0)
        if self.window is not None:
            kept = np.minimum(kept, self.window)
        total: FloatArray = np.zeros(np.broadcast_shapes(np.shape(batch), np.shape(context)))
        for tokens, passes in Counter(draft.passes).items():
            total = total + passes * np.asarray(self.step.seconds(tokens, batch=batch, context=kept))
        return plain(total)


@dataclass(frozen=True)
class Parallel(Drafter):
    """Heads on the target's last hidden state, which draft in one pass whatever γ or the tree: Medusa,
    blockwise parallel decoding. With ``Linear(0)`` drafting is free, which n-grams come close to.

    >>> from losslesscheck.sim.cost.passes import Linear
    >>> Parallel(Linear(0.05)).seconds(Draft.chain(4))
    0.05
    """

    heads: Pass

    def __post_init__(self) -> None:
        _check_pass("heads", self.heads)

    def seconds(self, draft: Draft, *, batch: npt.ArrayLike = 1, context: npt.ArrayLike = 0) -> Figures:
        once = np.asarray(self.heads.seconds(1, batch=batch, context=context))
        return plain(once if draft.tokens else np.zeros_like(once))


def _check_pass(name: str, value: object) -> None:
    if not isinstance(value, Pass):
        raise InputError(f"{name}: {value!r} is no Pass (Linear, Measured, Roofline)")
