"""What is run on what, and what pytest says about it."""

from __future__ import annotations

from pathlib import Path
from statistics import median_low
from typing import Any

import numpy as np
import pytest

from losslesscheck import __version__
from losslesscheck.testing import conformance
from tests.testing.plugin.project import CHECKS, LAWS, check, content, outcomes

pytest_plugins = "pytester"

JSON = ("--losslesscheck-json", "r.json")


def test_a_correct_implementation_passes(project: pytest.Pytester) -> None:
    result = check(project, "kernels:verify", *JSON)
    found = [outcome for outcome, _ in outcomes().values()]
    passed, skipped = found.count("passed"), found.count("skipped")
    assert result.ret == 0
    assert passed > 40
    result.assert_outcomes(passed=passed, skipped=skipped)
    laws = {r["id"]: r["data"]["detectable_tv"] for r in content()["results"] if "detectable_tv" in r["data"]}
    usual = median_low(laws.values())
    summary = " ".join(result.outlines)
    assert f"{len(found)} checks: {passed} passed, {skipped} skipped." in summary
    assert f"for a bias of the first token of TV {usual:.2g} or more" in summary
    for name, tv in laws.items():
        assert tv <= 1.2 * usual or f"{name}: {tv:.2g}" in summary


def test_a_run_that_found_little_out_says_so(project: pytest.Pytester) -> None:
    result = check(project, "kernels:verify", "--losslesscheck-samples", "2", LAWS[0])
    summary = " ".join(result.outlines)
    assert (
        f"1 passed, {CHECKS - 1} not run. Too few steps to find even a bias of TV 1/2 in the laws" in summary
    )


def test_the_header_says_what_is_run_on_what(project: pytest.Pytester) -> None:
    result = check(project, "kernels:verify", "--losslesscheck-alpha", "1e-6", "-k", "interface")
    result.stdout.fnmatch_lines(
        [
            f"losslesscheck: {__version__}, kernels:verify",
            "  rule chain",
            f"  numpy {np.__version__}, float32, cpu (?*)",
            "  seed 0; a correct subject fails anything with probability at most 1.0e-06",
        ],
        consecutive=True,
    )


def test_the_header_names_the_rule_s_parameters(project: pytest.Pytester) -> None:
    result = check(project, "kernels:verify", "--losslesscheck-rule", "target_only", "--co")
    result.stdout.fnmatch_lines(["  rule target_only (threshold_single = 1, threshold_acc = 1)"])


def test_a_broken_implementation_fails_the_law(project: pytest.Pytester) -> None:
    result = check(project, "kernels:without_residual", *JSON, "losslesscheck::interface", *LAWS)
    assert result.ret == 1
    assert [outcome for outcome, _ in outcomes().values()] == ["passed", "failed", "failed", "passed"]
    result.stdout.fnmatch_lines(
        [
            "_* law[[]dense] _*",
            "without_residual does not reproduce the target's law.",
            "FAILED losslesscheck::law[[]dense]*",
        ]
    )
    assert "conformance" not in result.stdout.str()


def test_what_an_implementation_raises_is_shown_from_its_own_first_line(project: pytest.Pytester) -> None:
    result = check(project, "kernels:raising", "-k", "interface or dense")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "_* interface _*",
            "kernels.py:*: in raising",
            "kernels.py:*: in inner",
            "E   KeyError: 'no such kernel'",
            "raising raised KeyError: 'no such kernel'",
            "  in a batch of 128 rows with 2 draft tokens, V = 8, seed *. Seed 0.",
            "FAILED losslesscheck::interface - KeyError: 'no such kernel'",
        ]
    )
    assert "losslesscheck/testing" not in result.stdout.str()


def test_an_error_of_the_suite_is_no_verdict(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def perform(*arguments: Any) -> None:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(conformance, "perform", perform)
    Path("xfails.txt").write_text("interface\n")
    files = (*JSON, "--losslesscheck-xfails", "xfails.txt")
    check(project, "kernels:verify", "-k", "interface", *files).assert_outcomes(failed=1)
    assert outcomes() == {"interface": ("error", "line 1 of xfails.txt")}
    assert "a bug of ours" in content()["results"][0]["message"]


# What a subject may be


@pytest.mark.parametrize("subject", ["kernels:verify", "kernels.py:verify", "kernels:Verifier"])
def test_functions_and_classes_of_modules_and_files(project: pytest.Pytester, subject: str) -> None:
    check(project, subject, "-k", "interface").assert_outcomes(passed=1)


@pytest.mark.parametrize("options", [(), ("--losslesscheck-rule", "chain")], ids=["its rule", "a rule"])
def test_a_subject_says_itself_what_it_is(project: pytest.Pytester, options: tuple[str, ...]) -> None:
    result = check(project, "kernels:known", "-k", "interface", *options)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["  numpy * float64, cpu (?*)"])


def test_torch_implementations_get_tensors(project: pytest.Pytester) -> None:
    pytest.importorskip("torch")
    project.makepyfile(
        tensors="""
        import torch

        def refuse(target, draft, tokens, generator):
            assert target.dtype is torch.float16
            first = torch.multinomial(target[:, 0].float(), 1, generator=generator)
            return first, torch.zeros(len(first), dtype=torch.int64)
        """
    )
    facts = ("--losslesscheck-array", "torch", "--losslesscheck-dtype", "float16", *JSON)
    chosen = ("losslesscheck::interface", "losslesscheck::law[p = q]", "losslesscheck::acceptance[p = q]")
    result = check(project, "tensors.py:refuse", *facts, *chosen)
    assert [outcome for outcome, _ in outcomes().values()] == ["passed", "passed", "failed"]
    assert "torch" in content()["versions"]
    result.stdout.fnmatch_lines(["  torch *, float16, cpu (?*)"])


# Which items are run


def test_without_paths_only_the_suite_is_run(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\ntestpaths = .\n")
    result = check(project, "kernels:verify", "-k", "interface or own", "-v")
    result.assert_outcomes(passed=1, deselected=CHECKS - 1)
    result.stdout.fnmatch_lines(["losslesscheck::interface PASSED *"])
    result.stdout.no_fnmatch_line("testpaths*")


def test_with_paths_both_are_run(project: pytest.Pytester) -> None:
    result = check(project, "kernels:verify", "-k", "interface or own", "-v", "test_own.py")
    result.assert_outcomes(passed=2, deselected=CHECKS - 1)
    result.stdout.fnmatch_lines(["test_own.py::test_own PASSED *", "losslesscheck::interface PASSED *"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["losslesscheck::law[dense]"], ["law[dense]"]),
        (["losslesscheck::rows"], ["rows[alone]", "rows[permuted]", "rows[neighbours]"]),
        (["../losslesscheck::interface", "test_own.py"], ["interface"]),
    ],
    ids=["an item", "a check", "items and paths"],
)
def test_items_are_chosen_by_their_ids(
    project: pytest.Pytester, arguments: list[str], expected: list[str]
) -> None:
    result = check(project, "kernels:verify", *JSON, *arguments)
    assert list(outcomes()) == expected
    assert ("test_own.py ." in result.stdout.str()) == ("test_own.py" in arguments)


def test_statistical_checks_have_a_keyword(project: pytest.Pytester) -> None:
    listed = check(project, "kernels:verify", "--co", "-q", "-k", "statistical").outlines
    assert "losslesscheck::law[dense]" in listed
    assert "losslesscheck::interface" not in listed


def test_listed_checks_say_what_they_are_about(project: pytest.Pytester) -> None:
    result = check(project, "kernels:verify", "--co", "-v", *JSON)
    (law,) = (check for check in conformance.CHECKS if check.name == "law")
    result.stdout.fnmatch_lines(["<Suite losslesscheck>", "  <Check law[[]dense]>", f"    {law.about}"])
    assert not Path("r.json").exists()


def test_last_failed_checks_are_run_again(project: pytest.Pytester) -> None:
    check(project, "kernels:without_residual", "losslesscheck::interface", *LAWS)
    result = check(project, "kernels:without_residual", "--lf", "-v")
    result.assert_outcomes(failed=2, deselected=CHECKS - 2)
    result.stdout.fnmatch_lines(
        ["losslesscheck::law[[]dense] FAILED *", "losslesscheck::law[[]ties] FAILED *"]
    )


def test_a_run_that_stops_names_what_was_not_run(project: pytest.Pytester) -> None:
    result = check(project, "kernels:without_residual", "-x", *JSON, *LAWS)
    assert content()["exit_status"] == result.ret == pytest.ExitCode.TESTS_FAILED
    assert list(outcomes()) == ["law[dense]"]
    assert len(content()["not_run"]) == CHECKS - 1
    result.stdout.fnmatch_lines([f"{CHECKS} checks: 1 failed, {CHECKS - 1} not run."])


# Beside other tests


def test_without_a_subject_nothing_happens(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    project.makepyfile(
        test_own="""
        import sys

        def test_own(request):
            assert request.config.pluginmanager.has_plugin("losslesscheck")
            assert not {"numpy", "torch", "losslesscheck.testing"} & sys.modules.keys()
        """
    )
    result = project.runpytest_subprocess("-p", "losslesscheck", "--losslesscheck-xfails", "missing")
    result.assert_outcomes(passed=1)
    assert "losslesscheck" not in result.stdout.str().replace("plugins: losslesscheck", "")


def test_the_plugin_can_be_switched_off(project: pytest.Pytester) -> None:
    result = project.runpytest("-p", "no:losslesscheck", "--losslesscheck-subject", "kernels:verify")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unrecognized arguments: --losslesscheck-subject*"])
