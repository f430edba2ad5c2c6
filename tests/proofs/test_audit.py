"""The check of the theories: it passes as they are, and fails for whatever weakens them."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import losslesscheck
from losslesscheck import InputError
from losslesscheck.cli import main
from losslesscheck.proof import THEOREM_OF
from losslesscheck.proofs import FOLDER, audit, coq, show
from losslesscheck.proofs.audit import Audit
from losslesscheck.proofs.check import CLOSED, check, check_installed
from losslesscheck.proofs.coq import Coq
from losslesscheck.proofs.theorems import SCOPES, THEOREMS, get, of_text
from losslesscheck.verdict import Evidence

SMALL = ("world", "program")
"""A few theories that stand by themselves: checks of changed ones need not compile them all."""

SMALL_THEOREMS = [t for t in THEOREMS if t.theory in SMALL]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    for theory in SMALL:
        shutil.copy(FOLDER / f"{theory}.v", tmp_path)
    return tmp_path


@pytest.fixture
def small_audit() -> Audit:
    whole = Audit.load()
    return replace(
        whole,
        theories={name: known for name, known in whole.theories.items() if name.removesuffix(".v") in SMALL},
        theorems={t.name: whole.theorems[t.name] for t in SMALL_THEOREMS},
    )


def edit(folder: Path, theory: str, change: Callable[[str], str]) -> None:
    path = folder / f"{theory}.v"
    before = path.read_text()
    after = change(before)
    assert after != before
    path.write_text(after)


def test_every_theorem_is_closed_and_as_audited(coq: Coq) -> None:
    report = check_installed(coq)
    assert report.problems == []
    assert report.passed
    assert set(report.theorems) == {t.name for t in THEOREMS}
    assert {checked.assumptions for checked in report.theorems.values()} == {CLOSED}
    standing = audit.standing()
    assert standing.by == "this machine"
    assert coq.version in str(standing)
    assert f"{len(THEOREMS)} of {len(THEOREMS)} theorems: {CLOSED}" in show.report_text(report)
    assert json.loads(json.dumps(show.report_dict(report)))["passed"] is True


def test_a_few_theories_pass(coq: Coq, small: Path, small_audit: Audit) -> None:
    assert check(coq, small, small_audit, SMALL_THEOREMS).problems == []


def proved(proof: str) -> Callable[[str], str]:
    """Puts another proof in the place of the theorem's own."""
    pattern = re.compile(r"(Theorem expect_outcomes.*?)\nProof\..*?Qed\.", re.DOTALL)
    return lambda text: pattern.sub(lambda found: f"{found[1]}\n{proof}", text, count=1)


def test_an_admitted_proof_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    edit(small, "program", proved("Admitted."))
    problems = check(coq, small, small_audit, SMALL_THEOREMS).problems
    assert "program.v is not the text that was audited" in problems
    assert any(
        re.match(r"expect_outcomes is not closed: Axioms: (\w+\.)?expect_outcomes", p) for p in problems
    )
    assert "coqchk: Axioms: Losslesscheck.program.expect_outcomes" in problems


def test_an_axiom_that_a_proof_uses_fails(coq: Coq, small: Path) -> None:
    edit(small, "world", lambda text: text + "\nAxiom cheat : forall P : Prop, P.\n")
    edit(small, "program", proved("Proof. exact: cheat. Qed."))
    problems = check(coq, small, None, SMALL_THEOREMS).problems
    assert any(re.match(r"expect_outcomes is not closed: Axioms: (\w+\.)?cheat", p) for p in problems)
    assert "coqchk: Axioms: Losslesscheck.world.cheat" in problems


def test_an_axiom_that_no_proof_uses_fails(coq: Coq, small: Path) -> None:
    edit(small, "world", lambda text: text + "\nAxiom unused : False.\n")
    assert check(coq, small, None, SMALL_THEOREMS).problems == ["coqchk: Axioms: Losslesscheck.world.unused"]


def test_a_fixpoint_that_need_not_end_fails(coq: Coq, small: Path) -> None:
    endless = "Unset Guard Checking.\nFixpoint cheat (n : nat) : False := cheat n.\nSet Guard Checking.\n"
    edit(small, "world", lambda text: text + "\n" + endless)
    problems = check(coq, small, None, SMALL_THEOREMS).problems
    assert len(problems) == 1
    assert re.match(
        r"coqchk: Constants/Inductives relying on unsafe.*: Losslesscheck.world.cheat", problems[0]
    )


def test_a_weaker_statement_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    def weaken(text: str) -> str:
        text = text.replace("sound t -> expect t f = \\sum_(o <-", "False -> expect t f = \\sum_(o <-")
        return proved("Proof. by []. Qed.")(text)

    edit(small, "program", weaken)
    assert check(coq, small, small_audit, SMALL_THEOREMS).problems == [
        "program.v is not the text that was audited",
        "expect_outcomes does not state what was audited",
    ]


def test_another_definition_under_a_theorem_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    edit(
        small,
        "world",
        lambda text: text.replace("Definition relu a := if 0 <= a", "Definition relu a := if 0 < a"),
    )
    problems = check(coq, small, small_audit, SMALL_THEOREMS).problems
    assert "world.v is not the text that was audited" in problems


def test_a_theorem_that_is_gone_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    edit(small, "program", lambda text: text.replace("Theorem expect_outcomes", "Lemma expect_outcomes_"))
    problems = check(coq, small, small_audit, SMALL_THEOREMS).problems
    assert "expect_outcomes: program.v states no such theorem" in problems


def test_a_theory_that_is_gone_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    (small / "program.v").unlink()
    problems = check(coq, small, small_audit, SMALL_THEOREMS).problems
    assert "program.v is missing, but the audit has it" in problems


def test_a_theory_more_than_the_audit_has_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    (small / "more.v").write_text("Definition one := 1.\n")
    assert check(coq, small, small_audit, SMALL_THEOREMS).problems == ["more.v is not in the audit"]


def test_a_theory_that_coq_rejects_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    edit(small, "program", proved("Proof. by []. Qed."))
    report = check(coq, small, small_audit, SMALL_THEOREMS)
    changed, rejected = report.problems
    assert changed == "program.v is not the text that was audited"
    assert rejected.startswith('Coq: File "./program.v", line')
    assert "coqchk" not in show.report_text(report)


def test_theories_that_need_one_another_fail(coq: Coq, small: Path) -> None:
    edit(small, "world", lambda text: text + "\nFrom Losslesscheck Require Import program.\n")
    assert any("circle" in p for p in check(coq, small, None, SMALL_THEOREMS).problems)


# Without Coq


def test_the_audit_is_of_the_theories_as_they_are() -> None:
    whole = Audit.load()
    assert whole.theories == audit.hashes()
    assert set(whole.theorems) == {t.name for t in THEOREMS}
    assert whole.thorough, "renew the audit with --thorough"


def test_nothing_in_the_theories_is_assumed() -> None:
    words = re.compile(
        r"\b(Admitted|Axioms?|Parameters?|Conjecture|bypass_check|Obligation|Unset \w+ Checking)\b"
    )
    for path in FOLDER.glob("*.v"):
        code = re.sub(r"\(\*.*?\*\)", "", path.read_text(), flags=re.DOTALL)
        assert not words.search(code), path.name


def test_the_map_names_what_exists() -> None:
    root = Path(__file__).parents[2]
    assert len({t.name for t in THEOREMS}) == len(THEOREMS)
    for name in (*THEOREM_OF.values(), *map(of_text, SCOPES)):
        assert get(name).name == name
    for t in THEOREMS:
        file, _, function = t.test.partition("::")
        text = (root / file).read_text()
        assert f"def {function.partition('[')[0]}(" in text, t.test
        case = function.partition("[")[2].rstrip("]")
        assert case in ("", *SCOPES), t.test


def test_every_claim_can_be_read_alone() -> None:
    for t in THEOREMS:
        assert not re.match(r"(It|Its|That|So|Then|The same|Of the two)\b", t.claim), t.name
        assert t.claim.endswith("."), t.name


def test_every_theory_serves_a_theorem() -> None:
    needed = coq._with_needed(FOLDER, sorted({t.theory for t in THEOREMS}))
    assert {path.stem for path in FOLDER.glob("*.v")} == {*needed, "rational"}


def test_an_unknown_theorem_is_bad_input() -> None:
    with pytest.raises(InputError, match="did you mean tree_lossless"):
        get("tree_loseless")


def test_without_coq_the_command_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    done = CliRunner().invoke(main, ["proofs", "check"])
    assert done.exit_code == 3
    assert "apt-get install coq libcoq-mathcomp-algebra" in done.stderr
    assert done.stdout == ""


def test_the_command_shows_map_and_statements() -> None:
    listed = CliRunner().invoke(main, ["proofs"])
    assert listed.exit_code == 0
    assert all(t.name in listed.output for t in THEOREMS)
    assert max(map(len, listed.output.replace(str(FOLDER), "").splitlines())) <= 80
    as_json = json.loads(CliRunner().invoke(main, ["proofs", "--json"]).output)
    assert [t["name"] for t in as_json["theorems"]] == [t.name for t in THEOREMS]
    shown = CliRunner().invoke(main, ["proofs", "show", "tree_lossless"])
    assert "lossless target (speculate rule target t c) c" in " ".join(shown.output.split())
    assert CliRunner().invoke(main, ["proofs", "show", "nonsense"]).exit_code == 2


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A copy of the theories, which takes the place of those that are shipped."""
    folder = tmp_path / "proofs"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("*.py", "*.vo*", "*.glob"))
    monkeypatch.setattr(audit, "hashes", partial(audit.hashes, folder))
    monkeypatch.setattr(audit, "RECORD", folder / "audit.json")
    audit.standing.cache_clear()
    yield folder
    audit.standing.cache_clear()


def theorem_of_chain() -> Evidence:
    audit.standing.cache_clear()
    return losslesscheck.verify("chain", only=["theorem"]).evidence[0]


def test_theories_that_nobody_checked_have_no_standing(copied: Path) -> None:
    assert theorem_of_chain().result == "holds"
    edit(copied, "tree", lambda text: text + "\n(* changed *)\n")
    found = theorem_of_chain()
    assert found.result == "undecided"
    assert "not the audited ones" in found.detail
    assert "not the audited ones" in show.list_text()


def test_no_theories_have_no_standing(copied: Path) -> None:
    for path in copied.glob("*.v"):
        path.unlink()
    (copied / "audit.json").unlink()
    assert audit.standing().by == ""


def test_a_theorem_that_was_not_checked_is_not_named(copied: Path) -> None:
    record = Audit.load(copied / "audit.json")
    fewer = {name: statement for name, statement in record.theorems.items() if name != "tree_lossless"}
    replace(record, theorems=fewer).save(copied / "audit.json")
    found = theorem_of_chain()
    assert found.result == "undecided"
    assert "tree_lossless is none of the theorems that were checked" in found.detail


def test_what_this_machine_checked_stands_on_this_machine(copied: Path) -> None:
    record = replace(Audit.load(), date="2001-01-01", coq="9.9")
    audit.remember(record)
    assert (
        str(audit.standing()) == f"checked on this machine (2001-01-01, Coq 9.9, MathComp {record.mathcomp})"
    )
    edit(copied, "tree", lambda text: text + "\n(* changed *)\n")
    audit.standing.cache_clear()
    assert audit.standing().by == ""


@pytest.mark.parametrize(
    "nonsense", ["", "[]", "{", "[" * 100_000, '{"format": 1}', '{"format": 0}'], ids=len
)
def test_a_cache_of_nonsense_is_passed_over(nonsense: str, copied: Path) -> None:
    path = Path(os.environ["XDG_CACHE_HOME"]) / "losslesscheck" / "proofs.json"
    path.parent.mkdir(parents=True)
    path.write_text(nonsense)
    audit.standing.cache_clear()
    assert audit.standing().by == "the audit"


def test_an_audit_of_nonsense_is_one_clear_error(copied: Path) -> None:
    (copied / "audit.json").write_text("{")
    with pytest.raises(InputError, match="is no audit"):
        Audit.load(copied / "audit.json")
    assert theorem_of_chain().result == "undecided"


def test_a_record_appears_whole_or_not_at_all(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, path = Audit.load(), copied / "audit.json"
    before = path.read_text()
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", lambda a, b: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            replace(record, date="2001-01-01").save(path)
    assert path.read_text() == before
    assert [p.name for p in copied.glob("audit.json*")] == ["audit.json"]
