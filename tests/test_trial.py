"""A rule is tried before any work is done on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslesscheck import Budget, RuleError, Tree, rules
from losslesscheck.rule import load, rule
from losslesscheck.trial import trial


@pytest.mark.parametrize("tokens", [(20,), (7, 40_000)], ids=str)
def test_tokens_beyond_the_trial_vocabulary_are_renumbered(tokens: tuple[int, ...]) -> None:
    trial(rules.get("target_only"), Tree.siblings(tokens), 3)


@pytest.mark.parametrize("name", ["specinfer", "point_mass"])
def test_a_wide_node_is_no_endless_recursion(name: str) -> None:
    found = rules.get(name)
    trial(found, found.fit(Tree.regular((200,)), 200), 3)


def test_a_rule_that_exits_is_named() -> None:
    def exits(m, p, q, tree):  # type: ignore[no-untyped-def]
        raise SystemExit

    with pytest.raises(RuleError, match="rule exits: SystemExit"):
        trial(rule(exits), Tree.chain(1), 3)


def test_what_a_file_prints_goes_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "chatty.py"
    file.write_text("print('hello')\ndef mine(m, p, q, tree):\n    return (m.draw(p(())),)\n")
    assert load(f"{file}:mine").name == "mine"
    out, err = capsys.readouterr()
    assert out == ""
    assert "hello" in err


def test_an_import_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "endless.py"
    file.write_text("while True:\n    pass\n")
    monkeypatch.setattr("losslesscheck.rule.Budget", lambda: Budget(seconds=0.3))
    with pytest.raises(RuleError, match=r"endless\.py does not import: the time budget of 0\.3 s"):
        load(f"{file}:mine")
