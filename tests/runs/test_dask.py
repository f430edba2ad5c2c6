"""A Dask cluster of several processes, one of which is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runs.sources import content

pytest.importorskip("distributed")

CLUSTER = """
import os, sys
from distributed import Client, LocalCluster

def main():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            processes = client.run(os.getpid)
        print(cluster.scheduler_address.removeprefix("tcp://"), *processes.values(), flush=True)
        sys.stdin.read()

if __name__ == "__main__":
    main()
"""
COMMAND = [
    *(sys.executable, "-m", "losslesscheck", "verify"),
    *("--rule", "specinfer", "--only", "monte-carlo", "--vocab", "3"),
    *("--samples", "2e6", "--shard", "5e4", "--json"),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[int]]]:
    """Address of the scheduler and process ids of the workers; in a process of its own, for its warnings."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address, *workers = process.stdout.readline().split()
        yield address, [int(pid) for pid in workers]
        process.communicate()


def start(path: Path, executor: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "--save", str(path), "--executor", executor],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_worker_is_killed_and_the_totals_are_those_of_a_serial_run(
    tmp_path: Path, cluster: tuple[str, list[int]]
) -> None:
    address, workers = cluster
    path = tmp_path / "dask.jsonl"
    serial, run = start(tmp_path / "serial.jsonl", "serial"), start(path, f"dask://{address}")
    while not (path.exists() and path.stat().st_size) and run.poll() is None:
        time.sleep(0.005)
    os.kill(workers[0], signal.SIGKILL)
    output, errors = run.communicate(timeout=120)
    wanted, _ = serial.communicate(timeout=120)
    assert run.returncode == serial.returncode == 3, errors
    assert content(path) == content(tmp_path / "serial.jsonl")
    found, expected = (json.loads(text)["evidence"][4] for text in (output, wanted))
    assert found["detail"] == expected["detail"]
    assert found["data"]["run"] == {**expected["data"]["run"], "workers": f"dask://{address}"}
    used = {int(json.loads(row)["worker"].rpartition(":")[2]) for row in path.read_text().splitlines()}
    assert used - {workers[0]}  # others went on
