"""What a forward pass costs: the model of its time, as a function of tokens, batch and context."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import vector
from losslesscheck.sim.cost.checks import Figures, FloatArray, figures, plain


class Pass(ABC):
    """A model of the time that one forward pass takes."""

    def seconds(
        self, tokens: npt.ArrayLike, *, batch: npt.ArrayLike = 1, context: npt.ArrayLike = 0
    ) -> Figures:
        """Time of a pass.

        Args:
            tokens: new tokens per sequence (1 when decoding, γ + 1 when verifying); numbers or arrays that
                broadcast, as the others.
            batch: sequences.
            context: tokens in the KV cache of each sequence.

        Returns:
            Seconds, or whatever unit the model was given.

        Raises:
            InputError: if a count is not finite, or too small.
        """
        return plain(
            self._seconds(
                figures("tokens", tokens, least=1.0),
                figures("batch", batch, least=1.0),
                figures("context", context, least=0.0),
            )
        )

    @abstractmethod
    def _seconds(self, tokens: FloatArray, batch: FloatArray, context: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class Linear(Pass):
    """fixed + per_token · batch · tokens + per_context · batch · context.

    The batch-time model of TurboSpec (Liu et al. 2024, arXiv 2406.14066), whose three coefficients are
    fitted to measured times. ``Linear(1.0)`` is Leviathan's: a pass costs the same whatever it takes in.

    Raises:
        InputError: if a coefficient is negative or not finite, or all are 0.

    >>> Linear(0.01, per_token=0.001).seconds(4, batch=8)
    0.042
    """

    fixed: float
    per_token: float = 0.0
    per_context: float = 0.0

    def __post_init__(self) -> None:
        for name in ("fixed", "per_token", "per_context"):
            object.__setattr__(self, name, float(figures(name, getattr(self, name), least=0.0)))

    def _seconds(self, tokens: FloatArray, batch: FloatArray, context: FloatArray) -> FloatArray:
        return np.asarray(self.fixed + batch * (self.per_token * tokens + self.per_context * context))


@dataclass(frozen=True)
class Measured(Pass):
    """Measured times by number of new tokens in the whole batch, linear in between.

    What a profile of one's own hardware gives: Sequoia's t(n). The context is that of the measurement.

    Args:
        tokens: batch · tokens per sequence, ascending.
        times: of a pass, as many.

    Raises:
        InputError: if they don't fit together; later, if more tokens are asked for than were measured.

    >>> Measured((1, 128), (24.2, 26.0)).seconds(1)
    24.2
    """

    tokens: tuple[float, ...]
    times: tuple[float, ...]

    def __post_init__(self) -> None:
        tokens = figures("tokens", vector("tokens", self.tokens), least=1.0)
        times = figures("times", vector("times", self.times), least=0.0)
        if tokens.shape != times.shape:
            raise InputError(f"times: {times.size} for {tokens.size} numbers of tokens")
        if (falls := np.flatnonzero(np.diff(tokens) <= 0)).size:
            raise InputError(f"tokens[{falls[0] + 1}]: {tokens[falls[0] + 1]:g} does not ascend")
        object.__setattr__(self, "tokens", tuple(tokens.tolist()))
        object.__setattr__(self, "times", tuple(times.tolist()))

    def _seconds(self, tokens: FloatArray, batch: FloatArray, context: FloatArray) -> FloatArray:
        total = batch * tokens
        if (outside := (total > self.tokens[-1]) | (total < self.tokens[0])).any():
            value = total[outside].flat[0]
            raise InputError(
                f"tokens: {value:g} in a batch were not measured ({self.tokens[0]:g} to {self.tokens[-1]:g})"
            )
        return np.asarray(np.interp(total, self.tokens, self.times) + 0.0 * context)
