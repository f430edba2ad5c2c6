"""Numbers that are fractions where the rows are, and floats where they are floats."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import rows
from losslesscheck.sim.acceptance.rows import Row

Number = Fraction | float

MOST_PATHS = 200_000
"""Draft paths, or sequences of rejected siblings, that a sum may run over."""


def pair(target: Row, draft: Row) -> tuple[Any, Any]:
    """Both rows as arrays, of fractions if both are exact.

    Raises:
        InputError: if a row is no distribution, or the lengths differ.
    """
    if rows.is_exact(target) and rows.is_exact(draft):
        p, q = (
            np.array(rows.exact_row(name, row), dtype=object)
            for name, row in (("target", target), ("draft", draft))
        )
    else:
        p, q = rows.float_row("target", target), rows.float_row("draft", draft)
    if len(p) != len(q):
        raise InputError(f"draft: {len(q)} tokens, but the target has {len(p)}")
    return p, q


def one(row: Any) -> Number:
    """1 in the numbers of an array."""
    return Fraction(1) if row.dtype == object else 1.0


def number(value: Any) -> Number:
    """An entry or a sum of an array as a plain number."""
    return Fraction(value) if isinstance(value, (Fraction, int)) else float(value)


def one_plus(terms: Iterable[Number]) -> Number:
    """1 + Σ terms."""
    total: Number = Fraction(1)
    for term in terms:
        total = total + term
    return total
