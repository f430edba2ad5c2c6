"""What `losslesscheck proofs` says."""

from __future__ import annotations

import textwrap
from typing import Any

from losslesscheck.errors import InputError
from losslesscheck.proofs import FOLDER
from losslesscheck.proofs.audit import RECORD, Audit, standing
from losslesscheck.proofs.check import CLOSED, Report
from losslesscheck.proofs.theorems import THEOREMS, Theorem, get

WIDTH = 80


def list_dict() -> dict[str, Any]:
    """The map of theorems, and on whose word they stand, ready for JSON."""
    now = standing()
    return {
        "theorems": [_theorem_dict(theorem) for theorem in THEOREMS],
        "checked": {"by": now.by or None, **now.facts},
    }


def list_text(only: str | None = None) -> str:
    """The map as text: for every theory its theorems, each with claim, source and test.

    Raises:
        InputError: if there is no theory ``only``.
    """
    lines: list[str] = []
    theories = dict.fromkeys(t.theory for t in THEOREMS)
    if only is not None and only.removesuffix(".v") not in theories:
        raise InputError(
            f"theory: there is no theory {only!r} with theorems; there are {', '.join(theories)}"
        )
    for theory in theories if only is None else [only.removesuffix(".v")]:
        lines += ["", *textwrap.wrap(f"{theory}.v  {_purpose(theory)}", WIDTH, subsequent_indent="  ")]
        for t in THEOREMS:
            if t.theory == theory:
                lines.append(f"  {t.name}")
                lines += _filled(t.claim + (f" ({t.source})" if t.source else ""))
                lines.append(f"      {t.test}")
    return "\n".join(
        [
            f"{len(THEOREMS)} theorems, for every finite vocabulary and over every ordered field.",
            *textwrap.wrap(f"They were {standing()}." if standing().by else _UNCHECKED, WIDTH),
            *lines,
            "",
            f"The theories are in {FOLDER}.",
            "losslesscheck proofs show NAME prints a statement; losslesscheck proofs check",
            "checks them all with the Coq that is installed.",
        ]
    )


_UNCHECKED = (
    "The theories here are not the audited ones: losslesscheck proofs check says how they differ, "
    "with --renew it audits them anew."
)


def theorem_dict(name: str) -> dict[str, Any]:
    """A theorem with its statement, ready for JSON.

    Raises:
        InputError: if there is no such theorem.
    """
    theorem = get(name)
    return {**_theorem_dict(theorem), "statement": _statement(theorem)}


def theorem_text(name: str) -> str:
    """A theorem: its claim, and its statement.

    Raises:
        InputError: if there is no such theorem.
    """
    theorem = get(name)
    lines = [f"{theorem.name}  ({theorem.theory}.v)", *textwrap.wrap(theorem.claim, WIDTH)]
    if theorem.source:
        lines.append(theorem.source)
    statement = _statement(theorem) or "(not in the audit)"
    return "\n".join([*lines, "", textwrap.indent(statement, "  "), "", *_last(theorem)])


def _last(theorem: Theorem) -> list[str]:
    return [
        *textwrap.wrap(f"It was {standing()}." if standing().by else _UNCHECKED, WIDTH),
        f"test: {theorem.test}",
    ]


def report_dict(report: Report) -> dict[str, Any]:
    """What a check found, ready for JSON."""
    return {
        "passed": report.passed,
        "problems": list(report.problems),
        "coq": report.coq.version,
        "mathcomp": report.coq.mathcomp,
        "thorough": report.thorough,
        "seconds": round(report.seconds, 2),
        "theories": {
            name: {"sha256": known, "seconds": round(report.compiled.get(name.removesuffix(".v"), 0.0), 2)}
            for name, known in report.theories.items()
        },
        "theorems": {
            name: {"statement": checked.statement, "assumptions": checked.assumptions}
            for name, checked in report.theorems.items()
        },
    }


def report_text(report: Report) -> str:
    """What a check found, in lines of at most 80 columns."""
    lines = [f"Coq {report.coq.version}, MathComp {report.coq.mathcomp}"]
    if report.theorems:
        closed = [checked for checked in report.theorems.values() if checked.closed]
        lines.append(f"{len(closed)} of {len(report.theorems)} theorems: {CLOSED}")
    if report.rechecked:
        what = "the theories and all that they rest on" if report.thorough else "the theories"
        lines.append(f"coqchk rechecked {what}")
    lines.append(f"{report.seconds:.0f} s in all")
    if report.passed:
        return "\n".join([*lines, "passed"])
    count = len(report.problems)
    lines.append(f"failed: {count} problem{'s'[: count != 1]}")
    for problem in report.problems:
        lines += textwrap.wrap(problem, WIDTH, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def _theorem_dict(theorem: Theorem) -> dict[str, Any]:
    return {
        "name": theorem.name,
        "theory": f"{theorem.theory}.v",
        "claim": theorem.claim,
        "source": theorem.source,
        "test": theorem.test,
    }


def _statement(theorem: Theorem) -> str | None:
    return Audit.load().theorems.get(theorem.name) if RECORD.is_file() else None


def _purpose(theory: str) -> str:
    """The first sentence of a theory's opening comment."""
    text = (FOLDER / f"{theory}.v").read_text(encoding="utf-8")
    opening = text.removeprefix("(*").partition("*)")[0]
    return " ".join(opening.split("\n\n")[0].split()).partition(": ")[0].partition(". ")[0].rstrip(".")


def _filled(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="      ", subsequent_indent="      ")
