"""The pytest plugin: ``pytest --losslesscheck-subject pkg.module:object`` runs the conformance suite.

Without that option nothing but this file is imported, and it imports neither NumPy nor torch. (It stands
here since importing ``losslesscheck.testing`` imports NumPy.)
"""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("losslesscheck", "conformance of speculative decoding (losslesscheck)")
    group.addoption(
        "--losslesscheck-subject",
        metavar="MODULE:OBJECT",
        help="run the conformance suite on this implementation, a callable or a Subject: pkg.module:object "
        "or path/to/file.py:object; a class is instantiated",
    )
    group.addoption(
        "--losslesscheck-rule",
        metavar="RULE",
        help="the rule that it implements: a name, or file.py:function (default: the subject's own, or "
        "chain)",
    )
    group.addoption(
        "--losslesscheck-array", metavar="LIBRARY", help="of its arrays: numpy (default) or torch"
    )
    group.addoption("--losslesscheck-dtype", metavar="DTYPE", help="of its probabilities (default: float32)")
    group.addoption("--losslesscheck-device", metavar="DEVICE", help="of its tensors (default: cpu)")
    group.addoption(
        "--losslesscheck-alpha",
        type=float,
        metavar="P",
        help="bound on the probability that a correct implementation fails anything (default: 1e-9)",
    )
    group.addoption(
        "--losslesscheck-min-tv",
        type=float,
        metavar="TV",
        help="a bias of this size is to be found with probability .9 (default: 0.01)",
    )
    group.addoption(
        "--losslesscheck-samples",
        type=whole,
        metavar="N",
        help="steps of a statistical check, instead of a TV: 10000 or 1e4",
    )
    group.addoption("--losslesscheck-seed", type=whole, metavar="N", help="of everything random (default: 0)")
    group.addoption(
        "--losslesscheck-xfails",
        metavar="FILE",
        help="checks that are expected to fail, one a line: law[dense] or law for all its cases, then "
        "# and the reason; one that passes is a failure",
    )
    group.addoption("--losslesscheck-json", metavar="FILE", help="write the results to this file")


def whole(text: str) -> int:
    """A whole number; 1e4 is one."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not number.is_integer():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(number)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("losslesscheck_subject") is None:
        if config.getoption("losslesscheck_rule") is not None:
            raise pytest.UsageError("losslesscheck: --losslesscheck-rule needs a --losslesscheck-subject")
        return
    from losslesscheck.errors import InputError
    from losslesscheck.testing.plugin.run import Run

    try:
        run = Run(config)
    except InputError as error:
        raise pytest.UsageError(f"losslesscheck: {error}") from None
    config.pluginmanager.register(run, "losslesscheck-run")
