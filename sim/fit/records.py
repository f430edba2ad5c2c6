"""Acceptance from this project's own records: JSON where ``accepted`` lists steps by accepted draft tokens.

The conformance suite's reports have such a list for every case (``data.accepted`` of the case ``law[dense]``,
say), and so has ``Experiment.accepted``. Every case is another problem with another acceptance, so they are
kept apart by name. Some lists end with the longest length seen, so that they don't say what the draft length
was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from losslesscheck.errors import InputError
from losslesscheck.sim.fit.histogram import Histogram
from losslesscheck.sim.fit.sglang import load


def records(text: str) -> dict[str, list[Any]]:
    """Every list ``accepted`` in a JSON text, by name: the nearest ``id`` above it, else its path.

    Raises:
        InputError: if the text is no JSON or has no such list.
    """
    found: dict[str, list[Any]] = {}
    for name, counts in _lists(load(text), "", ""):
        unique, number = name, 1
        while unique in found:
            number += 1
            unique = f"{name} ({number})"
        found[unique] = counts
    if not found:
        raise InputError("json: there is no list 'accepted' of steps by accepted draft tokens")
    return found


def record(text: str, *, draft_length: int, case: str | None = None) -> Histogram:
    """One of the records.

    Args:
        draft_length: γ, on a tree its depth.
        case: its name; may be left out where there is only one.

    Raises:
        InputError: as ``records`` does, if the case is not there or not said, or its list is no histogram.

    >>> record('{"id": "mine", "accepted": [3, 1]}', draft_length=2).accepted
    (3, 1, 0)
    """
    found = records(text)
    if case is None and len(found) > 1:
        raise InputError(f"case: choose one of {', '.join(found)}")
    name = next(iter(found)) if case is None else case
    if name not in found:
        raise InputError(f"case: there is no {name!r}, only {', '.join(found)}")
    try:
        return Histogram.of(found[name], counted="accepted", draft_length=draft_length)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _lists(value: Any, name: str, path: str) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(value, dict):
        name = str(value.get("id", name))
        for key, below in value.items():
            here = f"{path}.{key}" if path else str(key)
            if key == "accepted" and isinstance(below, list):
                yield name or here, below
            else:
                yield from _lists(below, name, here)
    elif isinstance(value, list):
        for place, below in enumerate(value):
            yield from _lists(below, name, f"{path}[{place}]")
