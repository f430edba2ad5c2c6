from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from losslesscheck.runs import Status, live
from losslesscheck.runs.totals import Look, Standing

LOOKS = tuple(Look(-1.0 * place - 0.5, 0.0012, 0.00085, False) for place in range(4))
STATUS = Status(
    name="a_rule_with_a_rather_long_name_of_its_own",
    save=Path("a/folder/that/is/deep/runs_of_the_whole_winter.jsonl"),
    workers="dask://scheduler.example.org:8786",
    done=(12, 11, 11, 10),
    rounds=42,
    steps=(60_000_000,) * 4,
    rate=7.1e6,
    standing=Standing(10, LOOKS),
)
FIRST = replace(STATUS, done=(0, 0, 0, 0), rate=None, standing=None)
LAST = replace(STATUS, done=(42,) * 4, standing=Standing(42, LOOKS))


def shown(status: Status, terminal: bool = True) -> str:
    out = io.StringIO()
    with live.View(Console(file=out, width=80, force_terminal=terminal, color_system=None)) as view:
        view(status)
    return out.getvalue()


def table(status: Status) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=80, color_system=None).print(live.table(status))
    return out.getvalue().splitlines()


def test_the_table_has_what_one_wants_to_know() -> None:
    text = "\n".join(table(STATUS))
    for wanted in (
        "a_rule_with", "dask://scheduler", "shards", "44/168", "12/42", "instance 3", "2.64e+09",
        "log10 e", "-0.2", "TV below", "0.0012", "detectable", "0.00085", "7.1e+06 steps a second",
        "17 min left",
    ):  # fmt: skip
        assert wanted in text


@pytest.mark.parametrize(
    "status",
    [
        STATUS,
        FIRST,
        LAST,
        replace(STATUS, done=(10_000,) * 4, rounds=99_999, steps=(10**9,) * 4),
        replace(STATUS, done=(12,), steps=(60_000_000,), standing=Standing(10, LOOKS[:1])),
        replace(STATUS, done=(1,) * 100, steps=(10**6,) * 100, standing=Standing(1, LOOKS * 25)),
        replace(STATUS, standing=Standing(10, (Look(math.inf, 1.0, 1.0, True),) * 4)),
        replace(STATUS, rate=0.001),
    ],
    ids=["midway", "first", "last", "huge", "single", "many", "refuted", "slow"],
)
def test_the_table_fits_eighty_columns_and_few_lines(status: Status) -> None:
    lines = table(status)
    assert max(len(line.rstrip()) for line in lines) <= 80
    assert len(lines) <= 9
    assert not any("…" in line for line in lines[1:])  # only the names may be cut


def test_nothing_is_claimed_before_the_first_look() -> None:
    text = "\n".join(table(FIRST))
    assert "no shard is done yet" in text
    assert "–" in text
    assert "left" not in text


def test_the_end_is_told() -> None:
    assert "done" in "\n".join(table(LAST))
    assert "done" in live.line(LAST)


def test_where_there_is_no_terminal_a_line_is_had_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("losslesscheck.runs.live.time.monotonic", lambda: clock[0])
    out = io.StringIO()
    with live.View(Console(file=out, width=80)) as view:
        for second in range(25):
            clock[0] = second
            view(FIRST if second < 5 else replace(STATUS, done=(second,) * 4))
        view(LAST)
        view(LAST)
    lines = out.getvalue().splitlines()
    assert [line.partition(",")[0].rpartition(" ")[0].partition(": ")[2] for line in lines] == [
        "0/168", "40/168", "80/168", "168/168",
    ]  # fmt: skip
    assert "\x1b" not in out.getvalue()
    for wanted in ("steps", "steps a second", "log10 e", "TV below 0.0012", "detectable TV 0.00085", "left"):
        assert wanted in lines[1]


def test_in_a_terminal_the_table_stays_in_its_place() -> None:
    out = io.StringIO()
    with live.View(Console(file=out, width=80, force_terminal=True, color_system=None)) as view:
        view(FIRST)
        view(STATUS)
    steps_up = out.getvalue().count("\x1b[1A")
    assert steps_up > 0
    assert steps_up % (len(table(STATUS)) - 1) == 0
