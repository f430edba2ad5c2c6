"""Benchmarks run only when asked for: ``pytest tests/benchmarks --dist no --benchmark-enable``."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("benchmark_enable", default=False) or config.getoption(
        "benchmark_only", default=False
    ):
        return
    skip = pytest.mark.skip(reason="figures are taken with --benchmark-enable")
    for item in items:
        if item.path.parent.name == "benchmarks":
            item.add_marker(skip)
