"""The check of the theories: it passes as they are, and fails for whatever weakens them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import losslesscheck
from losslesscheck import InputError
from losslesscheck.cli import main
from losslesscheck.proofs import FOLDER, audit, coq, show
from losslesscheck.proofs.audit import Audit, check
from losslesscheck.proofs.coq import Coq
from losslesscheck.proofs.theorems import GENERAL, SCOPES, THEOREMS, get, of_text

SMALL = ("world", "program", "walk", "lossless")
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
    report = audit.check_installed(coq)
    assert report.problems == []
    assert report.passed
    assert set(report.theorems) == {t.name for t in THEOREMS}
    assert {checked.assumptions for checked in report.theorems.values()} == {audit.CLOSED}
    standing = audit.standing()
    assert standing.by == "this machine"
    assert coq.version in str(standing)
    assert all(f"  {t.name}" in show.report_text(report) for t in THEOREMS)
    assert json.loads(json.dumps(show.report_dict(report)))["passed"] is True


def test_a_few_theories_pass(coq: Coq, small: Path, small_audit: Audit) -> None:
    assert check(coq, small, small_audit, SMALL_THEOREMS).problems == []


def test_an_admitted_proof_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    edit(
        small,
        "lossless",
        lambda text: re.sub(
            r"(Theorem rounds_lossless.*?)\nProof\..*?Qed\.", r"\1\nAdmitted.", text, count=1, flags=re.DOTALL
        ),
    )
    problems = check(coq, small, small_audit, SMALL_THEOREMS).problems
    assert "lossless.v is not the text that was audited" in problems
    assert any(p.startswith("rounds_lossless is not closed: Axioms: ") for p in problems)
    assert "coqchk finds the axiom Losslesscheck.lossless.rounds_lossless" in problems
    unaware = check(coq, small, None, SMALL_THEOREMS).problems
    assert any(p.startswith("rounds_lossless is not closed: Axioms: ") for p in unaware)


def test_an_axiom_that_a_proof_uses_fails(coq: Coq, small: Path) -> None:
    def cheat(text: str) -> str:
        text = text.replace("Section Lossless.", "Axiom cheat : forall P : Prop, P.\nSection Lossless.")
        return re.sub(
            r"(Theorem lossless_joint.*?)\nProof\..*?Qed\.",
            r"\1\nProof. exact: cheat. Qed.",
            text,
            count=1,
            flags=re.DOTALL,
        )

    edit(small, "lossless", cheat)
    problems = check(coq, small, None, SMALL_THEOREMS).problems
    assert any(p.startswith("lossless_joint is not closed: Axioms: cheat") for p in problems)
    assert not any(p.startswith("rounds_lossless") for p in problems)


def test_an_axiom_that_no_proof_uses_fails(coq: Coq, small: Path) -> None:
    edit(small, "world", lambda text: text + "\nAxiom unused : False.\n")
    assert check(coq, small, None, SMALL_THEOREMS).problems == [
        "coqchk finds the axiom Losslesscheck.world.unused"
    ]


def test_a_weaker_statement_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    edit(
        small,
        "lossless",
        lambda text: text.replace(
            "forall k c, lossless (rounds law k c) c.",
            "forall k c, (k <= 1)%N -> lossless (rounds law k c) c.",
        ).replace(
            "Proof.\nmove=> H; elim=> [|k IH] c n f //=.",
            "Proof.\nmove=> H k c _; move: k c; elim=> [|k IH] c n f //=.",
        ),
    )
    problems = check(coq, small, small_audit, SMALL_THEOREMS).problems
    assert problems == [
        "lossless.v is not the text that was audited",
        "rounds_lossless does not state what was audited",
    ]


def test_another_definition_under_a_theorem_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    edit(small, "walk", lambda text: text.replace("take n c", "take n (take n c)"))
    assert (
        "walk.v is not the text that was audited" in check(coq, small, small_audit, SMALL_THEOREMS).problems
    )


def test_a_theorem_that_is_gone_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    edit(small, "lossless", lambda text: text.replace("Theorem rounds_lossless", "Lemma rounds_are_lossless"))
    problems = check(coq, small, small_audit, SMALL_THEOREMS).problems
    assert "rounds_lossless: lossless.v states no such theorem" in problems


def test_a_theory_that_is_gone_fails(coq: Coq, small: Path, small_audit: Audit) -> None:
    (small / "lossless.v").unlink()
    assert (
        "lossless.v is missing, but the audit has it"
        in check(coq, small, small_audit, SMALL_THEOREMS).problems
    )


def test_a_theory_that_coq_rejects_fails(coq: Coq, small: Path) -> None:
    edit(small, "world", lambda text: text.replace("by case: leP.", "by []."))
    problems = check(coq, small, None, SMALL_THEOREMS).problems
    assert len(problems) == 1
    assert problems[0].startswith('Coq: File "./world.v", line')


def test_theories_that_need_one_another_fail(coq: Coq, small: Path) -> None:
    edit(small, "world", lambda text: text + "\nFrom Losslesscheck Require Import walk.\n")
    assert any("circle" in p for p in check(coq, small, None, SMALL_THEOREMS).problems)


# Without Coq


def test_the_audit_is_of_the_theories_as_they_are() -> None:
    whole = Audit.load()
    assert whole.theories == audit.hashes()
    assert set(whole.theorems) == {t.name for t in THEOREMS}
    assert whole.thorough, "renew the audit with --thorough"


def test_nothing_in_the_theories_is_assumed() -> None:
    words = re.compile(
        r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|Unset Guard|bypass_check|Obligation)\b"
    )
    for path in FOLDER.glob("*.v"):
        code = re.sub(r"\(\*.*?\*\)", "", path.read_text(), flags=re.DOTALL)
        assert not words.search(code), path.name


def test_the_map_names_what_exists() -> None:
    root = Path(__file__).parents[2]
    assert len({t.name for t in THEOREMS}) == len(THEOREMS)
    for name in (*GENERAL.values(), *map(of_text, SCOPES)):
        assert get(name).name == name
    for t in THEOREMS:
        file, _, function = t.test.partition("::")
        text = (root / file).read_text()
        assert f"def {function.partition('[')[0]}(" in text, t.test


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


def test_theories_that_nobody_checked_have_no_standing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(FOLDER, tmp_path / "proofs")
    edit(tmp_path / "proofs", "tree", lambda text: text + "\n(* changed *)\n")
    monkeypatch.setattr(audit, "hashes", lambda folder=FOLDER: {"tree.v": "changed"})
    audit.standing.cache_clear()
    try:
        assert audit.standing().by == ""
        verdict = losslesscheck.verify("chain", only=["theorem"])
        theorem = verdict.evidence[0]
        assert theorem.result == "undecided"
        assert "proofs check" in theorem.detail
        assert "theorem" not in verdict.scope
    finally:
        audit.standing.cache_clear()
