"""Work under a time and a memory budget.

A proof can need any amount of either, and the libraries underneath cannot be interrupted from
Python. So the work runs in a forked child, which is ended from outside when a budget is used up.
Where the platform cannot fork, the work runs in this process without limits.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, TypeVar

from losslesscheck.errors import BudgetExceeded, InputError, LosslesscheckError

try:
    import resource
except ImportError:  # Windows has no fork either: no limits there
    resource = None  # type: ignore[assignment]

T = TypeVar("T")

RECURSION = 20_000
"""Frames that the work may stack up: a wide and deep tree is walked by recursion."""

_POLL = 0.05
_GRACE = 1.0

_MOST_SAID = 16 << 20
"""Bytes that the work may write; a rule that prints for ever must not fill the disk."""

_MOST_SHOWN = 64 << 10


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for one piece of work.

    Attributes:
        seconds: wall time.
        memory: bytes of resident memory, beyond what the process holds at the start.

    Raises:
        InputError: if one of them is no positive number.
    """

    seconds: float = 60.0
    memory: int = 2 << 30

    def __post_init__(self) -> None:
        for name, value in (("seconds", self.seconds), ("memory", self.memory)):
            if not 0 < value < float("inf"):
                raise InputError(f"{name}: {value} is not a positive number")

    def run(self, work: Callable[[], T], tick: Callable[[float], None] | None = None) -> T:
        """The result of ``work``, which must be picklable.

        Args:
            tick: called with the seconds gone by, every now and then, while the work runs.

        Raises:
            BudgetExceeded: naming the budget.
            LosslesscheckError: if the work raised one.
            WorkFailed: if it raised anything else, with its traceback.
        """
        if "fork" not in multiprocessing.get_all_start_methods():
            return work()
        with tempfile.TemporaryFile() as said:
            return self._run(work, tick, said)

    def _run(self, work: Callable[[], T], tick: Callable[[float], None] | None, said: IO[bytes]) -> T:
        receiver, sender = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=self._serve, args=(work, sender, said))
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # idle BLAS threads are no harm here
            child.start()
        sender.close()
        try:
            result: T = self._await(child, receiver, tick)
            return result
        finally:
            receiver.close()
            child.join(_GRACE)  # a child that has handed over its result still writes out what it said
            if child.is_alive():
                child.kill()
                child.join()
            if child.exitcode == 0:  # what a dying library says is no news: the error says it in words
                said.seek(0)
                sys.stderr.write(said.read(_MOST_SHOWN).decode(errors="replace"))

    def _await(
        self,
        child: multiprocessing.process.BaseProcess,
        receiver: Connection,
        tick: Callable[[float], None] | None,
    ) -> Any:
        start = time.monotonic()
        base = _resident(child.pid)
        while not receiver.poll(_POLL):
            elapsed = time.monotonic() - start
            if elapsed > self.seconds:
                child.kill()
                raise BudgetExceeded(f"the time budget of {self.seconds:g} s is used up")
            if _resident(child.pid) - base > self.memory:
                child.kill()
                raise BudgetExceeded(self._out_of_memory)
            if tick is not None:
                tick(elapsed)
        try:
            kind, value = receiver.recv()
        except EOFError:
            child.join()
            raise BudgetExceeded(
                f"the work was ended by signal {-(child.exitcode or 0)} "
                f"under a memory budget of {_gibibytes(self.memory)}"
            ) from None
        if kind == "result":
            return value
        if kind == "memory":
            raise BudgetExceeded(self._out_of_memory)
        raise value

    @property
    def _out_of_memory(self) -> str:
        return f"the memory budget of {_gibibytes(self.memory)} is used up"

    def _serve(self, work: Callable[[], Any], sender: Connection, said: IO[bytes]) -> None:
        for descriptor in (1, 2):  # standard output belongs to the parent's report
            os.dup2(said.fileno(), descriptor)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))
        _limit_memory(self.memory)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        if hard == resource.RLIM_INFINITY or hard > _MOST_SAID:
            resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_SAID, hard))
        try:
            message: tuple[str, Any] = ("result", work())
        except MemoryError:
            message = ("memory", None)
        except LosslesscheckError as error:
            message = ("error", error.with_traceback(None))
        except BaseException as error:
            message = ("error", WorkFailed(f"{type(error).__name__}: {error}", traceback.format_exc()))
        try:
            sender.send(message)
        except Exception as error:
            sender.send(("error", WorkFailed(f"the result cannot be handed back: {error}")))
        sender.close()
        sys.stdout.flush()
        sys.stderr.flush()


class WorkFailed(LosslesscheckError):
    """The work raised something unforeseen; ``details`` is its traceback."""

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message, details)
        self.message, self.details = message, details

    def __str__(self) -> str:
        return self.message


def _limit_memory(memory: int) -> None:
    """A backstop behind the polling: the kernel refuses what goes far beyond the budget."""
    try:
        held = int(Path("/proc/self/status").read_text().split("VmData:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        return
    limit = held + memory + memory // 4
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _resident(pid: int | None) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * resource.getpagesize()


def _gibibytes(memory: int) -> str:
    return f"{memory / (1 << 30):g} GiB"
