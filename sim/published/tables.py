"""The published tables, as they were printed, with their sources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from losslesscheck.errors import InputError


@dataclass(frozen=True)
class Published:
    """A published table.

    Attributes:
        name: of the file in ``data/``.
        source: authors, year, title.
        arxiv: number of the paper; empty if it has none.
        table: its number there.
        note: what the figures are.
        rows: figures as strings, with the printed digits; counts as integers.
    """

    name: str
    source: str
    arxiv: str
    table: str
    note: str
    rows: tuple[dict[str, Any], ...]


def names() -> tuple[str, ...]:
    """The tables that there are."""
    folder = resources.files("losslesscheck.sim.published") / "data"
    return tuple(sorted(file.name.removesuffix(".json") for file in folder.iterdir()))


@cache
def load(name: str) -> Published:
    """The table of that name.

    Raises:
        InputError: with the names that there are.

    >>> load("leviathan_operations").rows[0]
    {'alpha': '0.6', 'gamma': 2, 'operations': '1.53', 'speed': '1.96'}
    """
    if name not in names():
        raise InputError(f"table: {name!r} is unknown; known are {', '.join(names())}")
    file = resources.files("losslesscheck.sim.published") / "data" / f"{name}.json"
    entry = json.loads(file.read_text(encoding="utf-8"))
    return Published(name, **entry | {"rows": tuple(entry["rows"])})
