"""The suite as pytest sees it: a collector ``losslesscheck`` with an item for every check."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from losslesscheck import testing
from losslesscheck.testing import conformance
from losslesscheck.testing.subject import Subject, SubjectError

NODE = "losslesscheck"
"""The node id of the suite; a check's is ``losslesscheck::law[dense]``."""

CALLERS = tuple(Path(testing.__path__[0], name) for name in ("conformance", "subject.py"))
"""What a subject is called from."""


class CheckFailed(Exception):
    """A check of the suite failed; its message says all."""


class Suite(pytest.Collector):
    """The conformance suite on one subject.

    Args:
        subject, settings: see ``losslesscheck.testing.conformance``.
        checks: what is to be run.
        xfails: reasons of expected failures, by the item's id.
        source: file and line of the subject, where they are known.
    """

    def __init__(
        self,
        *,
        subject: Subject,
        settings: conformance.Settings,
        checks: Sequence[conformance.Item],
        xfails: Mapping[str, str],
        source: tuple[Path, int] | None,
        **node: Any,
    ) -> None:
        super().__init__(**node)
        self.subject = subject
        self.settings = settings
        self.checks = checks
        self.xfails = xfails
        self.source = source or (self.config.rootpath, 1)

    def collect(self) -> Iterable[pytest.Item]:
        for check in self.checks:
            # An id that is given as a string is parsed as the ones that --lf remembers are.
            yield Check.from_parent(self, name=check.id, nodeid=f"{NODE}::{check.id}", item=check, suite=self)


class Check(pytest.Item):
    """One check on one case."""

    def __init__(self, *, item: conformance.Item, suite: Suite, **node: Any) -> None:
        super().__init__(**node)
        self.item = item
        self.suite = suite
        self.obj = SimpleNamespace(__doc__=item.check.about)  # what --collect-only -v prints
        self.result: dict[str, Any] | None = None
        self.xfail = suite.xfails.get(item.id)
        if item.check.statistical:
            self.extra_keyword_matches.add("statistical")
        if item.skip:
            self._record("skipped", item.skip, 0.0, {})
            self.add_marker(pytest.mark.skip(reason=item.skip))
        elif self.xfail is not None:
            self.add_marker(pytest.mark.xfail(reason=self.xfail, raises=CheckFailed, strict=True))

    def runtest(self) -> None:
        cause: BaseException | None = None

        def function(trial: Any) -> Mapping[str, Any]:
            nonlocal cause
            try:
                return self.item.check.function(trial)
            except SubjectError as error:
                cause = error.__cause__
                raise

        item = replace(self.item, check=replace(self.item.check, function=function))
        result = conformance.perform(item, self.suite.subject, self.suite.settings)
        self._record(result.outcome, result.message, result.seconds, result.data)
        if result.outcome == "skipped":
            pytest.skip(result.message)
        if result.outcome == "failed":
            raise CheckFailed(result.message) from cause

    def _record(self, outcome: str, message: str, seconds: float, data: Mapping[str, Any]) -> None:
        self.result = {
            "id": self.item.id,
            "outcome": outcome,
            "message": message,
            "seconds": seconds,
            "data": dict(data),
            "xfail": self.xfail,
        }
        self.user_properties += [(f"losslesscheck.{name}", as_text(value)) for name, value in data.items()]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, CheckFailed):
            excinfo.traceback = excinfo.traceback.cut(path=__file__)  # from here on, without pytest's
            return super().repr_failure(excinfo, style)
        if excinfo.value.__cause__ is not None:
            raised = pytest.ExceptionInfo.from_exception(without_ours(excinfo.value.__cause__))
            style = self.config.getoption("tbstyle", "auto")
            shown: Any = super().repr_failure(raised, "short" if style == "auto" else style)
            shown.addsection("losslesscheck", str(excinfo.value))
            return shown
        shown = excinfo.getrepr(style="value")
        crash = shown.reprcrash
        assert crash is not None
        path, crash.lineno = self.suite.source
        crash.path, crash.message = str(path), str(excinfo.value).partition("\n")[0]
        return shown

    def reportinfo(self) -> tuple[Path, int, str]:
        path, line = self.suite.source
        return path, line - 1, self.name


def as_text(value: Any) -> str:
    """A value as a property of JUnit's XML has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def without_ours(error: BaseException) -> BaseException:
    """What a subject raised, its traceback beginning where the suite called it."""
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None and is_ours(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return error.with_traceback(frames)


def is_ours(file: str) -> bool:
    return any(file.startswith(str(place)) for place in CALLERS)
