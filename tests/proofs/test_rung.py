"""The theorem rung of the ladder: which rules have a theorem, which one, and on whose word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from losslesscheck import Tree, checker, rules, verify
from losslesscheck.checker.any_vocabulary import THEOREMS as THEOREMS_OF_CHECKER
from losslesscheck.machines.any_vocabulary import prove
from losslesscheck.proof import THEOREM_OF
from losslesscheck.proofs import audit
from losslesscheck.proofs.theorems import SCOPES, THEOREMS
from losslesscheck.rule import rule
from losslesscheck.verdict import Evidence, Verdict


def rung(verdict: Verdict) -> Evidence:
    return next(e for e in verdict.evidence if e.tier == "theorem")


def test_the_hypothesis_is_the_text_s_identity() -> None:
    verdict = verify("specinfer", only=["theorem"])
    found = json.loads(json.dumps(verdict.to_dict()))["evidence"][0]
    assert (found["tier"], found["result"]) == ("theorem", "holds")
    assert found["data"]["theorem"] == "tree_lossless"
    hypothesis = found["data"]["hypothesis"]
    assert hypothesis["identity"] == prove(rules.get("specinfer")).facts["identity"]
    assert "q[y]" in hypothesis["identity"]
    assert hypothesis["identity"].endswith("= p[y]")
    assert hypothesis["established_by"] == "any-vocabulary"
    assert verdict.verdict == "lossless"
    assert verdict.scope == "any vocabulary and any tree (theorem tree_lossless)"
    assert "theorem tree_lossless" in verdict.summary


@pytest.mark.parametrize("name", [name for name in rules.names() if name in SCOPES])
def test_every_translated_rule_has_a_theorem(name: str) -> None:
    verdict = verify(name, only=["theorem"])
    found = rung(verdict)
    assert found.result == "holds"
    assert found.proof
    assert (
        found.data["translation_of"] == name
        or rules.get(name).text == rules.get(found.data["translation_of"]).text
    )
    assert found.data["theorem"] in {t.name for t in THEOREMS}
    assert verdict.verdict == "lossless"


@pytest.mark.parametrize("name", rules.broken())
def test_no_broken_pattern_has_a_theorem(name: str) -> None:
    verdict = verify(name, only=["theorem"])
    assert rung(verdict).result in ("undecided", "skipped")
    assert verdict.verdict != "lossless"


@pytest.mark.parametrize("name", rules.broken())
def test_a_refuted_rule_needs_no_theorem(name: str) -> None:
    verdict = verify(name, only=["theorem", "exact"])
    assert rung(verdict).result == "skipped"
    assert verdict.verdict == "lossy"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("target_only", {"threshold_acc": ".9"}),
        ("target_only", {"threshold_single": ".9"}),
        ("blockwise", {"top_k": 2}),
        ("blockwise", {"minimum_block": 2}),
        ("blockwise", {"distance": 1}),
        ("without_replacement", {"exhausted": "undefined"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_a_rule_with_lossy_parameters_has_no_theorem(name: str, parameters: dict[str, Any]) -> None:
    assert rung(verify(name, only=["theorem"], **parameters)).result in ("undecided", "skipped")


def test_a_step_rule_of_one_s_own_has_a_theorem() -> None:
    def overlap(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        x = m.draw(q)
        return accept(x) if m.flip(m.min(p[x], q[x]) / q[x]) else reject(m.norm(m.relu(p - q)))

    verdict = verify(overlap, only=["theorem"])
    assert rung(verdict).data["theorem"] == "tree_lossless"
    assert "translation_of" not in rung(verdict).data
    assert verdict.verdict == "lossless"


def test_a_node_rule_of_one_s_own_has_a_theorem() -> None:
    def match(m: Any, p: Any, siblings: Any, accept: Any, end: Any) -> Any:
        y = m.draw(p)
        for token in siblings:
            if token == y:
                return accept(token)
        return end(y)

    verdict = verify(match, only=["theorem"])
    assert rung(verdict).data["theorem"] == "node_lossless"
    assert "up to 3 siblings at a node" in verdict.scope


def test_a_step_that_is_biased_has_none() -> None:
    def resampled(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        x = m.draw(q)
        return accept(x) if m.flip(m.min(m.one, p[x] / q[x])) else reject(p)

    found = rung(verify(resampled, only=["theorem"]))
    assert found.result == "undecided"
    assert "hypothesis of tree_lossless was not established" in found.detail


def test_more_tokens_tried_than_siblings_are_beyond_the_theorem() -> None:
    def two_more(m: Any, p: Any, q: Any, accept: Any, reject: Any, tried: Any = ()) -> Any:
        q = m.norm(m.without(q, *tried), otherwise=m.uniform(without=tried))
        x = m.draw(q)
        if m.flip(m.min(m.one, p[x] / q[x])):
            return accept(x)
        y = m.draw(q)
        return reject(m.norm(m.relu(p - q)), tried=(*tried, x, y))

    def two_excluded(m: Any, p: Any, q: Any, accept: Any, reject: Any, tried: Any = ()) -> Any:
        a, b = m.draw(q), m.draw(q)
        q = m.uniform(without=(*tried, a, b))
        x = m.draw(q)
        if m.flip(m.min(m.one, p[x] / q[x])):
            return accept(x)
        return reject(m.norm(m.relu(p - q)), tried=(*tried, x))

    for careless in (two_more, two_excluded):
        assert verify(careless, only=["theorem"]).verdict == "undecided"
        assert verify(careless, only=["exact"], tree=(3,), vocabulary=4).verdict == "lossy"


def test_a_copy_of_block_verification_has_its_theorem(tmp_path: Path) -> None:
    text = rules.get("block_verification").text
    copied = tmp_path / "mine.py"
    copied.write_text(
        "from losslesscheck.rule import rule\nfrom losslesscheck.tree import Tree\n\n\n" + _plain(text)
    )
    found = rung(verify(f"{copied}:block_verification", only=["theorem"]))
    assert found.result == "holds"
    assert found.data["theorem"] == "block_verification_text_lossless"

    changed = tmp_path / "changed.py"
    changed.write_text(copied.read_text().replace("surplus + 1 - weight", "surplus + 2 - weight - weight"))
    assert changed.read_text() != copied.read_text()
    other = rung(verify(f"{changed}:block_verification", only=["theorem"]))
    assert other.result == "skipped"
    assert "no theorem speaks of this text" in other.detail


def _plain(text: str) -> str:
    """The rule's text with the facts that matter, and without annotations that need imports."""
    body = text[text.index("def ") :]
    _, _, rest = body.partition("\n")
    return (
        "@rule(single_path=True, tree=Tree.chain(2))\n"
        "def block_verification(m, p, q, tree):\n" + rest.replace("drafts: Context = ()", "drafts = ()")
    )


def test_the_text_of_a_greedy_rule_says_nothing_about_sampling() -> None:
    careless = rule(rules.get("tree_greedy").function, name="careless", greedy=False)
    verdict = verify(careless, only=["theorem"])
    assert rung(verdict).result == "undecided"
    assert verdict.verdict == "undecided"


def test_the_theorem_on_distinct_siblings_says_nothing_about_equal_ones() -> None:
    known = rules.get("target_only")
    careless = rule(known.function, name="careless", parameters=known.parameters)
    assert rung(verify(careless, tree=Tree.siblings([0, 0]), only=["theorem"])).result == "undecided"
    assert rung(verify("target_only", tree=Tree.siblings([1, 0]), only=["theorem"])).result == "holds"


def test_a_rule_that_builds_its_own_tree_has_none() -> None:
    found = rung(verify("standalone", only=["theorem"]))
    assert found.result == "skipped"


def test_the_certificate_names_the_theorem() -> None:
    for name in ("specinfer", "point_mass", "target_only", "block_verification"):
        rule = rules.get(name)
        certificate = prove(rule).certificate
        assert certificate is not None
        assert certificate["theorem"] == THEOREM_OF.get(rule.form)
        assert checker.check(certificate, rule.function) == []
        certificate["theorem"] = "block_verification_lossless"
        assert any("the theorem is" in problem for problem in checker.check(certificate, rule.function))


def test_the_rung_says_on_whose_word_it_stands() -> None:
    found = rung(verify("chain", only=["theorem"]))
    whole = audit.Audit.load()
    assert found.detail.endswith(
        f"checked by the audit ({whole.date}, Coq {whole.coq}, MathComp {whole.mathcomp})"
    )
    assert found.data["checked"]["by"] == "the audit"
    assert found.data["checked"]["digest"] == audit.digest(audit.hashes())


def test_the_checker_and_the_reading_name_the_same_theorems() -> None:
    assert {form: THEOREM_OF.get(form) for form in ("step", "node", "whole")} == THEOREMS_OF_CHECKER
