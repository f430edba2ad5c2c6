"""The any-vocabulary reading: what it proves, what it must not prove, and that both depend on its parts."""

from __future__ import annotations

from fractions import Fraction

import pytest

from losslesscheck import rules
from losslesscheck.errors import RuleError
from losslesscheck.machines import any_vocabulary
from losslesscheck.machines.any_vocabulary import decisions, prove, scenes
from losslesscheck.machines.any_vocabulary.generic import Generic
from losslesscheck.machines.any_vocabulary.signs import Signs
from losslesscheck.machines.any_vocabulary.values import Vector
from losslesscheck.rule import rule
from tests.machines.any_vocabulary_rules import CORRECT, FAULTY


@pytest.mark.parametrize("name", rules.names())
def test_a_rule_of_the_house_is_proved(name):
    proof = prove(rules.get(name))
    assert proof.holds, proof.reason
    assert proof.certificate is not None
    assert proof.every_tree == (rules.get(name).form == "step")


@pytest.mark.parametrize("name", sorted({*rules.broken()} - {"block_weights"}))
def test_a_broken_pattern_is_not_proved(name):
    assert not prove(rules.get(name)).holds


def test_a_fault_that_needs_two_drafts_is_outside_the_statement():
    proof = prove(rules.get("block_weights"))
    assert proof.holds
    assert not proof.every_tree
    assert "on one level of one draft; nothing about deeper trees" in proof.statement


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_rule_is_proved(name):
    proof = prove(CORRECT[name], siblings=2)
    assert proof.holds, proof.reason


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_rule_is_not_proved(name):
    proof = prove(FAULTY[name])
    assert not proof.holds
    assert proof.reason
    assert proof.certificate is None


def test_the_step_identity_of_the_chain():
    facts = prove(rules.get("chain")).facts
    assert facts["identity"] == "(q[y] + nu0[y]) + (p[y] - q[y] - nu0[y]) = p[y]"
    assert facts["atoms"] == ["nu0[y] = min(p[y] - q[y], 0)"]
    assert facts["sums"] == ["S0 = sum over y of nu0[y]"]
    assert facts["paths"] == 2
    assert facts["obligations"] == ["q[x1] = (q[x1]) * (1)", "-S0 = (S0) * (-1)"]


@pytest.mark.parametrize("siblings", [0, 1, 4])
def test_nodes_of_more_siblings(siblings):
    proof = prove(rules.get("target_only"), siblings=siblings)
    assert proof.holds
    assert f"up to {siblings} distinct siblings" in proof.statement


def test_specinfer_written_whole_is_proved_for_three_drafts():
    @rule
    def multi_step(m, p, q, tree):
        residual = p(())
        for _ in tree.children:
            x = m.draw(q(()))
            if m.flip(m.min(m.one, residual[x] / q(())[x])):
                return (x, m.draw(p((x,))))
            residual = m.norm(m.relu(residual - q(())))
        return (m.draw(residual),)

    proof = prove(multi_step, siblings=3)
    assert proof.holds
    assert not proof.every_tree
    assert "one level of 1 to 3 drafts; nothing about deeper trees" in proof.statement


def test_without_replacement_says_what_it_supposes():
    assert "fewer siblings than" in prove(rules.get("without_replacement")).statement


def test_an_exhausted_draft_is_reported_as_such():
    proof = prove(rules.get("without_replacement").bind(exhausted="undefined"))
    assert not proof.holds
    assert "the draft may be exhausted" in proof.reason


@pytest.mark.parametrize("threshold", ["9/10", "1/2"])
def test_a_threshold_below_one_leaves_a_difference(threshold):
    proof = prove(rules.get("target_only").bind(threshold_acc=Fraction(threshold)))
    assert not proof.holds
    assert "differs from p[y] by" in proof.reason


def test_a_comparison_that_depends_on_the_distribution_is_undecided():
    proof = prove(rules.get("target_only").bind(threshold_single=Fraction(3, 10)))
    assert "compares 3/10 with p[t1]" in proof.reason


def test_lenience_of_one_is_the_chain():
    assert prove(FAULTY["lenient"].bind(factor=1)).holds


@pytest.mark.parametrize("share", ["1/3", "1"])
def test_slack_is_proved_for_every_share(share):
    assert prove(CORRECT["slack"].bind(share=Fraction(share))).holds


def test_a_rule_that_raises_is_an_error():
    @rule
    def raises(m, p, q, accept, reject):
        raise ValueError("no")

    with pytest.raises(RuleError, match="ValueError: no"):
        prove(raises)


def test_a_rule_that_returns_no_outcome_is_an_error():
    @rule
    def returns_a_token(m, p, q, accept, reject):
        return m.draw(q)

    with pytest.raises(RuleError, match="continuations"):
        prove(returns_a_token)


# Tests of the tests: with a part of the machine broken, some answer above is wrong.


def expects(name: str) -> bool:
    known = CORRECT | FAULTY
    made = known[name] if name in known else rules.get(name)
    return prove(made, siblings=2).holds


def test_with_max_for_min_the_chain_is_not_proved(monkeypatch):
    monkeypatch.setattr(Signs, "minimum", lambda self, a, b: b + self.positive_part(a - b))
    assert not expects("chain")


def test_without_obligations_undefined_rules_are_proved(monkeypatch):
    monkeypatch.setattr(any_vocabulary, "obligations", lambda root, fixed, c: [])
    assert expects("exhausted_draft")
    assert expects("zero_over_zero")
    assert expects("equality_of_numbers")


def test_with_a_norm_that_does_not_divide_the_chain_is_not_proved(monkeypatch):
    monkeypatch.setattr(Generic, "norm", lambda self, vector, otherwise=None: vector)
    assert not expects("chain")


def test_without_excluded_terms_two_drafts_are_not_proved(monkeypatch):
    assert expects("drafted_first")
    monkeypatch.setattr(decisions, "excluding", lambda f, token, others, c: c.total(f, token))
    assert not expects("drafted_first")


def test_without_the_requirement_of_distributions_a_lost_normalisation_stays_unseen(monkeypatch):
    monkeypatch.setattr(Generic, "require_distribution", lambda self, vector, verb: None)

    @rule
    def lost(m, p, q, accept, reject):
        if m.flip(m.number(Fraction(1, 2))):
            return reject(p * 2)
        return reject(p * 0)

    assert prove(lost).holds
    monkeypatch.undo()
    assert not prove(lost).holds


def test_without_the_law_of_the_second_token_a_wrong_bonus_is_proved(monkeypatch):
    monkeypatch.setattr(any_vocabulary, "_seconds", lambda root, m, greedy: {})
    assert expects("bonus_previous_row")


def test_with_distinct_siblings_only_a_duplicate_stays_unseen(monkeypatch):
    monkeypatch.setattr(scenes, "_siblings", lambda rule, count: [tuple(f"t{i + 1}" for i in range(count))])
    assert expects("duplicate_siblings")


def test_with_tokens_forgotten_by_without_the_point_mass_is_not_proved(monkeypatch):
    monkeypatch.setattr(Generic, "without", lambda self, vector, *tokens: Vector(self, vector.entries))
    assert not expects("point_mass")


def test_with_every_comparison_taken_as_strict_the_impossible_is_accepted(monkeypatch):
    owed = Generic.less

    def less(self, a, b, strict):
        node, self._node = self._node, decisions.Node(self.fixed)
        try:
            return owed(self, a, b, strict)
        finally:
            self._node = node

    monkeypatch.setattr(Generic, "less", less)
    assert expects("accepts_the_impossible")


def test_without_blindness_a_rule_that_counts_siblings_is_proved(monkeypatch):
    monkeypatch.setattr(scenes, "require_blind", lambda function: None)
    assert expects("slices_the_tried")
