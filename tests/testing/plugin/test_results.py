"""Expected failures, and results as JSON and as JUnit's XML."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from losslesscheck import __version__
from losslesscheck.testing.plugin.items import as_text
from tests.testing.plugin.project import CHECKS, LAWS, QUICK, check, content, outcomes, properties

pytest_plugins = "pytester"

FILES = ("--losslesscheck-json", "r.json", "--junitxml", "r.xml")


def expecting(project: pytest.Pytester, *lines: str) -> pytest.RunResult:
    Path("xfails.txt").write_text("\n".join(lines))
    chosen = ("--losslesscheck-xfails", "xfails.txt", "losslesscheck::interface", *LAWS)
    return check(project, "kernels:without_residual", "-rfx", *FILES, *chosen)


def test_expected_failures_are_none(project: pytest.Pytester) -> None:
    result = expecting(project, "# known", "", "law[dense]  # biased", "law[ties]")
    assert result.ret == 0
    result.assert_outcomes(passed=2, xfailed=2)
    result.stdout.fnmatch_lines(
        [
            f"{CHECKS} checks: 2 passed, 2 failed as expected, {CHECKS - 4} not run.*",
            "XFAIL losslesscheck::law[[]dense] - biased",
            "XFAIL losslesscheck::law[[]ties] - line 4 of xfails.txt",
        ]
    )
    assert outcomes()["law[dense]"] == ("failed", "biased")
    assert outcomes()["law[p = q]"] == ("passed", None)


def test_a_check_s_name_stands_for_all_its_cases(project: pytest.Pytester) -> None:
    result = expecting(project, "law  # biased", "law[ties]  # very biased")
    result.assert_outcomes(passed=1, xfailed=2, failed=1)  # p = q passes
    assert outcomes() == {
        "interface": ("passed", None),
        "law[dense]": ("failed", "biased"),
        "law[ties]": ("failed", "very biased"),
        "law[p = q]": ("passed", "biased"),
    }


def test_an_expected_failure_that_passes_is_a_failure(project: pytest.Pytester) -> None:
    result = expecting(project, "interface  # long mended", "law[dense]")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["_* interface _*", "[[]XPASS(strict)] long mended"])
    assert outcomes()["interface"] == ("passed", "long mended")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["interface", "lav[dense] # x"], "line 2: there is no check 'lav[dense]'; did you mean law[dense]?"),
        (["law[*]"], "line 1: there is no check 'law[*]'*"),
        (["law", "law # again"], "line 2: law is there twice"),
    ],
    ids=["unknown", "a pattern", "twice"],
)
def test_a_bad_list_of_expected_failures_is_refused(
    project: pytest.Pytester, lines: list[str], message: str
) -> None:
    result = expecting(project, *lines)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    escaped = message.replace("[", "[[]")
    result.stderr.fnmatch_lines([f"ERROR: losslesscheck: xfails: xfails.txt, {escaped}"])
    assert not Path("r.json").exists()


def test_results_as_json(project: pytest.Pytester) -> None:
    options = ("--losslesscheck-seed", "7", "--losslesscheck-alpha", "1e-6", "--losslesscheck-min-tv", ".02")
    check(project, "kernels:without_residual", *FILES, *options, *LAWS)
    found = content()
    law = found.pop("results")[0]
    assert found.pop("device_name")
    assert len(found.pop("rule_hash")) == 64
    assert len(found.pop("not_run")) == CHECKS - 3
    assert found.pop("false_alarm") == pytest.approx(1e-6)
    versions = found.pop("versions")
    versions.pop("torch", None)
    assert versions == {
        "losslesscheck": __version__,
        "numpy": np.__version__,
        "python": sys.version.split()[0],
    }
    assert found == {
        "format": 1,
        "subject": "kernels:without_residual",
        "rule": "chain",
        "parameters": {},
        "array": "numpy",
        "dtype": "float32",
        "device": "cpu",
        "seed": 7,
        "settings": {"alpha": 1e-6, "min_tv": 0.02, "samples": 4000, "seed": 7},
        "exit_status": 1,
    }
    assert law["message"].startswith("without_residual does not reproduce the target's law.")
    assert (law["id"], law["outcome"], law["data"]["steps"]) == ("law[dense]", "failed", 4000)
    assert law["seconds"] > 0


def test_results_replace_those_of_an_earlier_run(project: pytest.Pytester) -> None:
    Path("r.json").write_text("an earlier run's")
    check(project, "kernels:verify", *FILES, "-k", "interface")
    assert outcomes() == {"interface": ("passed", None)}
    assert not list(Path().glob("*.partial"))


def test_results_as_junit_properties(project: pytest.Pytester) -> None:
    check(project, "kernels:without_residual", *FILES, "losslesscheck::interface", *LAWS)
    (suite,) = ElementTree.parse("r.xml").getroot()
    facts = properties(suite)
    assert facts["losslesscheck.subject"] == "kernels:without_residual"
    assert json.loads(facts["losslesscheck.versions"]) == content()["versions"]
    cases = {case.attrib["name"]: case for case in suite.iter("testcase")}
    assert list(cases) == list(outcomes())
    for result in content()["results"]:
        data = {f"losslesscheck.{name}": as_text(value) for name, value in result["data"].items()}
        assert properties(cases[result["id"]]) == data
    failure = cases["law[dense]"].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "without_residual does not reproduce the target's law."
    assert "e-value" in (failure.text or "")


def test_results_come_together_from_several_processes(project: pytest.Pytester) -> None:
    """One of the processes dies on the way."""
    Path("xfails.txt").write_text("law[dense] # known\n")
    options = (*FILES, "-n", "2", "--losslesscheck-xfails", "xfails.txt")
    chosen = ("losslesscheck::vocabulary[50]", *LAWS)
    result = project.runpytest_subprocess(
        *QUICK, "--losslesscheck-subject", "kernels.py:deadly", *options, *chosen
    )
    assert content()["exit_status"] == result.ret == 1
    assert outcomes() == {
        "vocabulary[50]": ("error", None),
        "law[dense]": ("failed", "known"),
        "law[ties]": ("failed", None),
        "law[p = q]": ("passed", None),
    }
    died, _, biased, _ = content()["results"]
    assert "crashed while running" in died["message"]
    law = next(c for c in ElementTree.parse("r.xml").iter("testcase") if c.attrib["name"] == "law[ties]")
    assert properties(law)["losslesscheck.steps"] == str(biased["data"]["steps"]) == "4000"
    result.stdout.fnmatch_lines(
        [
            "losslesscheck: *, kernels.py:deadly",
            "deadly does not reproduce the target's law.",
            f"{CHECKS} checks: 1 passed, 1 failed, 1 failed as expected, 1 error, {CHECKS - 4} not run. *",
        ]
    )
