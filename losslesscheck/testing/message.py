"""What the messages of failed assertions are made of."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.machines.monte_carlo.tally import Pool

WIDTH = 80
"""Columns of a message."""

SHOWN = 8
"""Tokens of a law that a message shows: those that differ most."""

LIKELIEST = 4
"""Tokens of a row of a larger vocabulary than that."""


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
    """The lines of a table, flush right; columns for which there is no room come below, labelled again.

    Args:
        columns: the first has the labels of the lines.

    >>> columns = [["at", "p"], *([f"{token:,}", "0.0625"] for token in range(98765, 98775))]
    >>> print(*aligned(columns), sep="\\n")
      at  98,765  98,766  98,767  98,768  98,769  98,770  98,771  98,772  98,773
       p  0.0625  0.0625  0.0625  0.0625  0.0625  0.0625  0.0625  0.0625  0.0625
      at  98,774
       p  0.0625
    """
    widths = [max(map(len, column)) for column in columns]
    lines: list[str] = []
    following = 1
    while True:
        shown, room = [0], WIDTH - widths[0] - 2
        while following < len(columns) and (widths[following] + 2 <= room or len(shown) == 1):
            shown.append(following)
            room -= widths[following] + 2
            following += 1
        lines += [
            "  " + "  ".join(columns[column][line].rjust(widths[column]) for column in shown)
            for line in range(len(columns[0]))
        ]
        if following >= len(columns):
            return lines


def wrapped(text: str) -> str:
    """The text with lines of at most 80 columns, as far as its words allow, and no blanks at their ends.

    What is broken goes on further to the right; the line breaks that are there stay.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        indent = "    " if line.startswith(" ") else "  "
        lines += textwrap.wrap(
            line,
            WIDTH,
            subsequent_indent=indent,
            expand_tabs=False,
            replace_whitespace=False,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines)


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


def spelled(row: Any) -> str:
    """A row of probabilities as fractions, where they are simple; of a large vocabulary the likeliest.

    >>> spelled([0.5, 0.25, 0.25])
    '(1/2, 1/4, 1/4)'
    >>> spelled(np.arange(9) / 36)
    '(2/9 at 8, 7/36 at 7, 1/6 at 6, 5/36 at 5, …)'
    """
    values = [_simple(value) for value in row]
    if len(values) <= SHOWN:
        return f"({', '.join(values)})"
    likeliest = np.argsort(-np.array(row, dtype=float), kind="stable")[:LIKELIEST].tolist()
    return f"({', '.join(f'{values[token]} at {token}' for token in likeliest)}, …)"


def _simple(value: Any) -> str:
    fraction = Fraction(float(value)).limit_denominator(1000)
    return str(fraction) if abs(float(fraction) - float(value)) < 1e-7 else f"{float(value):.6g}"
