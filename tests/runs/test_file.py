from __future__ import annotations

import os
import resource
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from losslesscheck.errors import InputError
from losslesscheck.runs.file import RunFile, check_file
from losslesscheck.runs.record import START, decode
from losslesscheck.runs.shards import run_shard
from losslesscheck.runs.source import describe, digest
from tests.runs.sources import Die

FIRST, SECOND = Die(), Die(seed=1)


@cache
def line(shard: int, source: Die = FIRST) -> bytes:
    """A row; the same bytes every time, though a row says how long it took."""
    return run_shard(source, describe(source), shard)


def written(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def shards(path: Path, source: Die = FIRST) -> set[int]:
    with RunFile(path) as file:
        return file.shards(digest(describe(source)))


def append(file: RunFile, text: bytes) -> None:
    file.append(decode(text), text)


def test_what_is_appended_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    lines = [line(0), line(2), line(0, SECOND)]
    with RunFile(path) as file:
        for text in lines:
            append(file, text)
        assert file.row(digest(describe(FIRST)), 2).shard == 2
    assert path.read_bytes() == b"".join(lines)
    assert shards(path) == {0, 2}
    assert shards(path, SECOND) == {0}


def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "runs.jsonl", line(0), line(1)[:-20])
    before = path.read_bytes()
    assert shards(path) == {0}
    assert path.read_bytes() == before


def test_whatever_is_left_of_the_last_row_is_cut_off_before_the_next(tmp_path: Path) -> None:
    path, whole, cut, further = tmp_path / "runs.jsonl", line(0), line(1), line(2)
    for length in range(len(cut)):
        written(path, whole, cut[:length])
        with RunFile(path) as file:
            assert file.shards(digest(describe(FIRST))) == {0}
            assert bool(file.notes) == (length > 0)
            append(file, further)
        assert path.read_bytes() == whole + further


@pytest.mark.parametrize(
    ("lines", "number", "why"),
    [
        ([b"hello\n"], 1, "is no row of a run"),
        ([b"hello"], 1, "is no row of a run"),
        ([b'{"format":2,"hash":"0"}\n'], 1, "is no row of a run"),
        ([b"\x00" * 5000], 1, "is no row of a run"),
        ([line(0), b"\n", line(1)], 2, "is no row of a run"),
        ([line(0), line(1)[:-30] + b"\n", line(2)], 2, "is damaged"),
        ([line(0), line(1).replace(b'"shard":1', b'"shard":3'), line(2)], 2, "is damaged"),
        ([line(0), line(1)[:200], line(2)], 2, "is damaged"),
        ([line(0), b"an unfinished note"], 2, "is no row of a run"),
        ([line(0), START + b'", "sha256":"\n'], 2, "is no row of a run"),
    ],
    ids=[
        "text", "text-unfinished", "another-format", "zeros", "empty-line", "cut-in-the-middle",
        "changed", "run-into-the-next", "a-note-at-the-end", "only-a-beginning",
    ],
)  # fmt: skip
def test_a_damaged_line_is_an_error_that_names_it(
    tmp_path: Path, lines: list[bytes], number: int, why: str
) -> None:
    path = written(tmp_path / "runs.jsonl", *lines)
    before = path.read_bytes()
    with pytest.raises(InputError, match=rf"save: line {number} of .* {why}"):
        RunFile(path)
    assert path.read_bytes() == before


def test_a_shard_that_stands_there_twice_counts_once(tmp_path: Path) -> None:
    path = written(tmp_path / "runs.jsonl", line(0), line(1), line(0), line(0))
    with RunFile(path) as file:
        assert file.shards(digest(describe(FIRST))) == {0, 1}
        assert file.notes == [f"line 3 and 1 more of {path} repeat a shard that counts once"]
        append(file, line(2))
    assert shards(path) == {0, 1, 2}


def test_a_shard_that_was_counted_otherwise_is_an_error(tmp_path: Path) -> None:
    class Other(Die):
        def problem(self) -> dict[str, object]:
            return FIRST.problem()

    path = written(tmp_path / "runs.jsonl", line(0), line(1), line(0, Other(law=(1.0, 0.0, 0.0))))
    with pytest.raises(InputError, match=r"line 3 of .* counts shard 0 otherwise"):
        RunFile(path)


def test_a_second_process_is_kept_out(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    script = (
        "from pathlib import Path; from losslesscheck.runs.file import RunFile\n"
        f"try: RunFile(Path({str(path)!r}))\n"
        "except ValueError as error: print(error)\n"
    )

    def other() -> str:
        return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout

    with RunFile(path) as file:
        assert other() == f"save: another process is running on {path}\n"
        append(file, line(0))
    assert other() == ""
    assert shards(path) == {0}


def test_a_file_that_someone_else_changes_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with RunFile(path) as file:
        append(file, line(0))
        with path.open("ab") as other:
            other.write(line(5))
        with pytest.raises(InputError, match="another process has changed"):
            append(file, line(1))
    assert shards(path) == {0, 5}


def test_a_full_disk_leaves_whole_rows(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with RunFile(path) as file:
        append(file, line(0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(line(0)) + 100, hard))
        try:
            with pytest.raises(InputError, match=r"cannot write .*: no space is left"):
                append(file, line(1))
            with pytest.raises(InputError, match="cannot write"):
                append(file, line(1))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert path.read_bytes() == written(tmp_path / "whole", line(0)).read_bytes()
        append(file, line(1))
    assert shards(path) == {0, 1}


def test_a_bad_path_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="save: there is no folder"):
        check_file(tmp_path / "nowhere" / "runs.jsonl")
    with pytest.raises(InputError, match=r"save: .* is no file"):
        check_file(tmp_path)
    with pytest.raises(InputError, match=r"save: .* is no file"):
        check_file(Path("/dev/null"))
    check_file(tmp_path / "runs.jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_write_protected_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "runs.jsonl", line(0))
    path.chmod(0o444)
    with pytest.raises(InputError, match="write-protected"):
        check_file(path)
