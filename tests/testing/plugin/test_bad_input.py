"""Bad input ends the run before anything is run, with one line and the status of a usage error."""

from __future__ import annotations

import pytest

from tests.testing.plugin.project import QUICK, check, content

pytest_plugins = "pytester"

JSON = ("--losslesscheck-json", "r.json")


def refused(result: pytest.RunResult, message: str) -> None:
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: losslesscheck: {message}"])
    assert [line for line in result.errlines if line] == result.errlines[:1]
    assert "test_own" not in result.stdout.str()


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("kernels", "subject: 'kernels' is neither pkg.module:object nor path/to/file.py:object"),
        ("nowhere:verify", "subject: there is no module 'nowhere'"),
        ("kernels.nowhere:verify", "subject: there is no module 'kernels.nowhere'"),
        ("nowhere.py:verify", "subject: there is no file 'nowhere.py'"),
        ("kernels:nothing", "subject: there is no 'nothing' in kernels"),
        ("kernels:constant", "subject: kernels:constant is 'int', which cannot be called"),
        ("kernels:drawn", "drawn: there is no argument 'weights' *"),
        ("kernels:known.function.nothing", "subject: there is no 'known.function.nothing' in kernels"),
        ("needs_more:verify", "subject: needs_more does not import: *: No module named 'more_than_this'"),
        ("exits.py:verify", "subject: exits.py does not import: SystemExit: 3"),
        ("kernels:Needy", "subject: kernels:Needy() raised TypeError: * missing 1 required * 'weights'"),
    ],
)
def test_a_bad_subject_is_refused(project: pytest.Pytester, subject: str, message: str) -> None:
    project.makepyfile(needs_more="import more_than_this\n", exits="import sys; sys.exit(3)\n")
    refused(check(project, subject, "test_own.py"), message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("rule=chian", "rule: there is no rule 'chian'; did you mean chain?"),
        ("rule=rule.py:mine", "rule: there is no file 'rule.py'"),
        ("array=jax", "array: 'jax' is neither numpy nor torch"),
        ("dtype=float8", "dtype: 'float8' is none of float16, bfloat16, float32, float64"),
        ("device=cuda", "device: NumPy's arrays are on the cpu, not on cuda"),
        ("alpha=2", "alpha: 2.0 is not between 0 and 1"),
        ("min-tv=.7", "min_tv: 0.7 is not between 0 and 1/2"),
        ("samples=0", "samples: 0 is not positive"),
        ("xfails=missing.txt", "xfails: cannot read missing.txt: No such file or directory"),
        ("json=missing/r.json", "json: cannot write to */missing/r.json: No such file or directory"),
        ("json=test_own.py/r.json", "json: cannot write to */test_own.py/r.json: Not a directory"),
        ("json=.", "json: * is a folder"),
    ],
)
def test_a_bad_option_is_refused(project: pytest.Pytester, options: str, message: str) -> None:
    refused(check(project, "kernels:verify", f"--losslesscheck-{options}", "test_own.py"), message)


def test_a_device_that_is_not_there_is_refused(project: pytest.Pytester) -> None:
    pytest.importorskip("torch")
    options = ("--losslesscheck-array", "torch", "--losslesscheck-device", "cuda:77")
    refused(check(project, "kernels:Tensors", *options), "device: there is no 'cuda:77' here: *")


def test_numbers_may_be_written_with_an_exponent(project: pytest.Pytester) -> None:
    samples = ("--losslesscheck-samples", "1e1")
    result = check(project, "kernels:verify", *samples, *JSON, "losslesscheck::interface")
    result.assert_outcomes(passed=1)
    assert content()["settings"]["samples"] == 10
    for bad in ("1.5", "many", "inf"):
        result = check(project, "kernels:verify", "--losslesscheck-samples", bad)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*--losslesscheck-samples: '{bad}' is not a whole number"])


def test_a_rule_without_a_subject_is_refused(project: pytest.Pytester) -> None:
    result = project.runpytest(*QUICK, "--losslesscheck-rule", "chain", "test_own.py")
    refused(result, "--losslesscheck-rule needs a --losslesscheck-subject")


def test_a_subject_that_says_its_dtype_is_not_told_another(project: pytest.Pytester) -> None:
    result = check(project, "kernels:known", "--losslesscheck-dtype", "float16")
    refused(result, "dtype: kernels:known is a Subject, which says that itself")


def test_an_unknown_item_is_refused(project: pytest.Pytester) -> None:
    refused(check(project, "kernels:verify", "losslesscheck::lav"), "there is no check 'lav'")
