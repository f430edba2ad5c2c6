"""What the messages of failed assertions are made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from losslesscheck.machines.monte_carlo.tally import Pool

SHOWN = 8
"""Tokens of a law that a message shows: those that differ most."""


def table(laws: Mapping[str, npt.NDArray[np.float64]]) -> list[str]:
    """Two laws by name, shape [V], one below the other.

    >>> print(*table({"expected": np.array([0.5, 0.5]), "observed": np.array([0.75, 0.25])}), sep="\\n")
         token     0     1
      expected   0.5   0.5
      observed  0.75  0.25
    """
    one, other = laws.values()
    tokens = np.sort(np.argsort(-np.abs(one - other), kind="stable")[:SHOWN]).tolist()
    columns = [["token", *laws]] + [[str(t), *(f"{law[t]:.4g}" for law in laws.values())] for t in tokens]
    return aligned(columns)


def aligned(columns: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, flush right."""
    widths = [max(map(len, column)) for column in columns]
    return ["  " + "  ".join(map(str.rjust, line, widths)) for line in zip(*columns, strict=True)]


def place(context: tuple[int, ...] | Pool) -> str:
    """A context in words."""
    if isinstance(context, Pool):
        return f"after {context.length} tokens, pooled over contexts"
    return f"after {list(context)}" if context else "at the start"


def odds(log_e: float) -> str:
    """The exponential of a number as a power of ten.

    >>> odds(math.log(1e9))
    '10^9.0'
    """
    return "infinite" if math.isinf(log_e) else f"10^{log_e / math.log(10):.1f}"
