"""The file of a run: a line for every shard, only ever appended to.

A process that is killed while it writes leaves at most a last line without its line feed. Such a line
is cut off before the next one is written; nothing else in the file is ever changed.
"""

from __future__ import annotations

import os
from io import FileIO
from pathlib import Path
from types import TracebackType

from losslesscheck.errors import InputError
from losslesscheck.runs.record import START, Row, decode
from losslesscheck.runs.source import Problem

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Place = tuple[int, int]
"""Where a line begins in the file, and how many bytes it has."""


class RunFile:
    """The rows of a file, which stays locked while it is open; a context manager.

    Rows of several problems may stand in one file. A shard that stands there twice is counted once.

    Attributes:
        problems: the problems of the rows, by hash.
        notes: what the user should know about the file, one line each.

    Raises:
        InputError: if it cannot be read or written, another process has it open, or a line is damaged
            or no row.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: dict[str, Problem] = {}
        self.notes: list[str] = []
        self._places: dict[str, dict[int, Place]] = {}
        self._end = 0
        check_path(path)
        try:
            self._file = FileIO(path, "a+")
        except OSError as error:
            raise InputError(f"save: cannot write {path}: {error.strerror}") from None
        try:
            self._lock()
            self._read()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RunFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file, which ends the lock."""
        self._file.close()

    def shards(self, problem: str) -> set[int]:
        """The shards of a problem, given by its hash, that stand in the file."""
        return set(self._places.get(problem, ()))

    def row(self, problem: str, shard: int) -> Row:
        """A shard's row."""
        start, length = self._places[problem][shard]
        self._file.seek(start)
        return decode(self._file.read(length))

    def append(self, row: Row, line: bytes) -> None:
        """Adds a row, whose line is ``line``, and returns when it is on the disk.

        Raises:
            InputError: if the disk is full, or someone else has written to the file.
        """
        try:
            if os.fstat(self._file.fileno()).st_size != self._size:
                raise InputError(f"save: another process has changed {self.path}")
            if self._size > self._end:
                self._file.truncate(self._end)
            if self._file.write(line) < len(line):
                self._file.truncate(self._end)
                raise InputError(f"save: cannot write {self.path}: no space is left")
            os.fsync(self._file.fileno())
        except OSError as error:
            raise InputError(f"save: cannot write {self.path}: {error.strerror}") from None
        self._add(row, (self._end, len(line)))

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"save: another process is running on {self.path}") from None
        except OSError:
            self.notes.append(
                f"{self.path} lies where files cannot be locked: see to it that no second process uses it"
            )

    def _read(self) -> None:
        self._file.seek(0)
        if not START.startswith(self._file.read(len(START))):  # it may be of any kind, and without lines
            raise InputError(f"save: line 1 of {self.path} is no row of a run")
        self._file.seek(0)
        repeated: list[tuple[int, Row]] = []
        with open(self._file.fileno(), "rb", closefd=False) as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    self._check_unfinished(number, line)
                    break
                row = self._decoded(number, line)
                if row.shard in self._places.get(row.hash, ()):
                    repeated.append((number, row))
                    self._end += len(line)
                else:
                    self._add(row, (self._end, len(line)))
        self._size = os.fstat(self._file.fileno()).st_size
        for number, row in repeated:
            if not row.same_counts(self.row(row.hash, row.shard)):
                raise InputError(f"save: line {number} of {self.path} counts shard {row.shard} otherwise")
        if repeated:
            more = f" and {len(repeated) - 1} more" if repeated[1:] else ""
            self.notes.append(f"line {repeated[0][0]}{more} of {self.path} repeat a shard that counts once")

    def _decoded(self, number: int, line: bytes) -> Row:
        try:
            return decode(line)
        except (ValueError, KeyError, TypeError) as error:
            why = str(error) if type(error) is ValueError else "is no row that this version reads"
            raise InputError(f"save: line {number} of {self.path} {why}") from None

    def _check_unfinished(self, number: int, line: bytes) -> None:
        """Only what can be the beginning of a row may be cut off."""
        written = line.rstrip(b"\0")  # what a power cut can leave at the end
        if not (written.startswith(START) or START.startswith(written)):
            raise InputError(f"save: line {number} of {self.path} is no row of a run")
        self.notes.append(f"line {number} of {self.path} was not written to its end and does not count")

    def _add(self, row: Row, place: Place) -> None:
        self.problems.setdefault(row.hash, row.problem)
        self._places.setdefault(row.hash, {})[row.shard] = place
        self._end = self._size = place[0] + place[1]


def check_path(path: Path) -> None:
    """Finds fault with a path before any work is done, without creating the file.

    Raises:
        InputError: if there is no such folder, or the file cannot be written.
    """
    folder = path.resolve().parent
    if not folder.is_dir():
        raise InputError(f"save: there is no folder {folder}")
    if path.exists() and not path.is_file():
        raise InputError(f"save: {path} is no file")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"save: cannot write {path}: it is write-protected")


def check_file(path: Path) -> None:
    """Finds fault with a path and with the file that may be there, before any work is done.

    Raises:
        InputError: as ``RunFile`` does.
    """
    check_path(path)
    if path.exists():
        RunFile(path).close()
