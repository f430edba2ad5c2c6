from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from losslesscheck.machines.monte_carlo.tally import Counts, Plan
from losslesscheck.model import Model
from losslesscheck.runs import record
from losslesscheck.runs.source import digest


def line(counts: Counts, **changes: int) -> bytes:
    problem = {"rule": "any", "steps": counts.samples} | changes
    return record.encode(problem, 7, (0, 1, 7), counts, 1.5)


def counted(vocabulary: int, steps: int = 1000) -> Counts:
    row = np.full(vocabulary, 1 / vocabulary)
    plan = Plan(Model.constant(row), Counter(), 1)
    counts = np.random.default_rng(0).multinomial(steps - 3, row)
    return Counts(plan, counts, steps, 3, {1: steps - 3}, 5)


@pytest.mark.parametrize("vocabulary", [2, 3, record.READABLE, record.READABLE + 1, 50_000])
def test_a_row_is_read_as_it_was_written(vocabulary: int) -> None:
    counts = counted(vocabulary)
    row = record.decode(line(counts))
    assert np.array_equal(row.counts, counts.counts)
    assert (row.lengths, row.undefined, row.skipped) == (counts.lengths, 3, 5)
    assert (row.shard, row.seed, row.seconds) == (7, (0, 1, 7), 1.5)
    assert row.hash == digest(row.problem)


def test_large_counters_survive_being_packed() -> None:
    counts = counted(record.READABLE + 1)
    counts.counts[:] = 0
    counts.counts[[0, 17, record.READABLE]] = [record.MOST_STEPS, 2**32 - 1, 1]
    assert np.array_equal(record.decode(line(counts)).counts, counts.counts)


def test_a_row_is_one_line_of_json_with_all_that_it_was_counted_under() -> None:
    text = line(counted(3))
    assert text.count(b"\n") == 1
    assert text.endswith(b"\n")
    row = json.loads(text)
    assert row["counts"] == [counted(3).counts.tolist()]
    assert set(row["versions"]) == {"losslesscheck", "numpy", "python"}
    assert row["device"]
    assert ":" in row["worker"]


def test_every_damaged_byte_is_noticed() -> None:
    text = line(counted(3))
    for place in range(len(text) - 1):
        damaged = bytearray(text)
        damaged[place] ^= 1
        with pytest.raises(ValueError, match=r"is damaged|is no row"):
            record.decode(bytes(damaged))


def test_every_beginning_of_a_row_is_noticed() -> None:
    text = line(counted(3))
    for length in range(len(text)):
        with pytest.raises(ValueError, match=r"is damaged|is no row"):
            record.decode(text[:length])


def test_steps_that_do_not_add_up_are_noticed() -> None:
    with pytest.raises(ValueError, match="1001 steps"):
        record.decode(line(counted(3), steps=1001))
