"""Targets and drafts as they are handed in: one row, a row for every position, or a model of the context."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.model import Model
from losslesscheck.sim.acceptance.base import FloatArray, vector

Row: TypeAlias = Sequence[Fraction] | npt.ArrayLike
"""A next-token distribution, length V: integers and fractions are exact; with floats among them it is
divided by its sum, which may be off by 1e-5."""

Rows: TypeAlias = Model | Row | Sequence[Row]
"""A model, one row that holds after every context, or rows by position, of which the last goes on."""


def model(name: str, rows: Rows) -> Model:
    """The model that is meant.

    Raises:
        InputError: naming the entry that is no probability, or the row that does not sum to one.
    """
    if isinstance(rows, Model):
        return rows
    outer = vector(name, rows)
    return Model.positions(_table(name, outer if _nested(outer) else [outer]), name)


def pair(target: Rows, draft: Rows | None) -> tuple[Model, Model | None]:
    """Target and draft, over one vocabulary.

    Raises:
        InputError: as ``model`` does, and if the vocabularies differ.
    """
    p = model("target", target)
    if draft is None:
        return p, None
    q = model("draft", draft)
    if q.vocabulary != p.vocabulary:
        raise InputError(f"draft: {q.vocabulary} tokens, but the target has {p.vocabulary}")
    return p, q


def by_position(given: Rows) -> bool:
    """Whether the rows certainly depend on nothing but the position."""
    return not isinstance(given, Model) or given.count == 1


def exact_row(name: str, row: Row) -> list[Fraction]:
    """One row as fractions that sum to one."""
    return _single(name, row).exact(())


def float_row(name: str, row: Row) -> FloatArray:
    """One row as floats that sum to one up to rounding."""
    floats: FloatArray = _single(name, row).floats[0]
    return floats


def is_exact(row: Any) -> bool:
    """Whether the row is made of integers and fractions."""
    return not isinstance(row, np.ndarray) and all(isinstance(value, Rational) for value in row)


def _single(name: str, row: Row) -> Model:
    return Model(_table(name, [vector(name, row)]), name=name)


def _table(name: str, rows: Sequence[Any]) -> Any:
    """The rows as ``Model`` takes them."""
    for number, row in enumerate(rows):
        if len(vector(f"{name}[{number}]", row)) != len(rows[0]):
            raise InputError(f"{name}[{number}]: it has {len(row)} entries, {name}[0] has {len(rows[0])}")
        for token, value in enumerate(row):
            if not isinstance(value, Real):
                raise InputError(f"{name}[{number}, {token}]: {value!r} is not a number")
    if all(map(is_exact, rows)):
        return [[Fraction(value) for value in row] for row in rows]
    return np.array([[float(value) for value in row] for row in rows])


def is_exact_table(given: Rows) -> bool:
    """Whether a row, or rows by position, are made of integers and fractions; of a model it is not known."""
    if isinstance(given, (Model, np.ndarray)):
        return False
    outer = vector("rows", given)
    return all(map(is_exact, outer)) if _nested(outer) else is_exact(outer)


def _nested(rows: Sequence[Any]) -> bool:
    return isinstance(rows[0], (Sequence, np.ndarray)) and not isinstance(rows[0], str)
