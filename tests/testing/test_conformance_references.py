"""References pass the conformance suite: of every rule one variant, the whole product takes minutes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from losslesscheck import rules
from losslesscheck.testing import conformance, reference
from losslesscheck.testing.conformance import Result, Settings

QUICK = Settings(samples=100)

VARIANTS: dict[str, dict[str, Any]] = {
    "numpy-float32-coins": {},
    "torch-float64-seeded": {"array": "torch", "dtype": "float64", "seeded": True},
    "torch-float32-coins": {"array": "torch"},
    "numpy-float64-seeded": {"dtype": "float64", "seeded": True},
    "numpy-float64-coins": {"dtype": "float64"},
    "torch-float32-seeded": {"array": "torch", "seeded": True},
    "torch-float64-coins": {"array": "torch", "dtype": "float64"},
    "numpy-float32-seeded": {"seeded": True},
}

CHOSEN = [
    pytest.param(rule, facts, id=f"{rule}-{name}")
    for rule, (name, facts) in zip(rules.names(), [*VARIANTS.items()] * 2, strict=False)
]
"""A variant for every rule; the whole product takes minutes."""


def failures(results: list[Result]) -> dict[str, str]:
    return {result.id: result.message for result in results if result.outcome == "failed"}


@pytest.mark.parametrize(("rule", "facts"), CHOSEN)
def test_a_reference_passes(rule: str, facts: dict[str, Any]) -> None:
    results = conformance.run(reference.subject(rule, **facts), QUICK)
    assert failures(results) == {}
    json.dumps([result.data for result in results], allow_nan=False)


@pytest.mark.parametrize(
    ("rule", "parameters"),
    [("target_only", {"threshold_acc": 0.5}), ("without_replacement", {"exhausted": "undefined"})],
    ids=["target_only", "without_replacement"],
)
def test_a_lossy_rule_is_held_to_its_own_law(rule: str, parameters: dict[str, Any]) -> None:
    subject = reference.subject(rules.get(rule).bind(**parameters))
    assert failures(conformance.run(subject, QUICK, only=["law", "acceptance", "certain"])) == {}
