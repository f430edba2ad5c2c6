"""Coq, as it is installed here: compiling theories, asking it about them, rechecking what it compiled."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from losslesscheck.errors import LosslesscheckError, NotInstalled

LIBRARY = "Losslesscheck"
"""The logical name of the theories' folder."""

KNOWN_COQ, KNOWN_MATHCOMP = "8.16.1", "1.15.0"
"""The versions that the theories are written for; others may reject them."""

INSTALL = (
    f"Coq {KNOWN_COQ} with MathComp {KNOWN_MATHCOMP} is not installed here: "
    "`apt-get install coq libcoq-mathcomp-algebra` on Debian 12, or "
    f"`opam install coq.{KNOWN_COQ} coq-mathcomp-algebra.{KNOWN_MATHCOMP}`"
)

SECONDS = 600
"""How long one run of Coq may take."""

_REQUIRED = re.compile(rf"^From {LIBRARY} Require (?:Import|Export) ([^.]+)\.", re.MULTILINE)


class CoqError(LosslesscheckError):
    """Coq rejects a theory; the message is Coq's, in a few lines."""


@dataclass(frozen=True)
class Coq:
    """An installed Coq.

    Attributes:
        coqc, coqchk: the compiler and the independent checker of what it compiles.
        version: of Coq, such as ``8.16.1``.
        mathcomp: of MathComp as the system's packages give it, or ``unknown``.
    """

    coqc: str
    coqchk: str
    version: str
    mathcomp: str

    def compile(self, folder: Path, theories: Sequence[str] = ()) -> dict[str, float]:
        """Compiles the theories in ``folder``, several at once where they do not need one another.

        Args:
            folder: holds the ``.v`` files, and gets what Coq makes of them.
            theories: which ones, with all that they need; all by default.

        Returns:
            Theory → seconds.

        Raises:
            CoqError: if Coq rejects one, or they need one another in a circle.
        """
        needs = _with_needed(folder, theories or [path.stem for path in sorted(folder.glob("*.v"))])
        seconds: dict[str, float] = {}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            running: dict[Future[float], str] = {}
            while len(seconds) < len(needs):
                for theory, needed in needs.items():
                    if needed <= seconds.keys() and theory not in {*seconds, *running.values()}:
                        running[pool.submit(self._compile, folder, theory)] = theory
                if not running:
                    left = ", ".join(sorted(needs.keys() - seconds.keys()))
                    raise CoqError(f"{left}: the theories need one another in a circle")
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    seconds[running.pop(done)] = done.result()
        return seconds

    def _compile(self, folder: Path, theory: str) -> float:
        start = perf_counter()
        _run([self.coqc, *_OPTIONS, f"{theory}.v"], folder)
        return perf_counter() - start

    def evaluate(self, folder: Path, text: str, name: str = "query") -> str:
        """What Coq prints for ``text``, a file that may use the compiled theories in ``folder``."""
        path = folder / f"{name}.v"
        path.write_text(text, encoding="utf-8")
        try:
            return _run([self.coqc, *_OPTIONS, path.name], folder)
        finally:
            for left in folder.glob(f"*{name}.*"):
                left.unlink()

    def recheck(self, folder: Path, theories: Sequence[str], *, thorough: bool = False) -> list[str]:
        """What ``coqchk``, a separate program, finds that the compiled theories take on trust.

        These are axioms, and definitions for which Coq was told to skip a check.

        Args:
            thorough: recheck MathComp and Coq's own library too (more than a minute); otherwise they
                are taken as they are, and only what the theories themselves assume is returned.

        Raises:
            CoqError: if it rejects a theory.
        """
        modules = [f"{LIBRARY}.{theory}" for theory in theories]
        chosen = modules if thorough else [part for m in modules for part in ("-norec", m)]
        printed = _run([self.coqchk, "-silent", "-o", "-Q", ".", LIBRARY, *chosen], folder)
        sections = re.findall(r"^\* ([^:\n]+):(.*(?:\n(?!\*).*)*)", printed, re.MULTILINE)
        if len(sections) < 5:
            raise CoqError(f"coqchk printed no summary: {_last_lines(printed)}")
        return [
            f"{title}: {name}"
            for title, listed in sections
            for name in map(str.strip, listed.splitlines())
            if title != "Theory" and name not in ("", "<none>")
            # What MathComp seals in modules is not looked into, and looks like an axiom.
            if thorough or title != "Axioms" or name.startswith(f"{LIBRARY}.")
        ]


_OPTIONS = ("-w", "none", "-Q", ".", LIBRARY)


def find() -> Coq:
    """The Coq of this machine.

    Raises:
        NotInstalled: if it, or MathComp, is missing.
    """
    coqc, coqchk = shutil.which("coqc"), shutil.which("coqchk")
    if coqc is None or coqchk is None:
        raise NotInstalled(INSTALL)
    try:
        version = _run([coqc, "--print-version"], Path.cwd()).split()[0]
    except (CoqError, IndexError) as error:
        raise NotInstalled(f"coqc does not run: {error}") from None
    found = Coq(coqc, coqchk, version, _mathcomp_version())
    with tempfile.TemporaryDirectory(prefix="losslesscheck-") as folder:
        try:
            found.evaluate(Path(folder), "From mathcomp Require all_algebra.\n")
        except CoqError:
            raise NotInstalled(INSTALL) from None
    return found


def _mathcomp_version() -> str:
    if shutil.which("dpkg-query"):
        found = subprocess.run(
            ["dpkg-query", "--showformat=${Version}", "--show", "libcoq-mathcomp-algebra"],
            capture_output=True,
            text=True,
            check=False,
        )
        if found.returncode == 0:
            return found.stdout.split("-")[0]
    return "unknown"


def _with_needed(folder: Path, theories: Sequence[str]) -> dict[str, set[str]]:
    """The theories and all that they need, each with what it needs at once."""
    needs: dict[str, set[str]] = {}
    waiting = list(theories)
    while waiting:
        theory = waiting.pop()
        if theory not in needs:
            try:
                text = (folder / f"{theory}.v").read_text(encoding="utf-8")
            except OSError:
                raise CoqError(f"{theory}.v: there is no such theory") from None
            needs[theory] = {name for line in _REQUIRED.findall(text) for name in line.split()}
            waiting += needs[theory]
    return needs


def _run(command: Sequence[str], folder: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise CoqError(f"{' '.join(command[-1:])}: not done after {SECONDS} s") from None
    except OSError as error:
        raise CoqError(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise CoqError(_last_lines(done.stderr or done.stdout))
    return done.stdout + done.stderr  # coqchk prints its summary as if it were an error


def _last_lines(text: str, count: int = 6) -> str:
    return "\n".join(text.strip().splitlines()[-count:])
