"""What a draft-and-verify step costs, and what it gains over decoding one token at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.sim.cost.checks import Figures, figures, plain
from losslesscheck.sim.cost.draft import Draft
from losslesscheck.sim.cost.drafters import Drafter, Sequential
from losslesscheck.sim.cost.passes import Linear, Pass


@dataclass(frozen=True)
class Cost:
    """A target that verifies and a drafter that drafts, one after the other.

    Numbers or arrays of batch sizes and contexts that broadcast. Every sequence of the batch is taken to
    draft alike and to emit ``tokens_per_step`` (accepted draft tokens + 1) on average.

    >>> cost = Cost.relative(0.05)
    >>> round(cost.speedup(3.3616, Draft.chain(4)), 4)
    2.8013
    """

    target: Pass
    drafter: Drafter

    def __post_init__(self) -> None:
        if not isinstance(self.target, Pass):
            raise InputError(f"target: {self.target!r} is no Pass (Linear, Measured, Roofline)")
        if not isinstance(self.drafter, Drafter):
            raise InputError(f"drafter: {self.drafter!r} is no Drafter (Sequential, Parallel)")

    @classmethod
    def relative(cls, c: float) -> Cost:
        """Leviathan's model: verifying costs one target pass, a draft pass c of it (times in target passes).

        Raises:
            InputError: if c is negative or not finite.
        """
        figures("c", c, least=0.0)
        return cls(Linear(1.0), Sequential(Linear(c)))

    def c(self, *, batch: npt.ArrayLike = 1, context: npt.ArrayLike = 0) -> Figures:
        """Time of drafting one token over that of a target pass over one token."""
        drafting = self.drafter.seconds(Draft.chain(1), batch=batch, context=context)
        return plain(np.asarray(drafting / self.target.seconds(1, batch=batch, context=context)))

    def seconds(self, draft: Draft, *, batch: npt.ArrayLike = 1, context: npt.ArrayLike = 0) -> Figures:
        """Time of a step: drafting, then a target pass over the draft tokens and the one before them."""
        drafting = self.drafter.seconds(draft, batch=batch, context=context)
        return plain(
            np.asarray(drafting + self.target.seconds(draft.tokens + 1, batch=batch, context=context))
        )

    def speedup(
        self,
        tokens_per_step: npt.ArrayLike,
        draft: Draft,
        *,
        batch: npt.ArrayLike = 1,
        context: npt.ArrayLike = 0,
    ) -> Figures:
        """Over decoding the same batch one token at a time.

        Raises:
            InputError: if a step has fewer than one token or more than the draft tokens + 1.
        """
        tokens = figures("tokens_per_step", tokens_per_step, least=1.0, most=draft.tokens + 1.0)
        alone = self.target.seconds(1, batch=batch, context=context)
        return plain(np.asarray(tokens * alone / self.seconds(draft, batch=batch, context=context)))

    def goodput(
        self,
        tokens_per_step: npt.ArrayLike,
        draft: Draft,
        *,
        batch: npt.ArrayLike = 1,
        context: npt.ArrayLike = 0,
    ) -> Figures:
        """Tokens a second that the whole batch emits (TurboSpec, Liu et al. 2024, arXiv 2406.14066).

        Drafted tokens that are rejected cost time and count nothing; the bonus token counts.
        """
        tokens = figures("tokens_per_step", tokens_per_step, least=1.0, most=draft.tokens + 1.0)
        sequences = figures("batch", batch, least=1.0)
        return plain(np.asarray(sequences * tokens / self.seconds(draft, batch=batch, context=context)))
