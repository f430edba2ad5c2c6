"""Checking the theories, and the record of it that is shipped: the audit.

A check compiles the theories with Coq, asks for the assumptions of every theorem of the map, has the
compiled theories rechecked by ``coqchk``, and compares texts and statements with the audit. Whoever has no
Coq relies on the audit, which holds for exactly the texts whose hashes it lists.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

from losslesscheck.proofs import FOLDER
from losslesscheck.proofs.coq import LIBRARY, Coq, CoqError
from losslesscheck.proofs.theorems import THEOREMS, Theorem

RECORD = FOLDER / "audit.json"
FORMAT = 1
CLOSED = "Closed under the global context"
"""What Coq says of a theorem that rests on no axiom and on nothing that was admitted."""

Tell = Callable[[str], None]
"""Called with what is being done."""


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
        content = json.loads(path.read_text())
        if content.pop("format") != FORMAT:
            raise ValueError(f"{path} is no audit of format {FORMAT}")
        return cls(**content)

    def save(self, path: Path = RECORD) -> None:
        """Writes the record; the file appears whole or not at all."""
        partial = path.with_name(path.name + ".partial")
        partial.write_text(
            json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False, indent=1) + "\n"
        )
        os.replace(partial, path)


@dataclass(frozen=True)
class Checked:
    """A theorem as it was found: its statement and what Coq says that it rests on."""

    statement: str
    assumptions: str

    @property
    def closed(self) -> bool:
        return self.assumptions == CLOSED


@dataclass(frozen=True)
class Report:
    """What a check found.

    Attributes:
        coq: what it was run with.
        theories: file name → SHA-256.
        compiled: theory → seconds.
        theorems: name → what was found of it; those that were not found are missing.
        problems: why the check fails, one line each; empty if it passes.
        thorough: MathComp and Coq's own library were rechecked as well.
        seconds: wall time.
    """

    coq: Coq
    theories: Mapping[str, str]
    compiled: Mapping[str, float]
    theorems: Mapping[str, Checked]
    problems: Sequence[str]
    thorough: bool
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.problems


def hashes(folder: Path = FOLDER) -> dict[str, str]:
    """The theories in a folder: file name → SHA-256."""
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.glob("*.v"))}


def check(
    coq: Coq,
    folder: Path = FOLDER,
    audit: Audit | None = None,
    theorems: Sequence[Theorem] = THEOREMS,
    *,
    thorough: bool = False,
    tell: Tell = lambda what: None,
) -> Report:
    """Checks the theories in a folder.

    Args:
        coq: the Coq to do it with.
        folder: is only read; Coq works on a copy.
        audit: what texts and statements are compared with; ``None`` compares with nothing.
        theorems: those that must be there.
        thorough: recheck MathComp and Coq's own library too (more than a minute).
    """
    start = perf_counter()
    theories = hashes(folder)
    problems = [] if audit is None else _changed(audit, theories)
    problems += _missing(folder, theorems)
    compiled: dict[str, float] = {}
    found: dict[str, Checked] = {}
    with tempfile.TemporaryDirectory(prefix="losslesscheck-") as name:
        work = Path(name)
        for theory in theories:
            shutil.copy(folder / theory, work)
        try:
            tell(f"compiling {len(theories)} theories")
            compiled = coq.compile(work)
            tell(f"asking for the assumptions of {len(theorems)} theorems")
            found = _ask(coq, work, theorems)
            tell("rechecking the compiled theories" + (" and all that they rest on" if thorough else ""))
            axioms = coq.recheck(work, list(compiled), thorough=thorough)
            problems += [f"coqchk finds the axiom {axiom}" for axiom in axioms]
        except CoqError as error:
            problems.append(f"Coq: {error}")
    for theorem, checked in found.items():
        if not checked.closed:
            problems.append(f"{theorem} is not closed: {' '.join(checked.assumptions.split())}")
    if audit is not None and audit.coq == coq.version:  # another version may print otherwise
        problems += _restated(audit, found)
    return Report(coq, theories, compiled, found, problems, thorough, perf_counter() - start)


def _changed(audit: Audit, theories: Mapping[str, str]) -> list[str]:
    problems = []
    for name in sorted({*audit.theories, *theories}):
        if name not in theories:
            problems.append(f"{name} is missing, but the audit has it")
        elif name not in audit.theories:
            problems.append(f"{name} is not in the audit")
        elif theories[name] != audit.theories[name]:
            problems.append(f"{name} is not the text that was audited")
    return problems


def _missing(folder: Path, theorems: Sequence[Theorem]) -> list[str]:
    """Theorems of the map that are not stated where it says, and ones stated that it does not list."""
    problems = []
    for theory in sorted({t.theory for t in theorems} | {p.stem for p in folder.glob("*.v")}):
        path = folder / f"{theory}.v"
        text = path.read_text() if path.is_file() else ""
        stated = set(re.findall(r"^\s*(?:Theorem|Corollary)\s+(\w+)", text, re.MULTILINE))
        listed = {t.name for t in theorems if t.theory == theory}
        problems += [f"{name}: {theory}.v states no such theorem" for name in sorted(listed - stated)]
        problems += [
            f"{name}: the map does not list this theorem of {theory}.v" for name in sorted(stated - listed)
        ]
    return problems


def _ask(coq: Coq, work: Path, theorems: Sequence[Theorem]) -> dict[str, Checked]:
    """What Coq says of every theorem."""
    lines = ["From mathcomp Require Import all_ssreflect all_algebra."]
    lines += [f"From {LIBRARY} Require {path.stem}." for path in sorted(work.glob("*.v"))]
    lines += ["Set Printing Width 100.", "Local Open Scope ring_scope."]
    for t in theorems:
        lines.append(f'Redirect "{t.name}.statement" Check {LIBRARY}.{t.theory}.{t.name}.')
        lines.append(f'Redirect "{t.name}.assumptions" Print Assumptions {LIBRARY}.{t.theory}.{t.name}.')
    coq.evaluate(work, "\n".join(lines) + "\n")
    return {
        t.name: Checked(
            _statement((work / f"{t.name}.statement.out").read_text()),
            (work / f"{t.name}.assumptions.out").read_text().strip(),
        )
        for t in theorems
    }


def _statement(printed: str) -> str:
    """The type in ``name : type``."""
    _, _, statement = printed.strip().partition(":")
    indented = statement.strip("\n").splitlines()
    return "\n".join(
        line.strip() if n == 0 else line.removeprefix("       ") for n, line in enumerate(indented)
    )


def _restated(audit: Audit, found: Mapping[str, Checked]) -> list[str]:
    problems = [
        f"{name} does not state what was audited"
        for name, checked in found.items()
        if name in audit.theorems and audit.theorems[name] != checked.statement
    ]
    problems += [f"{name} is not in the audit" for name in found if name not in audit.theorems]
    return problems + [
        f"{name} is in the audit, but not in the map" for name in audit.theorems if name not in found
    ]


@dataclass(frozen=True)
class Standing:
    """On whose word the theorems stand.

    Attributes:
        by: ``this machine``, ``the audit``, or empty if nobody checked the theories as they are.
        facts: versions, date and the digest of all theories.
    """

    by: str
    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        f = self.facts
        how = f"{f['date']}, Coq {f['coq']}, MathComp {f['mathcomp']}"
        return (
            f"checked on this machine ({how})"
            if self.by == "this machine"
            else f"checked by the audit ({how})"
        )


@cache
def standing() -> Standing:
    """Who checked the theories beside this file, exactly as they are."""
    theories = hashes()
    sealed = digest(theories)
    here = _stamp()
    if here.get("digest") == sealed:
        return Standing("this machine", here)
    audit = _audited()
    if audit.theories != theories:
        return Standing("")
    facts = {"date": audit.date, "coq": audit.coq, "mathcomp": audit.mathcomp, "digest": sealed}
    return Standing("the audit", facts)


@cache
def _audited() -> Audit:
    """The shipped audit; an empty one if it cannot be read."""
    try:
        return Audit.load()
    except (OSError, ValueError, TypeError, KeyError):
        return Audit("", "", "", False, {}, {})


def digest(theories: Mapping[str, str]) -> str:
    """One hash for all theories."""
    return hashlib.sha256(json.dumps(dict(theories), sort_keys=True).encode()).hexdigest()


def check_installed(
    coq: Coq, *, thorough: bool = False, renew: bool = False, tell: Tell = lambda what: None
) -> Report:
    """Checks the theories beside this file, and notes on this machine that they passed.

    Args:
        renew: compare with no audit, and write a new one if all else is well.
    """
    report = check(coq, audit=None if renew else Audit.load(), thorough=thorough, tell=tell)
    if report.passed and renew:
        _record(report).save()
        _audited.cache_clear()
    if report.passed:
        _remember(report)
    return report


def _record(report: Report) -> Audit:
    return Audit(
        date=date.today().isoformat(),
        coq=report.coq.version,
        mathcomp=report.coq.mathcomp,
        thorough=report.thorough,
        theories=dict(report.theories),
        theorems={name: checked.statement for name, checked in report.theorems.items()},
    )


def _remember(report: Report) -> None:
    facts = {
        "date": date.today().isoformat(),
        "coq": report.coq.version,
        "mathcomp": report.coq.mathcomp,
        "digest": digest(report.theories),
    }
    with contextlib.suppress(OSError):  # without a cache, the audit stands
        path = _stamp_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(facts))
    standing.cache_clear()


def _stamp() -> dict[str, Any]:
    try:
        facts = json.loads(_stamp_path().read_text())
        return facts if {"date", "coq", "mathcomp", "digest"} <= facts.keys() else {}
    except (OSError, ValueError, AttributeError):
        return {}


def _stamp_path() -> Path:
    cache_folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache_folder) / "losslesscheck" / "proofs.json"
