"""A project that tests an implementation of its own."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

# What an inner run imports is forgotten when it ends, and extension modules must not be imported twice.
from losslesscheck.testing import conformance, reference
from losslesscheck.testing.plugin import run  # noqa: F401

with contextlib.suppress(ImportError):
    import torch  # noqa: F401

QUICK = ("--losslesscheck-samples", "4000", "-p", "no:hypothesispytest", "-p", "no:benchmark")

CHECKS = len(conformance.items(reference.subject("chain"), conformance.Settings()))

LAWS = ("losslesscheck::law[dense]", "losslesscheck::law[ties]", "losslesscheck::law[p = q]")
"""``kernels.without_residual`` fails the first two and passes the third."""


def check(project: pytest.Pytester, subject: str, *arguments: str) -> pytest.RunResult:
    """Runs pytest on a subject, in this process."""
    return project.runpytest(*QUICK, "--losslesscheck-subject", subject, *arguments)


def content(file: str = "r.json") -> dict[str, Any]:
    """The results of ``--losslesscheck-json``."""
    found: dict[str, Any] = json.loads(Path(file).read_text())
    return found


def outcomes() -> dict[str, tuple[str, str | None]]:
    """The outcome and the reason of an expected failure, by id."""
    return {result["id"]: (result["outcome"], result["xfail"]) for result in content()["results"]}


def properties(element: ElementTree.Element) -> dict[str, str]:
    """The properties of an element of JUnit's XML."""
    return {p.attrib["name"]: p.attrib["value"] for p in element.iterfind("properties/property")}
