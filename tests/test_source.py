"""A proof is about the text that is found; it must be the text that runs."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from losslesscheck import rules, verify
from losslesscheck.rule import load
from losslesscheck.source import is_what_runs

CHAIN = """
def f(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))
"""
CARELESS = """
def f(m, p, q, accept, reject):
    x = m.draw(q)
    return accept(x)
"""


@pytest.mark.parametrize("name", [*rules.names(), *rules.broken()])
def test_the_library_s_rules_run_their_texts(name: str) -> None:
    function = rules.get(name).function
    assert isinstance(function, FunctionType)
    assert is_what_runs(function)


def test_functions_of_every_kind_run_their_texts() -> None:
    import math

    width = 3

    def closure(a: int, *, b: int = 2) -> Any:
        """Of several
        lines."""
        return [math.floor(a / width) for _ in range(b) if a in {1, 2, 3}], -0.0, (True, 1), closure

    assert is_what_runs(closure)
    assert is_what_runs(lambda a: a + width)


def test_a_file_that_was_edited_after_its_import_is_not_proved(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    path.write_text(CARELESS)
    rule = load(f"{path}:f")
    path.write_text(CHAIN)
    for only in ("theorem", "any-vocabulary"):
        verdict = verify(rule, only=[only])
        assert verdict.verdict == "undecided"
        assert any("changed after it was imported" in e.detail for e in verdict.evidence)
    assert verify(rule, only=["exact"]).verdict == "lossy"


def test_a_definition_that_inspect_does_not_find_is_not_proved(tmp_path: Path) -> None:
    path = tmp_path / "hidden.py"
    path.write_text(CHAIN + CARELESS.replace("def f", "def\\\n f"))
    assert verify(f"{path}:f", only=["theorem"]).verdict == "undecided"


def test_code_that_was_exchanged_is_not_proved(tmp_path: Path) -> None:
    path = tmp_path / "exchanged.py"
    path.write_text(
        CHAIN
        + CARELESS.replace("def f", "def g")
        + "\nf.__code__ = g.__code__.replace(co_name='f', co_firstlineno=2)\n"
    )
    assert verify(f"{path}:f", only=["theorem"]).verdict == "undecided"
