"""How far a run is, on standard error: a table that is kept up to date, or a line every now and then."""

from __future__ import annotations

import math
import time
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from losslesscheck.runs.status import Status
from losslesscheck.runs.totals import Look
from losslesscheck.terminal import WIDTH

PAUSE = 10.0
"""Seconds between two lines where standard error is no terminal."""

MOST_SOURCES = 6
"""So many sources get a line each."""


class View:
    """Shows what it is called with; a context manager.

    Args:
        console: by default standard error, at most 80 columns wide.
    """

    def __init__(self, console: Console | None = None) -> None:
        if console is None:
            console = Console(stderr=True, highlight=False)
            console.width = min(WIDTH, console.width)
        self._console = console
        self._live: Live | None = None
        self._said, self._said_at = "", -math.inf

    def __enter__(self) -> View:
        return self

    def __call__(self, status: Status) -> None:
        if self._console.is_terminal:
            if self._live is None:
                self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False)
                self._live.start()
            self._live.update(table(status), refresh=True)
        elif status.ended or time.monotonic() - self._said_at >= PAUSE:
            if (text := line(status)) != self._said:
                self._console.print(Text(text), soft_wrap=True)
            self._said, self._said_at = text, time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


def table(status: Status) -> RenderableType:
    """The run as a table of at most 80 columns."""
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    shown.add_column("")
    for name in ("shards", "steps", "log10 e", "TV below", "detectable"):
        shown.add_column(name, justify="right", no_wrap=True)
    looks = status.standing.looks if status.standing else ()
    single = len(status.done) == 1
    if not single and len(status.done) <= MOST_SOURCES:
        for place, done in enumerate(status.done):
            shown.add_row(
                f"instance {place}",
                f"{done}/{status.rounds}",
                _steps(done * status.steps[place]),
                *_figures(looks[place : place + 1]),
            )
    shown.add_row(
        "" if single else "all",
        f"{sum(status.done)}/{len(status.done) * status.rounds}",
        _steps(status.steps_done),
        *_figures(looks),
        style="bold",
    )
    head = Text(f"{status.name}, {status.workers}, {status.save.name}", no_wrap=True, overflow="ellipsis")
    foot = Table.grid(padding=(0, 2, 0, 0))
    foot.add_row(
        ProgressBar(total=status.steps_wanted, completed=status.steps_done, width=28), Text(_pace(status))
    )
    return Group(head, shown, foot)


def line(status: Status) -> str:
    """The run in one line."""
    figures = _figures(status.standing.looks if status.standing else ())
    words = [
        f"{status.name}: {sum(status.done)}/{len(status.done) * status.rounds} shards",
        f"{_steps(status.steps_done)} steps",
        _pace(status),
    ]
    if status.standing:
        words.append("log10 e {}, TV below {}, detectable TV {}".format(*figures))
    return ", ".join(words)


def _figures(looks: tuple[Look, ...]) -> tuple[str, str, str]:
    """log10 of the largest e-value, the TV bound and the detectable TV of the source that has most."""
    if not looks:
        return "–", "–", "–"
    return (
        f"{max(look.log_e for look in looks) / math.log(10) + 0.0:.1f}",
        f"{max(look.tv_bound for look in looks):.2g}",
        f"{max(look.detectable_tv for look in looks):.2g}",
    )


def _steps(steps: int) -> str:
    return f"{steps:,}" if steps < 1e7 else f"{steps:.2e}"


def _pace(status: Status) -> str:
    if status.rate is None or status.seconds_left is None:
        return "no shard is done yet" if not status.ended else "done"
    left = "done" if status.ended else f"{duration(status.seconds_left)} left"
    return f"{status.rate:.2g} steps a second, {left}"


def duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> duration(5), duration(200), duration(20_000), duration(900_000)
    ('5 s', '3 min', '5.6 h', '10 days')
    """
    for least, unit, name in ((172_800, 86_400, "days"), (7_200, 3_600, "h"), (100, 60, "min")):
        if seconds >= least:
            return f"{seconds / unit:.{1 if name == 'h' else 0}f} {name}"
    return f"{seconds:.0f} s"
