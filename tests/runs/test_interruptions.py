"""Real processes that are ended at any moment, and gone on with."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runs.sources import content, rows

SHARDS = 24
OPTIONS = [
    *("--rule", "chain", "--only", "monte-carlo", "--vocab", "3", "--seed", "5"),
    *("--samples", str(SHARDS * 5000), "--shard", "5000"),
]
COMMAND = [sys.executable, "-m", "losslesscheck", "verify", *OPTIONS]

CUT_SHORT = """
import os, signal, sys
from losslesscheck.runs import file

class Dying(file.FileIO):
    writes = 0
    def write(self, line):
        Dying.writes += 1
        if Dying.writes == {shard}:
            os.write(self.fileno(), line[: int(len(line) * {share})])
            os.kill(os.getpid(), signal.SIGKILL)
        return super().write(line)

file.FileIO = Dying
from losslesscheck.cli import main
main(sys.argv[1:])
"""


def start(path: Path, executor: str, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "--save", str(path), "--executor", executor, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(path: Path, executor: str = "serial") -> dict[str, object]:
    done = subprocess.run(
        [*COMMAND, "--json", "--save", str(path), "--executor", executor],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr  # nothing speaks against it, and nothing was proved
    (evidence,) = (e for e in json.loads(done.stdout)["evidence"] if e["tier"] == "monte-carlo")
    del evidence["data"]["steps_per_second"], evidence["data"]["run"]["workers"]
    return {"detail": evidence["detail"], **evidence["data"]}


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not condition() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    path = tmp_path_factory.mktemp("whole") / "runs.jsonl"
    return path, finish(path)


def test_killed_at_any_moment_it_ends_as_if_it_had_not_been(
    tmp_path: Path, whole: tuple[Path, dict[str, object]]
) -> None:
    path, chance, before = tmp_path / "runs.jsonl", random.Random(1), 0
    for _ in range(3):
        least = before + chance.randrange(1, size(whole[0]) // 4)
        process = start(path, "serial")
        wait_for(lambda least=least: size(path) >= least, process)  # type: ignore[misc]
        process.kill()
        process.communicate()
        kept = path.read_bytes()
        before = kept.rfind(b"\n") + 1
        assert before >= least - 2000  # the shard at work is all that may be lost
    assert finish(path) == whole[1]
    assert content(path) == content(whole[0])


@pytest.mark.parametrize(("shard", "share"), [(1, 0.5), (SHARDS, 0.999)])
def test_killed_in_mid_write_it_loses_that_shard(
    shard: int, share: float, tmp_path: Path, whole: tuple[Path, dict[str, object]]
) -> None:
    path = tmp_path / "runs.jsonl"
    script = CUT_SHORT.format(shard=shard, share=share)
    killed = subprocess.run(
        [sys.executable, "-c", script, *COMMAND[3:], "--save", str(path), "--executor", "serial"],
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes().count(b"\n") == shard - 1
    assert finish(path) == whole[1]
    assert content(path) == content(whole[0])


def test_its_workers_end_with_it(tmp_path: Path, whole: tuple[Path, dict[str, object]]) -> None:
    path = tmp_path / "runs.jsonl"
    process = start(path, "processes:2")
    wait_for(lambda: b"\n" in path.read_bytes() if path.exists() else False, process)
    process.kill()
    process.communicate()  # returns when no process holds the pipes any more
    whole_rows = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    workers = {int(json.loads(row)["worker"].partition(":")[2]) for row in whole_rows}
    assert workers
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert finish(path) == whole[1]
    assert content(path) == content(whole[0])


def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    process = start(path, "processes:1", "--samples", "1e9")
    wait_for(lambda: size(path) > 0, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert output == ""
    assert f"of 200000 shards are kept in {path}: the same command goes on from there" in errors
    assert "Traceback" not in errors
    assert path.read_bytes().endswith(b"\n")
    assert 0 < len(rows(path)) < 200_000
