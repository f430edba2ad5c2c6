"""Every mutant is found by the checks that are there for its fault; what has no fault passes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from losslesscheck import rules
from losslesscheck.testing import conformance
from reports import mutants as report
from tests.testing.mutants import EQUIVALENT, IMPLEMENTATIONS, MUTANTS, Verifier, subject_of


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str) -> None:
    mutant = MUTANTS[name]
    for result in conformance.run(mutant.subject(), report.SETTINGS, only=mutant.caught_by):
        assert result.outcome == "failed", result.id
        message = " ".join(result.message.split())
        assert any(reason in message for reason in mutant.reasons(result.id)), message
        assert max(map(len, result.message.splitlines())) <= 80, result.message


@pytest.mark.parametrize("implementation", [*IMPLEMENTATIONS, *EQUIVALENT], ids=lambda c: c.__name__)
def test_no_false_alarm(implementation: type[Verifier]) -> None:
    """Fails by chance with probability 1e-9 at most."""
    results = conformance.run(subject_of(implementation), conformance.Settings(samples=2**8))
    assert [result.message for result in results if result.outcome == "failed"] == []


def test_every_rule_has_an_implementation_and_a_mutant() -> None:
    assert {implementation.rule for implementation in IMPLEMENTATIONS} == set(rules.names())
    assert {mutant.rule for mutant in MUTANTS.values()} == set(rules.names())


def test_every_check_is_there_for_a_mutant() -> None:
    expected = {item.partition("[")[0] for mutant in MUTANTS.values() for item in mutant.caught_by}
    assert expected == {check.name for check in conformance.CHECKS}


REPORTS = Path(report.__file__).parent


def test_the_report_is_of_these_mutants_and_all_are_caught() -> None:
    data = json.loads((REPORTS / "data" / "mutants.json").read_text())
    assert (REPORTS / "mutants.md").read_text() == report.table(data)
    assert [
        name for name, mutant in MUTANTS.items() if not report.caught(data["mutants"][name], mutant)
    ] == []
    assert set(data["correct"]) == {
        implementation.__name__ for implementation in (*IMPLEMENTATIONS, *EQUIVALENT)
    }
    assert not any(data["correct"].values())


def test_every_item_of_the_suite_fails_for_some_mutant() -> None:
    data = json.loads((REPORTS / "data" / "mutants.json").read_text())
    failed = {item for entry in data["mutants"].values() for item in entry["failed"]}
    applicable = {
        item.id
        for implementation in IMPLEMENTATIONS
        for item in conformance.items(subject_of(implementation), report.SETTINGS)
        if not item.skip
    }
    assert applicable <= failed
