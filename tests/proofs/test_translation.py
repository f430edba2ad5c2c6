"""The translation of every rule's text has the law of the emitted sequence that the Python text has, exactly.

The theorems speak of the translations, everything else in the project of the Python texts. These comparisons,
on random rational targets, drafts and trees, would show a translator that says something else.
"""

from __future__ import annotations

import shutil
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from losslesscheck import rules
from losslesscheck.law import UNDEFINED
from losslesscheck.machines.exact import exact_law, fraction
from losslesscheck.proofs import FOLDER
from losslesscheck.proofs.theorems import SCOPES
from losslesscheck.proofs.translate import texts
from tests.proofs.coq_laws import (
    Fault,
    Law,
    definitions,
    evaluated,
    parsed,
    translations,
)
from tests.proofs.translation_cases import Case, cases, has_equal_siblings, small_cases, threshold_cases
from tests.proofs.user_rules import USER_RULES
from tests.rules.laws import law_off

FAULTY_CASES = 16
"""How many of a rule's instances a fault in it is looked for on."""

OTHERS_CASES = 16

BROKEN = ("top_k_ratio", "zero_rejected", "recovery_next_row", "without_replacement_stale", "block_weights")

OTHERS = {rule.name: rule for rule in (*USER_RULES, *map(rules.get, BROKEN))}
"""Rules that are not in texts.v."""

FAULTS = {
    "residual not normalised": Fault(
        "specinfer", "texts", "norm (positive_part (minus p q))", "positive_part (minus p q)"
    ),
    "siblings tested against p itself": Fault(
        "specinfer", "walk", "(beside tried') c r' tr", "(beside tried') c r tr"
    ),
    "target not read below a draft": Fault("chain", "walk", "(target (rcons c x)) [::]", "(target c) [::]"),
    "tokens tried not removed": Fault("without_replacement", "texts", "(without q tried)", "q"),
    "nothing drafted once q is used up": Fault(
        "without_replacement", "texts", "norm_or (without q tried) untried", "norm (without q tried)"
    ),
    "rejected token not removed": Fault("point_mass", "texts", "(norm (without p [:: token_]))", "p"),
    "below the last of equal siblings": Fault(
        "naive_sampling", "walk", "if x == y then walk", "if (x == y) && (y \\notin unzip1 ts') then walk"
    ),
    "cumulative probability not updated": Fault(
        "target_only", "texts", "cumulative := cumulative + p token_", "cumulative := p token_"
    ),
    "a new coin for every sibling": Fault(
        "target_only", "texts", "let coin := (bound, coin.2)", "let coin := (0, 1)"
    ),
    "best sibling not taken": Fault("tree_greedy", "texts", "Return (Take token_)", "Return (Stop token_)"),
    "drafts proposed at one context": Fault("blockwise", "texts", "(q drafts)", "(q [::])"),
    "coin not compared with the ratio": Fault("chain_kernel", "texts", "(target x / draft x)", "(target x)"),
    "cumulative entries not summed": Fault(
        "chain_kernel", "rules", "invert low' high (reached + v x)", "invert low' high (v x)"
    ),
    "weight for the keeping probability": Fault(
        "block_verification", "texts", "surplus / (surplus + 1 - weight)", "weight"
    ),
    "comparison with 1 exchanged": Fault("block_verification", "texts", "if weight < 1", "if 1 < weight"),
    "weight of the path not limited": Fault(
        "block_verification",
        "texts",
        "smaller 1 (weight * (p before x / q before x))",
        "weight * (p before x / q before x)",
    ),
}

THRESHOLD_FAULTS = {
    "cumulative probability not updated": Fault(
        "target_only",
        "rules",
        "try_siblings low' high (cumulative + p x)",
        "try_siblings low' high cumulative",
    ),
    "single threshold exclusive": Fault("target_only", "rules", "single <= p x", "single < p x"),
    "a new coin for every sibling": Fault(
        "target_only", "rules", "try_siblings low' high", "try_siblings 0 1"
    ),
}


@pytest.fixture(scope="module")
def theories(coq, tmp_path_factory):
    """A folder with the compiled theories that an evaluation needs."""
    folder = tmp_path_factory.mktemp("theories")
    for path in FOLDER.glob("*.v"):
        shutil.copy(path, folder)
    coq.compile(folder, ["rational", "texts"])
    return folder


@pytest.fixture(scope="module")
def coq_laws(coq, theories):
    found = evaluated(coq, theories, [("", cases(name)) for name in SCOPES])
    return dict(zip(SCOPES, found, strict=True))


@pytest.fixture(scope="module")
def faulty_laws(coq, theories):
    """The laws with every fault, and cases with their laws by the text that the faults are put into."""
    groups = [(definitions(fault), cases(fault.rule)[:FAULTY_CASES]) for fault in FAULTS.values()]
    intact = [case for name in SCOPES for case in cases(name)[:2]]
    *found, found_intact = evaluated(coq, theories, [*groups, (definitions(), intact)])
    return dict(zip(FAULTS, found, strict=True)), list(zip(intact, found_intact, strict=True))


@pytest.fixture(scope="module")
def threshold_laws(coq, theories):
    """The laws of target_only with thresholds, and the same with every fault."""
    groups = [(definitions(fault), threshold_cases()) for fault in THRESHOLD_FAULTS.values()]
    intact, *faulty = evaluated(coq, theories, [("", threshold_cases()), *groups])
    return intact, dict(zip(THRESHOLD_FAULTS, faulty, strict=True))


@pytest.fixture(scope="module")
def others_laws(coq, theories):
    """The laws of other rules by their texts, which are translated when they are asked for."""
    groups = [(translations([rule]), others_cases(name)) for name, rule in OTHERS.items()]
    return dict(zip(OTHERS, evaluated(coq, theories, groups), strict=True))


@cache
def others_cases(name: str) -> list[Case]:
    """Instances on which the rule reaches no undefined value."""
    found = [case for case in small_cases(OTHERS[name], OTHERS_CASES) if UNDEFINED not in exact(case)]
    assert len(found) > OTHERS_CASES / 2
    return found


def exact(case: Case) -> dict[tuple[int, ...], Any]:
    target, draft = case.instance.models()
    return exact_law(case.rule, target, draft, case.instance.tree)


def python_law(case: Case) -> Law:
    law = exact(case)
    assert UNDEFINED not in law, f"reaches an undefined value: {case}"
    assert sum(law.values()) == 1, f"the law does not sum to one: {case}"
    return {emitted: fraction(mass) for emitted, mass in law.items() if mass != 0}


def difference(case: Case, coq: Law, python: Law) -> str:
    """The first sequence whose probabilities differ, and the instance."""
    emitted = min(s for s in {*coq, *python} if coq.get(s) != python.get(s))
    return (
        f"the probability of {emitted} is {coq.get(emitted, 0)} by the Coq text "
        f"and {python.get(emitted, 0)} by the Python text of {case}"
    )


@pytest.mark.parametrize("name", SCOPES)
def test_the_laws_agree(name, coq_laws):
    """The law is the Python text's, and it is what the theorem says: the target's, or greedy decoding's."""
    for case, found in zip(cases(name), coq_laws[name], strict=True):
        expected = python_law(case)
        assert found == expected, difference(case, found, expected)
        if not (case.rule.distinct_siblings and has_equal_siblings(case.instance.tree)):
            target, _ = case.instance.models()
            assert law_off(found, target, greedy=case.rule.greedy) == "", f"the law of {case}"


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_the_coq_text_is_seen(name, faulty_laws):
    found = faulty_laws[0][name]
    assert any(law != python_law(case) for case, law in zip(cases(FAULTS[name].rule), found, strict=False))


def test_no_fault_is_seen_in_the_text_that_the_faults_are_put_into(faulty_laws):
    for case, found in faulty_laws[1]:
        expected = python_law(case)
        assert found == expected, difference(case, found, expected)


def test_the_definition_to_read_has_the_same_law_at_other_thresholds(threshold_laws):
    for case, found in zip(threshold_cases(), threshold_laws[0], strict=True):
        expected = python_law(case)
        assert found == expected, difference(case, found, expected)


@pytest.mark.parametrize("name", THRESHOLD_FAULTS)
def test_a_fault_in_the_definition_to_read_is_seen(name, threshold_laws):
    found = threshold_laws[1][name]
    assert any(law != python_law(case) for case, law in zip(threshold_cases(), found, strict=True))


@pytest.mark.parametrize("name", OTHERS)
def test_the_text_of_another_rule_is_translated_to_one_of_the_same_law(name, others_laws):
    for case, found in zip(others_cases(name), others_laws[name], strict=True):
        expected = python_law(case)
        assert found == expected, difference(case, found, expected)


def test_a_fault_replaces_a_text_that_stands_there_once():
    with pytest.raises(ValueError, match=r"rules.v holds 'no such text' 0 times, not once"):
        definitions(Fault("chain", "rules", "no such text", ""))
    with pytest.raises(ValueError, match=r"walk.v holds 'target' \d+ times, not once"):
        definitions(Fault("chain", "walk", "target", "draft"))
    with pytest.raises(ValueError, match=r"texts.v holds 'below' 0 times, not once"):
        definitions(Fault("chain", "texts", "below", ""))


def test_a_difference_is_shown_with_its_instance():
    case = next(case for case in cases("target_only") if case.instance.tree.depth == 1)
    shown = difference(case, {(0,): Fraction(1, 3), (1,): Fraction(2, 3)}, {(1,): Fraction(1)})
    assert shown.startswith(
        "the probability of (0,) is 1/3 by the Coq text and 0 by the Python text of target_only,"
    )
    assert all(f"p{context} = (" in shown for context in case.instance.target)


def test_the_committed_texts_are_what_the_translation_gives():
    assert (FOLDER / "texts.v").read_text() == texts(rules.get(n) for n in rules.names() if n in SCOPES)


@pytest.mark.parametrize("name", SCOPES)
def test_the_instances_are_of_every_kind(name):
    compared = cases(name)
    rule = rules.get(name)
    trees = [case.instance.tree for case in compared]
    targets = [list(case.instance.target.values()) for case in compared]
    assert len(compared) >= 40
    assert {case.instance.vocabulary for case in compared} == {2, 3, 4}
    assert {tree.depth for tree in trees} == {0, 1, 2, 3}
    assert any(0 in row and max(row) < 1 for rows in targets for row in rows)
    assert any(max(row) == 1 for rows in targets for row in rows)
    assert any(any(a != b for a, b in pairwise(rows)) for rows in targets)
    if not rule.single_path:
        assert {1, 2, 3, 4, 5, 6, 7} <= {tree.size for tree in trees}
        assert {1, 2, 3} <= {tree.width for tree in trees}
    if rule.fixed_tokens:
        assert any(map(has_equal_siblings, trees))
        assert not all(map(has_equal_siblings, trees))
    else:
        assert any(case.instance.draft == case.instance.target for case in compared)
        assert any(
            all(0 in pair for pair in zip(case.instance.target[()], case.instance.draft[()], strict=True))
            for case in compared
        )


def test_the_thresholds_are_of_every_kind():
    compared = [tuple(case.rule.settings.values()) for case in threshold_cases()]
    assert {(single < 1, acc < 1) for single, acc in compared} >= {
        (False, True),
        (True, False),
        (True, True),
    }


def test_the_laws_are_read_from_what_coq_prints():
    printed = (
        "     = [:: [:: 1; 4; 0]; [:: 1; 4; 2;\n 1]; [:: 1; 2; 0]]\n     : seq (seq Z)\n"
        "     = [::]\n     : seq (seq Z)\n"
    )
    assert parsed(printed) == [{(0,): Fraction(3, 4), (2, 1): Fraction(1, 4)}, {}]


@pytest.mark.parametrize(
    "printed",
    [
        "     = [:: [:: 1; 4]]\n     : seq (seq Z)\n",
        "     = [:: [:: -1; 4; 0]]\n     : seq (seq Z)\n",
        "     = [:: [:: 1%Z; 4; 0]]\n     : seq (seq Z)\n",
        "     = [:: [:: 1; 4; 0]; ..]\n     : seq (seq Z)\n",
        "     = [:: [:: 1; 4; 0]]\n     : seq (seq nat)\n",
        "     = [:: [:: 1; 4; 0]]\n",
        "     = [::]\n     : seq (seq Z)\nlaw_0 is defined\n",
    ],
    ids=["no tokens", "negative", "scope", "cut off", "other type", "no type", "more"],
)
def test_any_other_output_is_an_error(printed):
    with pytest.raises(ValueError, match="what is no law"):
        parsed(printed)
