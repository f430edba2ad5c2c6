"""The plugin's hooks in a run that was asked for: header, items, results, summary."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from statistics import median_low
from typing import Any

import pytest
from _pytest.junitxml import xml_key

from losslesscheck.errors import InputError
from losslesscheck.testing import conformance
from losslesscheck.testing.experiment import POWER
from losslesscheck.testing.plugin import named, record, xfails
from losslesscheck.testing.plugin.items import NODE, Check, Suite, as_text

OUTCOMES = ("passed", "failed", "failed as expected", "error", "skipped", "not run")

_OURS = re.compile(rf"(?:.*[/\\])?{NODE}::(.+)")


class Run:
    """The conformance suite on one subject in one pytest session.

    Raises:
        InputError: for bad options, before anything is run.
    """

    def __init__(self, config: pytest.Config) -> None:
        option = config.option
        facts = {
            name: value
            for name in ("array", "dtype", "device")
            if (value := config.getoption(f"losslesscheck_{name}")) is not None
        }
        self.subject = named.load(option.losslesscheck_subject, rule=option.losslesscheck_rule, **facts)
        self.settings = conformance.Settings(
            **{
                name: value
                for name in ("alpha", "min_tv", "samples", "seed")
                if (value := config.getoption(f"losslesscheck_{name}")) is not None
            }
        )
        self.items = conformance.items(self.subject, self.settings)
        self.xfails: dict[str, str] = {}
        if option.losslesscheck_xfails is not None:
            self.xfails = xfails.read(Path(option.losslesscheck_xfails), self.items)
        self.json = None if option.losslesscheck_json is None else Path(option.losslesscheck_json).absolute()
        if self.json is not None:
            record.require_writable(self.json)
        self.facts = record.facts(option.losslesscheck_subject, self.subject, self.settings)
        self.chosen = self._choose(config)
        self.results: dict[str, dict[str, Any]] = {}

    def _choose(self, config: pytest.Config) -> Sequence[conformance.Item]:
        """The items that are to be run; takes what names them out of pytest's own arguments."""
        given = [_OURS.fullmatch(argument) for argument in config.option.file_or_dir]
        if not config.option.file_or_dir:
            config.args_source = pytest.Config.ArgsSource.ARGS  # so that no testpaths are announced
            config.args = []
            return self.items
        names = [match[1] for match in given if match]
        config.args = [argument for argument in config.args if not _OURS.fullmatch(argument)]
        if not names:
            return self.items
        for name in names:
            if not any(name in (item.id, item.check.name) for item in self.items):
                raise InputError(f"there is no check {name!r}")
        return [item for item in self.items if item.id in names or item.check.name in names]

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        junit = session.config.stash.get(xml_key, None)
        if junit is not None:
            for name, value in self.facts.items():
                junit.add_global_property(f"losslesscheck.{name}", as_text(value))

    def pytest_report_header(self) -> list[str]:
        facts = self.facts
        parameters = ", ".join(f"{name} = {value}" for name, value in facts["parameters"].items())
        versions = facts["versions"]
        return [
            f"losslesscheck: {versions['losslesscheck']}, {facts['subject']}",
            f"  rule {facts['rule']}" + (f" ({parameters})" if parameters else ""),
            f"  {facts['array']} {versions[facts['array']]}, {facts['dtype']}, {facts['device']} "
            f"({facts['device_name']})",
            f"  seed {facts['seed']}; a correct subject fails anything with probability at most "
            f"{facts['false_alarm']:.1e}",
        ]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        if isinstance(collector, pytest.Session):
            suite = Suite.from_parent(
                collector,
                name=NODE,
                nodeid=NODE,
                subject=self.subject,
                settings=self.settings,
                checks=self.chosen,
                xfails=self.xfails,
                source=named.defined_at(self.subject.function),
            )
            report.result.append(suite)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if isinstance(item, Check):
            # Attributes of a report travel from xdist's workers to the controller.
            report.__dict__["losslesscheck"] = json.dumps(item.result)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        match = _OURS.fullmatch(report.nodeid)
        if match is None:
            return
        result = json.loads(getattr(report, "losslesscheck", "null"))
        if result is None and report.failed:  # no verdict: an error of ours, or a worker that died
            crash = getattr(report.longrepr, "reprcrash", None)
            message = report.longreprtext.strip() if crash is None else crash.message
            result = {"id": match[1], "outcome": "error", "message": message, "seconds": report.duration}
            result |= {"data": {}, "xfail": self.xfails.get(match[1])}
        if result is not None:
            self.results[match[1]] = result

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        config = session.config
        if hasattr(config, "workerinput") or config.option.collectonly or self.json is None:
            return
        results = [self.results[item.id] for item in self.items if item.id in self.results]
        missing = [item.id for item in self.items if item.id not in self.results]
        status = {"exit_status": int(exitstatus), "not_run": missing}
        record.write(self.json, {**self.facts, **status, "results": results})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.results:
            terminalreporter.section("losslesscheck")
            terminalreporter.write_line(textwrap.fill(self.summary(), width=80))

    def summary(self) -> str:
        """What came of the checks, and the smallest bias that every law that passed would have shown."""
        outcomes = Counter(
            "failed as expected" if r["outcome"] == "failed" and r["xfail"] else r["outcome"]
            for r in self.results.values()
        )
        outcomes["not run"] = len(self.items) - len(self.results)
        counted = ", ".join(f"{outcomes[name]} {name}" for name in OUTCOMES if outcomes[name])
        text = f"{len(self.items)} checks: {counted}."
        found = {
            result["id"]: result["data"]["detectable_tv"]
            for result in self.results.values()
            if result["outcome"] == "passed" and "detectable_tv" in result["data"]
        }
        rule = self.subject.rule
        if not found or (rule is not None and rule.greedy):  # greedy decoding throws no coins
            return text
        shown = median_low(found.values())
        if shown == 1:  # see statistics.detectable_tv
            return f"{text} Too few steps to find even a bias of TV 1/2 in the laws that passed."
        laws = "The law that passed" if len(found) == 1 else f"The {len(found)} laws that passed"
        slower = [f"{name}: {tv:.2g}" for name, tv in found.items() if tv > 1.2 * shown]
        return (
            f"{text} {laws} would have failed, with probability {POWER:g}, for a bias of the first token "
            f"of TV {shown:.2g} or more" + (f" ({', '.join(slower)})." if slower else ".")
        )
