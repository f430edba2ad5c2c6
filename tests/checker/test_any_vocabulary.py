"""The checker accepts the certificates of proofs, and refuses what was tampered with."""

from __future__ import annotations

import ast
import copy
import json
import sys
from pathlib import Path

import pytest

import losslesscheck.checker
from losslesscheck import rules
from losslesscheck.checker import any_vocabulary as checker
from losslesscheck.checker import check
from losslesscheck.checker.interpreter import Interpreter, Vector
from losslesscheck.checker.polynomials import factors_among
from losslesscheck.machines.any_vocabulary import prove
from tests.machines.any_vocabulary_rules import CORRECT, FAULTY


def certified(made, **options):
    proof = prove(made, **options)
    assert proof.certificate is not None
    return json.loads(json.dumps(proof.certificate))


@pytest.mark.parametrize("name", rules.names())
def test_the_proof_of_a_rule_of_the_house_is_accepted(name):
    made = rules.get(name)
    assert check(certified(made), made.function) == []


@pytest.mark.parametrize("name", CORRECT)
def test_the_proof_of_a_correct_rule_is_accepted(name):
    made = CORRECT[name]
    assert check(certified(made, siblings=2), made.function) == []


@pytest.mark.parametrize(
    "name", ["__init__", "any_vocabulary", "expression", "interpreter", "polynomials", "samples"]
)
def test_the_checker_imports_the_standard_library_and_itself_only(name):
    file = Path(losslesscheck.checker.__file__).with_name(f"{name}.py")
    for node in ast.walk(ast.parse(file.read_text())):
        modules = [node.module] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for module in modules:
            own = module.startswith("losslesscheck.checker")
            assert own or module.split(".")[0] in sys.stdlib_module_names


@pytest.fixture(scope="module")
def proved():
    return {name: certified(rules.get(name)) for name in ("chain", "target_only", "without_replacement")}


def problems(proved, name, change):
    certificate = copy.deepcopy(proved[name])
    change(certificate)
    return check(certificate, rules.get(name).function)


def scene(certificate, number=0):
    return certificate["scenes"][number]


@pytest.mark.parametrize("name", ["chain", "target_only", "without_replacement"])
def test_a_dropped_obligation_is_noticed(proved, name):
    for number, of in enumerate(proved[name]["scenes"]):
        for place in range(len(of["obligations"])):
            found = problems(proved, name, lambda c, n=number, i=place: scene(c, n)["obligations"].pop(i))
            assert any("not among the obligations" in problem for problem in found)


@pytest.mark.parametrize("name", ["chain", "target_only", "without_replacement"])
def test_a_dropped_path_is_noticed(proved, name):
    for number, of in enumerate(proved[name]["scenes"]):
        for place in range(len(of["paths"])):
            found = problems(proved, name, lambda c, n=number, i=place: scene(c, n)["paths"].pop(i))
            assert any("entries of the certificate cover it" in problem for problem in found)


def test_a_changed_probability_is_noticed(proved):
    def change(certificate):
        scene(certificate)["paths"][0]["choices"][1][1] = "1/2"

    assert any("the probability of True" in problem for problem in problems(proved, "chain", change))


def test_contributions_that_add_up_but_are_wrong_are_noticed(proved):
    def change(certificate):
        first, second = scene(certificate)["paths"]
        first["law"]["y"], second["law"]["y"] = "p[y]/2", "p[y]/2"

    found = problems(proved, "chain", change)
    assert found
    assert all("contributes" in problem for problem in found)


def test_contributions_that_do_not_add_up_are_noticed(proved):
    def change(certificate):
        scene(certificate)["paths"][1]["law"]["y"] += " + S0*q[y]"

    assert any("do not add up" in problem for problem in problems(proved, "chain", change))


def test_another_target_is_noticed(proved):
    def change(certificate):
        scene(certificate)["target"]["y"] = "q[y]"

    assert any(problem.startswith("scene 0: target") for problem in problems(proved, "chain", change))


def test_a_wrong_definition_of_an_atom_is_noticed(proved):
    def change(certificate):
        scene(certificate)["atoms"]["nu0[y]"] = "q[y] - p[y]"

    assert problems(proved, "chain", change)


def test_a_wrong_mass_is_noticed(proved):
    def change(certificate):
        obligation = scene(certificate)["obligations"][0]
        obligation["mass"], obligation["cofactor"] = "q[x1]/2", ["1", "2"]

    assert any("the mass is" in problem for problem in problems(proved, "chain", change))


def test_a_cofactor_that_does_not_fit_is_noticed(proved):
    def change(certificate):
        scene(certificate)["obligations"][0]["cofactor"] = ["2", "1"]

    found = problems(proved, "chain", change)
    assert any("not the divisor times the cofactor" in problem for problem in found)


def test_an_infinite_cofactor_is_noticed(proved):
    def change(certificate):
        obligation = scene(certificate)["obligations"][0]
        obligation["cofactor"] = [obligation["mass"], obligation["divisor"]]

    assert any("infinite" in problem for problem in problems(proved, "chain", change))


def test_a_divisor_that_is_not_met_before_is_noticed(proved):
    def change(certificate):
        obligation = scene(certificate)["obligations"][0]
        obligation["before"] = [obligation["divisor"]]

    assert any("is not met before it" in problem for problem in problems(proved, "chain", change))


@pytest.mark.parametrize("name", ["chain", "target_only", "without_replacement"])
def test_a_missing_scene_is_noticed(proved, name):
    for number in range(len(proved[name]["scenes"])):
        found = problems(proved, name, lambda c, n=number: c["scenes"].pop(n))
        last = name == "target_only" and number == len(proved[name]["scenes"]) - 1
        # Nodes of fewer siblings only are a smaller claim, not a wrong one.
        assert bool(found) != last


def test_a_missing_case_of_the_argmax_is_noticed():
    made = rules.get("tree_greedy")
    certificate = certified(made)
    certificate["scenes"].pop(1)
    assert any("largest at" in problem for problem in check(certificate, made.function))


def test_another_rule_is_refused_by_its_hash(proved):
    assert check(proved["chain"], rules.get("point_mass").function) == [
        "rule: the hash is not that of the function"
    ]


@pytest.mark.parametrize("name", ["lenient", "residual_is_target", "rejected_token_zeroed", "zero_over_zero"])
def test_the_certificate_of_the_chain_does_not_fit_a_faulty_rule(proved, name):
    made = FAULTY[name]
    certificate = copy.deepcopy(proved["chain"])
    certificate["rule"]["hash"] = made.hash
    if name == "lenient":
        certificate["rule"]["parameters"] = {"factor": {"number": "1/2"}}
    assert check(certificate, made.function)


def test_other_parameters_are_refused(proved):
    def change(certificate):
        certificate["rule"]["parameters"]["threshold_acc"]["number"] = "9/10"

    assert problems(proved, "target_only", change)
    assert problems(proved, "target_only", lambda c: c["rule"]["parameters"].pop("threshold_acc"))


def test_a_second_token_with_another_law_is_noticed():
    made = rules.get("bonus_previous_row")
    certificate = certified(rules.get("chain_kernel"))
    certificate["rule"] = certified(CORRECT["no_draft"])["rule"] | {"hash": made.hash}
    assert any("second token" in problem for problem in check(certificate, made.function))


@pytest.mark.parametrize("key", ["rule", "scenes", "greedy", "fixed_tokens"])
def test_a_malformed_certificate_is_a_problem_and_no_error(proved, key):
    found = problems(proved, "chain", lambda c: c.pop(key))
    assert any("malformed" in problem for problem in found)


def test_an_unknown_kind_is_a_problem():
    assert check({"kind": "hearsay"}, len) == [
        "kind: 'hearsay' is not one of all-distributions, any-vocabulary"
    ]


@pytest.mark.parametrize(
    ("a", "others", "among"),
    [
        ("2", [], True),
        ("q", [], False),
        ("q", ["q*r"], True),
        ("q**3*r", ["r", "q"], True),
        ("q*r", ["q"], False),
        ("q - r", ["q + r"], False),
        ("q + r", ["(q**2 - r**2)/(s)"], True),
        ("1/r", ["r"], False),
    ],
)
def test_factors_are_among_those_of_others(a, others, among):
    assert factors_among(a, others) == among


# Tests of the tests: with a part of the checker broken, something above is accepted.


def test_without_the_runs_wrong_contributions_are_accepted(proved, monkeypatch):
    monkeypatch.setattr(checker, "_runs", lambda *arguments: iter(()))

    def change(certificate):
        first, second = scene(certificate)["paths"]
        first["law"]["y"], second["law"]["y"] = "p[y]/2", "p[y]/2"

    assert problems(proved, "chain", change) == []


def test_without_the_cofactors_an_infinite_one_is_accepted(proved, monkeypatch):
    monkeypatch.setattr(checker, "_cofactors", lambda scene: iter(()))

    def change(certificate):
        obligation = scene(certificate)["obligations"][0]
        obligation["cofactor"] = [obligation["mass"], obligation["divisor"]]

    assert problems(proved, "chain", change) == []


def test_an_interpreter_with_max_for_min_refuses_the_chain(proved, monkeypatch):
    def wrong(self, a, b):
        return a._with(b, max) if isinstance(a, Vector) else self.number(max(self.value(a), self.value(b)))

    monkeypatch.setattr(Interpreter, "min", wrong)
    assert check(proved["chain"], rules.get("chain").function)
