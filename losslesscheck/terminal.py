"""What a person reads in the terminal."""

from __future__ import annotations

import sys
from fractions import Fraction
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from losslesscheck.instances import ContextRows
from losslesscheck.search import Counterexample
from losslesscheck.verdict import NOT_ASKED, Verdict

MARKS = {
    "holds": ("✓", "green"),
    "fails": ("✗", "red"),
    "undecided": ("?", "yellow"),
    "skipped": ("–", "dim"),
}
COLOURS = {"lossless": "bold green", "lossy": "bold red", "undecided": "bold yellow"}
WIDTH = 80
WIDEST_ROW = 6
MOST_ROWS = 6
LONGEST_DETAIL = 240


class Progress:
    """One line on standard error while a rung takes longer than a second."""

    def __init__(self) -> None:
        self._shown = ""

    def __enter__(self) -> Progress:
        return self

    def __call__(self, what: str, seconds: float) -> None:
        if seconds >= 1:
            line = f"{what}: {seconds:.0f} s"
            if sys.stderr.isatty():
                sys.stderr.write(f"\r\x1b[K{line} …")
            elif self._shown != what:
                sys.stderr.write(f"{what} …\n")
            sys.stderr.flush()
            self._shown = what

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def console() -> Console:
    """Standard output, at most 80 columns wide."""
    wide = Console(highlight=False)
    return Console(highlight=False, width=min(WIDTH, wide.width) if wide.is_terminal else WIDTH)


def render_verdict(verdict: Verdict) -> None:
    """The table of rungs, the verdict in a sentence, and the counterexample if there is one."""
    out = console()
    rule = verdict.rule
    out.print(Text.assemble((rule.name, "bold"), "  ", rule.broken or rule.paper.split(";")[0]))
    out.print()
    out.print(_rungs(verdict))
    if left := [e.tier.replace("-", " ") for e in verdict.evidence if e.detail == NOT_ASKED]:
        out.print(Text(f"not asked for: {', '.join(left)}", style="dim"))
    out.print()
    out.print(Text.assemble((verdict.verdict.upper(), COLOURS[verdict.verdict]), "  ", verdict.summary))
    for evidence in verdict.evidence:
        if "positions" in evidence.data:
            out.print()
            out.print(_positions(evidence.data))
    if verdict.counterexample is not None:
        out.print()
        out.print(_counterexample(verdict.counterexample))
    for warning in verdict.warnings:
        out.print(Text.assemble(("note", "yellow"), f"  {warning}"))


def _rungs(verdict: Verdict) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    table.add_column("rung", no_wrap=True, min_width=17)
    table.add_column("result", no_wrap=True, min_width=11)
    table.add_column("time", justify="right", no_wrap=True, min_width=7)
    table.add_column("what it says")
    for evidence in verdict.evidence:
        if evidence.detail == NOT_ASKED:
            continue
        mark, colour = MARKS[evidence.result]
        time = "" if evidence.result == "skipped" else f"{evidence.seconds:.2f} s"
        table.add_row(
            evidence.tier.replace("-", " "),
            Text(f"{mark} {evidence.result}", style=colour),
            time,
            Text(_clipped(evidence.detail), style="dim" if evidence.result == "skipped" else ""),
        )
    return table


def _clipped(detail: str) -> str:
    """The beginning of a long formula; ``--json`` has all of it."""
    return detail if len(detail) <= LONGEST_DETAIL else f"{detail[: LONGEST_DETAIL - 2]} …"


def _positions(data: dict[str, Any]) -> RenderableType:
    """Acceptance along the drafted paths of a file of distributions, a line for each case."""
    cases: dict[int, list[dict[str, Any]]] = {}
    for position in data["positions"]:
        cases.setdefault(position["case"], []).append(position)
    drafted = len(cases[0]) - 1
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    table.add_column("case")
    for number in range(drafted):
        table.add_column(f"draft {number + 1}", justify="right")
    table.add_column("tokens a step", justify="right")
    for case, positions in cases.items():
        accepted = (f"{p['acceptance']:.4f}" for p in positions[:drafted])
        table.add_row(str(case), *accepted, f"{data['tokens_per_step'][case]:.4f}")
    return Group(Text("Probability that a draft is accepted, by position (exact, rounded)"), table)


def _counterexample(found: Counterexample) -> RenderableType:
    """The counterexample as a table of fractions."""
    instance = found.instance
    head = f"The simplest counterexample: V = {instance.vocabulary}, tree {instance.tree}"
    if found.context:
        head += f", next token after {list(found.context)} (reached with probability {found.reached})"
    tokens = _shown_tokens(found)
    if len(tokens) < instance.vocabulary:
        head += f"; the {len(tokens)} tokens that differ most"
    parts: list[RenderableType] = [Text(head)]
    table = Table(box=None, padding=(0, 2, 0, 2), show_edge=False, header_style="dim")
    table.add_column("token")
    for token in tokens:
        table.add_column(str(token), justify="right")
    for name, values in (("target p", found.target), ("draft q", found.draft), ("emitted", found.emitted)):
        if values is not None:
            style = "bold" if name == "emitted" else ""
            table.add_row(name, *(str(values[token]) for token in tokens), style=style)
    parts.append(table)
    if found.undefined:
        parts.append(Text(f"  undefined with probability {found.undefined}"))
    parts.append(Text(f"  TV {found.tv}" + (f" = {float(found.tv):.4g}" if found.tv.denominator > 1 else "")))
    for letter, rows in (("p", instance.target), ("q", instance.draft)):
        parts += [Text(f"  {line}", style="dim") for line in _other_rows(letter, rows, found.context)]
    return Group(*(Padding(part, (0, 0, 0, 0)) for part in parts))


def _other_rows(letter: str, rows: ContextRows, shown: tuple[int, ...]) -> list[str]:
    """A line for every context whose row differs from the one at the empty context, if any does."""
    own = {c: row for c, row in rows.items() if c and list(row) != list(rows[()])}
    if not rows or (not own and not shown):
        return []
    first = {(): rows[()]} if shown else {}
    listed = list((first | {c: row for c, row in own.items() if c != shown}).items())
    lines = [f"{letter} after {list(context)}: {_vector(row)}" for context, row in listed[:MOST_ROWS]]
    if len(listed) > MOST_ROWS:
        lines.append(f"{letter} after {len(listed) - MOST_ROWS} more contexts: see --json")
    return [*lines, f"{letter} after any other context: as after []"]


def _shown_tokens(found: Counterexample) -> list[int]:
    count = found.instance.vocabulary
    if count <= WIDEST_ROW:
        return list(range(count))
    order = sorted(range(count), key=lambda t: -abs(found.emitted[t] - found.target[t]))
    return sorted(order[:WIDEST_ROW])


def _vector(row: object) -> str:
    assert isinstance(row, (list, tuple))
    values = [str(a) if isinstance(a, Fraction) else f"{a}" for a in row[:WIDEST_ROW]]
    return f"({', '.join(values)}{', …' if len(row) > WIDEST_ROW else ''})"
