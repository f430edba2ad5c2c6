"""A theory to begin with compiles, and what is proved in it follows from what is left to be proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from losslesscheck import rules
from losslesscheck.cli import main
from losslesscheck.proofs.coq import Coq, CoqError
from losslesscheck.proofs.theorems import SCOPES
from losslesscheck.proofs.theory import theory
from losslesscheck.rule import rule


@pytest.fixture(scope="module")
def compiled(coq: Coq, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("theories") / "compiled"
    done = CliRunner().invoke(main, ["proofs", "compile", str(folder)])
    assert done.exit_code == 0, done.output
    assert (folder / "texts.vo").is_file()
    return folder


@pytest.mark.parametrize("name", SCOPES)
def test_a_theory_to_begin_with_compiles(name: str, coq: Coq, compiled: Path) -> None:
    asked = f"Print Assumptions {name}_lossless.\n"
    printed = coq.evaluate(compiled, theory(rules.get(name)) + asked, f"mine_{name}")
    assert printed.startswith("Axioms:")
    assert (f"{name}_ok" in printed) == (rules.get(name).form != "whole")


def test_the_theorem_of_a_rule_of_one_s_own_can_be_proved(coq: Coq, compiled: Path) -> None:
    """Its text is that of speculative sampling, but for the tokens tried, which it hands on."""

    def handing_on(m: Any, p: Any, q: Any, accept: Any, reject: Any, tried: Any = ()) -> Any:
        x = m.draw(q)
        if not m.flip(m.min(m.one, p[x] / q[x])):
            return reject(m.norm(m.relu(p - q)), tried=(*tried, x))
        return accept(x)

    text = theory(rule(handing_on))
    proof = """Proof.
move=> pd qd; have [identity ok] := @speculative_step_ok R T undefined p tried q pd qd.
by split=> // x qx; have [taken left] := ok x qx; split=> // /left[].
Qed."""
    proved = text.replace("Proof.\nAdmitted.", proof)
    assert proved != text
    asked = "Print Assumptions handing_on_lossless.\n"
    assert "Closed under the global context" in coq.evaluate(compiled, proved + asked, "mine")
    with pytest.raises(CoqError):
        coq.evaluate(compiled, text.replace("Proof.\nAdmitted.", "Proof. by []. Qed."), "mine_wrong")


def test_a_folder_that_is_a_file_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert CliRunner().invoke(main, ["proofs", "compile", str(tmp_path / "file")]).exit_code == 2
