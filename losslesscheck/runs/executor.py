"""Where shards are computed: other processes, a Dask cluster, this process, or any executor."""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import os
import re
import signal
import socket
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from losslesscheck.errors import InputError
from losslesscheck.machines.monte_carlo.sampling import cores

CONNECT = 10.0
"""Seconds to wait for a Dask scheduler."""

MOST_PROCESSES = 1024

Job = Callable[..., bytes]


class Workers(ABC):
    """What shards are handed to.

    Attributes:
        label: what reports call it.
        window: how many shards to hand over at a time, so that no worker waits for the next one.
        lost: the errors that say that a worker is gone and its shard must be run again.
    """

    label: str
    window: int
    lost: tuple[type[BaseException], ...] = (BrokenExecutor, CancelledError)

    @abstractmethod
    def submit(self, job: Job, *arguments: Any) -> Future[bytes]:
        """Has a shard computed."""

    def renew(self) -> bool:
        """Makes up for workers that are gone; whether shards can be handed over again.

        Afterwards what they were at work on is done, if only with an error.
        """
        return False

    def close(self) -> None:  # noqa: B027
        """Drops what has not been computed."""


class Processes(Workers):
    """A pool of processes, which end when this one does, however it ends."""

    def __init__(self, count: int) -> None:
        self.label, self.window, self._count = f"processes:{count}", 2 * count, count
        self._start()

    def _start(self) -> None:
        # Spawned processes inherit neither the lock on the run's file nor threads in the middle of something.
        context = multiprocessing.get_context("spawn")
        kept, self._lifeline = context.Pipe(duplex=False)
        self._kept = kept
        self._pool = ProcessPoolExecutor(self._count, context, _begin, (kept,))

    def submit(self, job: Job, *arguments: Any) -> Future[bytes]:
        return self._pool.submit(job, *arguments)

    def renew(self) -> bool:
        self.close()
        self._start()
        return True

    def close(self) -> None:
        self._lifeline.close()
        self._kept.close()
        self._pool.shutdown(cancel_futures=True)


def _begin(lifeline: Connection) -> None:
    """Makes a process of the pool quiet, deaf to Ctrl-C, and end when ``lifeline`` is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it goes to all processes; the first one sees to it
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # standard output belongs to the report

    def watch() -> None:
        with contextlib.suppress(EOFError, OSError):
            lifeline.recv_bytes()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Dask(Workers):
    """The workers of a Dask cluster, through ``Client.get_executor``."""

    def __init__(self, address: str) -> None:
        import distributed
        from distributed.comm import CommClosedError

        try:
            self._client = distributed.Client(address, timeout=CONNECT)
        except (OSError, ValueError) as error:
            raise InputError(f"executor: no Dask scheduler answers at {address}: {error}") from None
        self.label = f"dask://{address}"
        self.window = 2 * max(sum(self._client.nthreads().values()), 8)
        self.lost = (CancelledError, distributed.KilledWorker, CommClosedError)
        self._executor = self._client.get_executor(pure=False)

    def submit(self, job: Job, *arguments: Any) -> Future[bytes]:
        future: Future[bytes] = self._executor.submit(job, *arguments)
        return future

    def renew(self) -> bool:
        return bool(self._client.status == "running")

    def close(self) -> None:
        self._executor.shutdown(wait=False)
        self._client.close()


class Given(Workers):
    """An executor of the user's own, which stays the user's."""

    window = 64

    def __init__(self, executor: Executor) -> None:
        self.label, self._executor = type(executor).__name__, executor

    def submit(self, job: Job, *arguments: Any) -> Future[bytes]:
        return self._executor.submit(job, *arguments)


class Serial(Workers):
    """This process, one shard after the other."""

    label, window = "serial", 1

    def submit(self, job: Job, *arguments: Any) -> Future[bytes]:
        future: Future[bytes] = Future()
        with contextlib.redirect_stdout(sys.stderr):
            future.set_result(job(*arguments))
        return future


def check_executor(wanted: str | Executor) -> None:
    """Finds fault with what ``workers`` is to be given, before any work is done.

    Raises:
        InputError: if it names no executor, or nothing listens at a scheduler's address.
    """
    if isinstance(wanted, Executor):
        return
    kind, address = _parsed(wanted)
    if kind != "dask":
        return
    if importlib.util.find_spec("distributed") is None:
        raise InputError("executor: dask:// needs dask.distributed: pip install 'losslesscheck[distributed]'")
    host, _, port = str(address).rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECT).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"executor: no Dask scheduler answers at {address}: {error}") from None


@contextlib.contextmanager
def workers(wanted: str | Executor) -> Iterator[Workers]:
    """``serial``, ``processes``, ``processes:4``, ``dask://HOST:PORT`` or an executor, ready to be used.

    Raises:
        InputError: as ``check_executor`` does.
    """
    check_executor(wanted)
    made: Workers
    if isinstance(wanted, Executor):
        made = Given(wanted)
    else:
        kind, value = _parsed(wanted)
        made = Serial() if kind == "serial" else Dask(value) if kind == "dask" else Processes(int(value))
    try:
        yield made
    finally:
        made.close()


def _parsed(wanted: str) -> tuple[str, str]:
    """The kind of executor, and how many processes or which address."""
    if wanted == "serial":
        return "serial", ""
    if wanted == "processes":
        return "processes", str(cores())
    if match := re.fullmatch(r"processes:([1-9]\d{0,3})", wanted):
        if int(match[1]) <= MOST_PROCESSES:
            return "processes", match[1]
    elif match := re.fullmatch(r"dask://([^/\s]+:\d+)", wanted):
        return "dask", match[1]
    raise InputError(f"executor: {wanted!r} is none of processes, processes:4, serial and dask://HOST:PORT")
