"""Checking the theories with the Coq that is installed.

A check compiles the theories, asks for the assumptions of every theorem of the map, has the compiled
theories rechecked by ``coqchk``, and compares texts and statements with the audit.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from time import perf_counter

from losslesscheck.errors import InputError
from losslesscheck.proofs import FOLDER
from losslesscheck.proofs.audit import Audit, hashes, remember
from losslesscheck.proofs.coq import KNOWN_COQ, KNOWN_MATHCOMP, LIBRARY, Coq, CoqError, find
from losslesscheck.proofs.theorems import THEOREMS, Theorem

CLOSED = "Closed under the global context"
"""What Coq says of a theorem that rests on no axiom and on nothing that was admitted."""

Tell = Callable[[str], None]
"""Called with what is being done."""


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
        rechecked: ``coqchk`` came to an end.
        thorough: MathComp and Coq's own library were rechecked as well.
        seconds: wall time.
    """

    coq: Coq
    theories: Mapping[str, str]
    compiled: Mapping[str, float]
    theorems: Mapping[str, Checked]
    problems: Sequence[str]
    rechecked: bool
    thorough: bool
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.problems


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
    compiled: dict[str, float] = {}
    found: dict[str, Checked] = {}
    rechecked = False
    with tempfile.TemporaryDirectory(prefix="losslesscheck-") as name:
        work = Path(name)
        for path in folder.glob("*.v"):
            shutil.copy(path, work)
        theories = hashes(work)
        problems = [] if audit is None else _changed(audit, theories, theorems)
        problems += _missing(work, theorems)
        try:
            tell(f"compiling {len(theories)} theories")
            compiled = coq.compile(work)
            tell(f"asking for the assumptions of {len(theorems)} theorems")
            found = _ask(coq, work, theorems)
            tell("rechecking the compiled theories" + (" and all that they rest on" if thorough else ""))
            problems += [f"coqchk: {what}" for what in coq.recheck(work, list(compiled), thorough=thorough)]
            rechecked = True
        except CoqError as error:
            problems.append(f"Coq: {error}")
            if (coq.version, coq.mathcomp) != (KNOWN_COQ, KNOWN_MATHCOMP):
                problems.append(
                    f"the theories are known to compile with Coq {KNOWN_COQ} and MathComp {KNOWN_MATHCOMP}; "
                    f"this is Coq {coq.version} with MathComp {coq.mathcomp}"
                )
    for theorem, checked in found.items():
        if not checked.closed:
            problems.append(f"{theorem} is not closed: {' '.join(checked.assumptions.split())}")
    if audit is not None and (audit.coq, audit.mathcomp) == (coq.version, coq.mathcomp):
        problems += [  # other versions may print otherwise
            f"{name} does not state what was audited"
            for name, checked in found.items()
            if audit.theorems.get(name, checked.statement) != checked.statement
        ]
    return Report(coq, theories, compiled, found, problems, rechecked, thorough, perf_counter() - start)


def _changed(audit: Audit, theories: Mapping[str, str], theorems: Sequence[Theorem]) -> list[str]:
    problems = []
    listed = {t.name for t in theorems}
    problems += [f"{name} is not in the audit" for name in sorted(listed - audit.theorems.keys())]
    problems += [
        f"{name} is in the audit, but not in the map" for name in sorted(audit.theorems.keys() - listed)
    ]
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
        text = re.sub(r"\(\*.*?\*\)", "", path.read_text() if path.is_file() else "", flags=re.DOTALL)
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
    lines += [f"From {LIBRARY} Require Import {path.stem}." for path in sorted(work.glob("*.v"))]
    lines += ["Set Printing Width 78.", "Unset Printing Implicit Defensive.", "Local Open Scope ring_scope."]
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


def compile_into(folder: Path, *, tell: Tell = lambda what: None) -> None:
    """Copies the theories into a folder and compiles them there.

    Raises:
        NotInstalled: if Coq is missing.
        InputError: if the folder cannot be written to.
        CoqError: if Coq rejects a theory.
    """
    coq = find()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in FOLDER.glob("*.v"):
            shutil.copyfile(path, folder / path.name)
    except OSError as error:
        raise InputError(f"folder: cannot copy the theories to {folder}: {error}") from None
    theories = sorted(path.stem for path in FOLDER.glob("*.v"))
    tell(f"compiling {len(theories)} theories")
    coq.compile(folder, theories)


def check_installed(
    coq: Coq, *, thorough: bool = False, renew: bool = False, tell: Tell = lambda what: None
) -> Report:
    """Checks the theories beside this file, and notes on this machine that they passed.

    Args:
        renew: compare with no audit, and write a new one if all else is well.
    """
    report = check(coq, audit=None if renew else Audit.load(), thorough=thorough, tell=tell)
    if report.passed:
        record = _record(report)
        if renew:
            record.save()
        remember(record)
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
