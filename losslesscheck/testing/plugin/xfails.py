"""Files of expected failures: a check a line, with the reason behind a ``#``."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from losslesscheck.errors import InputError
from losslesscheck.testing.conformance import Item


def read(path: Path, items: Sequence[Item]) -> dict[str, str]:
    """The reason for every expected failure, by the item's id.

    A line holds an item's id, or a check's name for all its cases; the id goes first where both are
    given. Lines that are empty, or a comment alone, are skipped.

    Raises:
        InputError: if the file cannot be read, or a line names no item or one that an earlier line names.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no UTF-8"
        raise InputError(f"xfails: cannot read {path}: {reason}") from None
    known = {item.id for item in items} | {item.check.name for item in items}
    reasons: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        name, _, reason = (part.strip() for part in line.partition("#"))
        if not name:
            continue
        where = f"xfails: {path}, line {number}"
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise InputError(f"{where}: there is no check {name!r}{hint}")
        if name in reasons:
            raise InputError(f"{where}: {name} is there twice")
        reasons[name] = reason or f"line {number} of {path.name}"
    return {
        item.id: reasons.get(item.id) or reasons[item.check.name]
        for item in items
        if item.id in reasons or item.check.name in reasons
    }
