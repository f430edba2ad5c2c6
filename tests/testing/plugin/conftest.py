from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with implementations, and with one test of its own."""
    monkeypatch.setenv("COLUMNS", "80")
    kernels = Path(__file__).with_name("kernels.py").read_text()
    pytester.makepyfile(kernels=kernels, test_own="def test_own():\n    pass\n")
    return pytester
