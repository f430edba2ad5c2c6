"""Records of checks of the theories: the audit that is shipped, and the one that this machine made.

Whoever has no Coq relies on the audit, which holds for exactly the texts whose hashes it lists.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from losslesscheck.errors import InputError
from losslesscheck.proofs import FOLDER

RECORD = FOLDER / "audit.json"
FORMAT = 1


@dataclass(frozen=True)
class Audit:
    """The record of a check.

    Attributes:
        date: ISO 8601.
        coq, mathcomp: versions.
        thorough: MathComp and Coq's own library were rechecked as well.
        theories: file name → SHA-256 of its text.
        theorems: name → its statement, as Coq prints it.
    """

    date: str
    coq: str
    mathcomp: str
    thorough: bool
    theories: Mapping[str, str]
    theorems: Mapping[str, str]

    @classmethod
    def load(cls, path: Path = RECORD) -> Audit:
        """Reads a record.

        Raises:
            InputError: if there is none, or it is none of this format.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content.pop("format") != FORMAT:
                raise ValueError(f"it is not of format {FORMAT}")
            record = cls(**content)
            dict(record.theories), dict(record.theorems)
        except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise InputError(f"{path} is no audit: {error}") from None
        return record

    def save(self, path: Path = RECORD) -> None:
        """Writes the record; the file appears whole or not at all."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False, indent=1) + "\n"
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(partial, 0o644)
            os.replace(partial, path)
        except OSError:
            Path(partial).unlink(missing_ok=True)
            raise


def hashes(folder: Path = FOLDER) -> dict[str, str]:
    """The theories in a folder: file name → SHA-256."""
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.glob("*.v"))}


def digest(theories: Mapping[str, str]) -> str:
    """One hash for all theories."""
    return hashlib.sha256(json.dumps(dict(theories), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Standing:
    """On whose word the theorems stand.

    Attributes:
        by: ``this machine``, ``the audit``, or empty if nobody checked the theories as they are.
        facts: versions, date and the digest of all theories.
        theorems: the names of those that were checked.
    """

    by: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    theorems: Collection[str] = ()

    def __str__(self) -> str:
        where = "on this machine" if self.by == "this machine" else f"by {self.by}"
        return "checked {} ({date}, Coq {coq}, MathComp {mathcomp})".format(where, **self.facts)


@cache
def standing() -> Standing:
    """Who checked the theories beside this file, exactly as they are."""
    theories = hashes()
    for by, path in (("this machine", _own()), ("the audit", RECORD)):
        with contextlib.suppress(InputError):
            record = Audit.load(path) if path is not None else None
            if theories and record is not None and record.theories == theories:
                facts = {"date": record.date, "coq": record.coq, "mathcomp": record.mathcomp}
                return Standing(by, facts | {"digest": digest(theories)}, record.theorems.keys())
    return Standing("")


def remember(record: Audit) -> None:
    """Keeps, in the user's cache, that the theories beside this file passed a check on this machine."""
    with contextlib.suppress(OSError):  # without a cache, the audit stands
        path = _own()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            record.save(path)
    standing.cache_clear()


def _own() -> Path | None:
    """Where this machine's record is; ``None`` if the user has no home."""
    try:
        folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(folder) / "losslesscheck" / "proofs.json"
