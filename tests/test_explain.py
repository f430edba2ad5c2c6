"""What `losslesscheck rules` and `losslesscheck rules NAME` say."""

import json
import subprocess
import sys

import pytest

from losslesscheck import rules
from losslesscheck.explain import algorithm, explain_dict, explain_text, list_dict, list_text
from losslesscheck.verdict import TIERS

ALL = [*rules.names(), *rules.broken()]


def test_the_list_names_every_rule_once_within_80_columns() -> None:
    lines = list_text().splitlines()
    starts = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    assert starts == ALL
    assert max(map(len, lines)) <= 80
    good, bad = lines.index("Rules"), lines.index("Broken patterns, which `losslesscheck verify` refutes")
    assert good < lines.index(next(line for line in lines if line.startswith("  chain "))) < bad


def test_the_list_as_json() -> None:
    listed = json.loads(json.dumps(list_dict()))
    assert [r["name"] for r in listed["rules"]] == rules.names()
    assert [r["name"] for r in listed["broken"]] == rules.broken()
    assert all(r["claim"] for r in listed["rules"])
    assert all(r["broken"] for r in listed["broken"])


@pytest.mark.parametrize("latex", [False, True], ids=["text", "latex"])
@pytest.mark.parametrize("name", ALL)
def test_every_rule_is_explained_within_80_columns(name: str, latex: bool) -> None:
    lines = explain_text(rules.get(name), latex=latex).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(f"{name}: decides on ")
    assert "Evidence to expect" in lines


@pytest.mark.parametrize("name", ALL)
def test_explained_as_json(name: str) -> None:
    facts = json.loads(json.dumps(explain_dict(rules.get(name))))
    assert facts["name"] == name
    assert facts["identity"]["text"] or facts["identity"]["note"]
    assert list(facts["evidence"]) == [tier for tier in TIERS if tier != "kernel"]
    assert facts["evidence"]["theorem"].startswith("nothing") == (name in (*rules.broken(), "standalone"))


def test_a_step_rule_in_full() -> None:
    text = explain_text(rules.get("specinfer"))
    assert "Miao et al. 2023, SpecInfer (arXiv 2305.09781), Alg. 2 and Thm 4.2" in text
    assert "  def specinfer(m, p, q, accept, reject):\n      x = m.draw(q)\n" in text
    assert "The tokens follow the target's law, for every target, every draft and every" in text
    assert "(p(y) - q(y))₊" in text
    assert "the step identity, for every vocabulary and every tree" in text


def test_latex_on_request() -> None:
    assert r"\frac{p(y)}{q(y)}" in explain_text(rules.get("chain"), latex=True)
    assert "\\frac" not in explain_text(rules.get("chain"))


def test_parameters_with_value_and_bounds() -> None:
    text = explain_text(rules.get("target_only").bind(threshold_acc=".9"))
    assert "  threshold_acc = 9/10  (1/1000000000 to 1)\n" in text
    assert "Not claimed with these parameters: see the conditions." in text
    facts = explain_dict(rules.get("without_replacement"))["parameters"]["exhausted"]
    assert facts["value"] == facts["default"] == "uniform"
    assert facts["allowed"] == "uniform or undefined"


def test_a_broken_pattern_is_not_said_to_claim_anything() -> None:
    lines = explain_text(rules.get("threshold_acc")).splitlines()
    assert "What is wrong" in lines
    assert "Claim" not in lines
    assert "Step identity, which would have to hold for every p" in lines
    assert "Claim" in explain_text(rules.get("target_only")).splitlines()


def test_the_algorithm_is_the_source_without_decorator_types_and_docstring() -> None:
    lines = algorithm(rules.get("blockwise")).splitlines()
    assert lines[0] == "def blockwise(m, p, q, tree, *, top_k, distance, minimum_block):"
    assert lines[-1] == "    return (*kept, m.argmax(p(kept)))"
    assert not any('"""' in line for line in lines)


def test_the_list_needs_nothing_heavy() -> None:
    code = (
        "import sys; from losslesscheck.explain import list_text; list_text(); "
        "print([m for m in ('numpy', 'sympy', 'flint', 'z3', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_lambda_is_its_own_algorithm() -> None:
    keep = rules.resolve(lambda m, p, q, accept, reject: accept(m.draw(q)))
    assert "accept(m.draw(q))" in algorithm(keep)
    assert explain_text(keep)
