"""A shard's work, as it is handed to a worker."""

from __future__ import annotations

import time

from losslesscheck.errors import InputError
from losslesscheck.runs import record
from losslesscheck.runs.source import (
    Problem,
    Source,
    describe,
    differences,
    shard_seed,
    spawn_key,
)


def run_shard(source: Source, problem: Problem, number: int) -> bytes:
    """Computes a shard; its row for the file.

    Args:
        problem: what the source is where the run was started.

    Raises:
        InputError: if the source is another problem here: another version of the package or of the
            rule's text, for instance.
    """
    here = describe(source)
    if here != problem:
        raise InputError(
            f"executor: a worker does not have the problem that it was given; its own differs in "
            f"{differences(here, problem)}"
        )
    started = time.perf_counter()
    counts = source.shard(shard_seed(source, number))
    seconds = time.perf_counter() - started
    return record.encode(problem, number, (source.seed, *spawn_key(source, number)), counts, seconds)
