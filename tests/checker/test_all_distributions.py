"""The checker accepts what the all-distributions reading writes, and nothing that was tampered with."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from losslesscheck.checker import check
from losslesscheck.machines.all_distributions import prove
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree
from tests.machines import all_distributions_rules as small

Certificate = dict[str, Any]

WRITTEN = {
    "multi_step 2,1": (small.multi_step, (2, 1), 3, False),
    "multi_step 2,3": (small.multi_step, (2, 3), 2, False),
    "multi_step 4": (small.multi_step, (4,), 4, False),
    "thresholds 2": (small.thresholds(), (2,), 3, False),
    "point_mass 2": (small.point_mass, (2,), 3, False),
    "naive_sampling 2": (small.naive_sampling, (2,), 3, False),
    "tree_greedy 2": (small.tree_greedy, (2,), 3, False),
    "blockwise 1,1": (small.blockwise, (1, 1), 2, False),
    "without_replacement 2": (small.without_replacement, (2,), 3, False),
    "without_replacement_undefined 3": (small.without_replacement_undefined, (3,), 3, True),
    "by_branches 1": (small.by_branches, (1,), 3, False),
    "by_coin 1": (small.by_coin, (1,), 3, False),
    "walked 1,1": (small.walked, (1, 1), 3, False),
    "block_verification 1,1 V2": (small.block_verification, (1, 1), 2, False),
    "block_verification 1,1 V3": (small.block_verification, (1, 1), 3, False),
}


@cache
def written(name: str) -> str:
    rule, widths, vocabulary, positive = WRITTEN[name]
    proof = prove(rule, rule.fit(Tree.regular(widths), vocabulary), vocabulary, positive, certify=True)
    assert proof.holds, proof.reason
    return json.dumps(proof.certificate)


def certificate(name: str) -> Certificate:
    found: Certificate = json.loads(written(name))
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_accepts(name: str) -> None:
    assert check(certificate(name), WRITTEN[name][0].function) == []


def test_a_certificate_is_written_only_when_asked_for() -> None:
    assert prove(small.multi_step, Tree.regular((1,)), 2).certificate is None


def nodes(certificate: Certificate) -> Iterator[dict[str, Any]]:
    def below(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield node
        for _, _, child in node.get("options", []):
            yield from below(child)

    for unit in certificate["units"]:
        for state in unit["states"]:
            yield from below(state)


def first(certificate: Certificate, kind: str) -> dict[str, Any]:
    return next(node for node in nodes(certificate) if node.get("choose") == kind or kind in node)


def change_weight(c: Certificate) -> None:
    first(c, "flip")["options"][0][1] += " + 1/7"


def shift_weight(c: Certificate) -> None:
    options = first(c, "flip")["options"]
    options[0][1], options[1][1] = f"({options[0][1]})/2", f"({options[1][1]}) + ({options[0][1]})/2"


def swap_answers(c: Certificate) -> None:
    options = first(c, "flip")["options"]
    options[0][2], options[1][2] = options[1][2], options[0][2]


def drop_option(c: Certificate) -> None:
    first(c, "draw")["options"].pop()


def emit_another(c: Certificate) -> None:
    node = first(c, "emit")
    node["emit"] = [(token + 1) % c["vocabulary"] for token in node["emit"]]


def claim_undefined(c: Certificate) -> None:
    node = first(c, "emit")
    del node["emit"]
    node["undefined"] = True


def redefine_atom(c: Certificate) -> None:
    c["units"][0]["atoms"][0][1] += " + 1/5"


def negate_atom(c: Certificate) -> None:
    atom = c["units"][0]["atoms"][0]
    atom[1] = f"-({atom[1]})"


def rename_symbol(c: Certificate) -> None:
    c["units"][0]["distributions"][0][2][0] = c["units"][0]["distributions"][1][2][0]


def unnormalised(c: Certificate) -> None:
    c["units"][0]["distributions"][0][2][-1] = "1/2"


def drop_row(c: Certificate) -> None:
    c["units"][0]["rows"].pop()


def drop_unit(c: Certificate) -> None:
    c["units"].pop(0)


def other_vocabulary(c: Certificate) -> None:
    c["vocabulary"] += 1


def positive_draft(c: Certificate) -> None:
    c["positive_draft"] = not c["positive_draft"]


def other_statement(c: Certificate) -> None:
    c["statement"] = c["statement"].replace("every draft", "every draft without a zero")


def other_tree(c: Certificate) -> None:
    c["statement"] = c["statement"].replace("tree ", "tree 9,")


def other_hash(c: Certificate) -> None:
    c["hash"] = c["hash"][::-1]


def greedy(c: Certificate) -> None:
    c["greedy"] = not c["greedy"]


def zero_divisor(c: Certificate) -> None:
    owed = c["units"][0]["obligations"][0]
    owed["given"] = []
    owed["divisor"] = "p[0] - q[0]"


def missing_states(c: Certificate) -> None:
    c["units"][0]["states"] = []


TAMPERED = [
    change_weight,
    shift_weight,
    swap_answers,
    drop_option,
    emit_another,
    claim_undefined,
    redefine_atom,
    negate_atom,
    rename_symbol,
    unnormalised,
    drop_row,
    drop_unit,
    other_vocabulary,
    positive_draft,
    other_statement,
    other_tree,
    other_hash,
    greedy,
    zero_divisor,
    missing_states,
]


@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__)
@pytest.mark.parametrize("name", ["multi_step 2,1", "block_verification 1,1 V2"])
def test_rejects_tampering(name: str, tamper: Callable[[Certificate], None]) -> None:
    changed = certificate(name)
    tamper(changed)
    assert changed != certificate(name)
    assert check(changed, WRITTEN[name][0].function)


def splits(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "split" in case:
        yield case
        for _, below in case["branches"]:
            yield from splits(below)


def test_rejects_a_dropped_case() -> None:
    name = "block_verification 1,1 V3"
    function = WRITTEN[name][0].function
    found = certificate(name)
    places = [
        (row, number)
        for row, (_, case) in enumerate(found["units"][0]["rows"])
        for number, _ in enumerate(splits(case))
    ]
    assert len(places) > 5
    for row, number in places[:: max(1, len(places) // 8)]:
        changed = copy.deepcopy(found)
        list(splits(changed["units"][0]["rows"][row][1]))[number]["branches"].pop()
        assert check(changed, function)


def test_rejects_a_case_tree_that_stops_early() -> None:
    name = "block_verification 1,1 V3"
    changed = certificate(name)
    for row in changed["units"][0]["rows"]:
        row[1] = {}
    assert any("not zero" in problem for problem in check(changed, WRITTEN[name][0].function))


def test_rejects_a_split_that_does_not_fix_what_it_says() -> None:
    name = "block_verification 1,1 V3"
    changed = certificate(name)
    for _, case in changed["units"][0]["rows"]:
        for split in splits(case):
            split["fixed"] = [atom for atom, _ in changed["units"][0]["atoms"]]
    assert any("does not fix" in problem for problem in check(changed, WRITTEN[name][0].function))


@pytest.mark.parametrize(
    "other", [small.resample_target, small.zero_rejected, small.by_branches], ids=lambda rule: rule.name
)
def test_rejects_the_certificate_of_another_rule(other: Rule) -> None:
    changed = certificate("multi_step 2,1")
    assert any("hash" in problem for problem in check(changed, other.function))
    changed["hash"] = other.hash
    assert check(changed, other.function)


@pytest.mark.parametrize("missing", ["units", "hash", "vocabulary", "statement", "form", "parameters"])
def test_reports_what_is_malformed(missing: str) -> None:
    changed = certificate("multi_step 2,1")
    del changed[missing]
    assert any("malformed" in problem for problem in check(changed, small.multi_step.function))
