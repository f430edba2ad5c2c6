"""The all-distributions reading: what it proves, what it must not prove, and that the tests can tell."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from losslesscheck.algebra.field import Rational
from losslesscheck.checker.expression import evaluate
from losslesscheck.errors import RuleError
from losslesscheck.law import UNDEFINED
from losslesscheck.machines.all_distributions import Unit, evaluated, parts, prove
from losslesscheck.machines.all_distributions.cases import Cases
from losslesscheck.machines.all_distributions.domain import Domain
from losslesscheck.machines.all_distributions.obligations import Ledger
from losslesscheck.machines.all_distributions.symbolic import Symbolic
from losslesscheck.machines.exact import exact_law
from losslesscheck.model import Model
from losslesscheck.proof import Proof
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree
from tests.machines import all_distributions_rules as small

TREES = {"2": (2,), "2,1": (2, 1), "2,2": (2, 2), "1,1": (1, 1), "3": (3,), "1": (1,), "1,1,1": (1, 1, 1)}


def proof(rule: Rule, tree: str | Tree, vocabulary: int = 3, **options: Any) -> Proof:
    shape = Tree.regular(TREES[tree]) if isinstance(tree, str) else tree
    return prove(rule, rule.fit(shape, vocabulary), vocabulary, **options)


PROVED = [
    *((small.multi_step, tree, 3) for tree in ("1,1", "2", "2,1", "2,2")),
    *((small.thresholds(), tree, 3) for tree in ("2", "2,1")),
    *((small.point_mass, tree, 3) for tree in ("2", "2,1")),
    (small.without_replacement, "2", 3),
    (small.without_replacement, "2,1", 3),
    (small.without_replacement, "3", 3),
    (small.naive_sampling, "2,1", 3),
    (small.tree_greedy, "2,1", 3),
    (small.blockwise, "1,1", 2),
    (small.block_verification, "1,1", 2),
    (small.block_verification, "1,1", 3),
    (small.by_branches, "1", 3),
    (small.by_coin, "2", 3),
    (small.drafted_first, "2", 3),
    (small.walked, "2,1", 3),
    (small.zero_rejected, "1", 2),  # lossless indeed, at V = 2 only
    (small.multi_step, "2", 1),
]


@pytest.mark.parametrize(
    ("rule", "tree", "vocabulary"), [pytest.param(*p, id=f"{p[0].name}-{p[1]}-V{p[2]}") for p in PROVED]
)
def test_proves(rule: Rule, tree: str, vocabulary: int) -> None:
    found = proof(rule, tree, vocabulary)
    assert found.holds, found.reason
    assert found.statement.startswith(f"V = {vocabulary}, tree ")
    assert found.reason == ""


NOT_PROVED = [
    (small.resample_target, "1", 2),
    (small.residual_not_updated, "2", 2),
    (small.residual_not_updated, "2", 3),
    (small.zero_rejected, "1", 3),
    (small.sorted_siblings, "2", 2),
    (small.sorted_siblings, "2", 3),
    (small.thresholds(acc="9/10"), "2", 3),
    (small.thresholds(single="1/2"), "2", 3),
    (small.thresholds(), Tree.siblings([1, 1]), 3),
    (small.reused_coin, "1", 3),
    (small.block_by_own_weight, "1,1", 2),
    (small.bonus_from_row_before, "1,1", 2),
    (small.not_renormalised, "1", 2),
    (small.beyond_one, "1", 2),
]


@pytest.mark.parametrize(
    ("rule", "tree", "vocabulary"),
    [
        pytest.param(*p, id=f"{p[0].name}{'-'.join(map(str, p[0].values.values()))}-{p[1]}-V{p[2]}")
        for p in NOT_PROVED
    ],
)
def test_does_not_prove(rule: Rule, tree: str | Tree, vocabulary: int) -> None:
    found = proof(rule, tree, vocabulary)
    assert not found.holds
    assert found.certificate is None
    assert found.reason
    assert "\n" not in found.reason


def test_a_greedy_rule_is_not_lossless_for_sampling() -> None:
    sampling = Rule("sampling", small.tree_greedy.function, "node", fixed_tokens=True)
    assert not proof(sampling, "2").holds


def test_a_sampling_rule_is_not_greedy() -> None:
    greedy = Rule("greedy", small.walked.function, "whole", greedy=True)
    assert not proof(greedy, "1,1").holds


def test_equality_of_numbers_is_refused() -> None:
    with pytest.raises(RuleError, match="compared with < and <="):
        proof(small.equality, "1")


def test_grid_coins_are_beyond_the_reading() -> None:
    def on_a_grid(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        x = m.draw(q)
        return accept(x) if m.coin(8) < p[x] / q[x] else reject(m.norm(m.relu(p - q)))

    found = proof(Rule("grid", on_a_grid, "step"), "1")
    assert not found.holds
    assert "grid" in found.reason


# 0/0


@pytest.mark.parametrize("tree", ["2", "3"])
def test_an_exhausted_draft_is_undefined(tree: str) -> None:
    found = proof(small.without_replacement_undefined, tree)
    assert not found.holds
    assert "divisor" in found.reason
    where = found.facts["undefined_at"]
    p, q = Model.constant(where["target"]), Model.constant(where["draft"])
    law = exact_law(small.without_replacement_undefined, p, q, Tree.regular(TREES[tree]))
    assert str(law[UNDEFINED]) == str(where["probability"])
    assert where["draft"].count(0) > 0


@pytest.mark.parametrize("tree", ["2", "3"])
def test_a_positive_draft_is_never_exhausted(tree: str) -> None:
    found = proof(small.without_replacement_undefined, tree, assume_positive_draft=True)
    assert found.holds
    assert found.statement.endswith("every draft without a zero")


def test_the_statement_says_every_draft() -> None:
    assert proof(small.multi_step, "1").statement == "V = 3, tree 1: every target and every draft"


# The law


def random_row(source: random.Random, vocabulary: int) -> list[Fraction]:
    weights = [source.randint(1, 6) for _ in range(vocabulary)]
    return [Fraction(w, sum(weights)) for w in weights]


def formula(unit: Unit, p: Model, q: Model) -> dict[tuple[int, ...], Fraction]:
    """The law as a formula, at a point where no denominator in it is zero.

    Raises:
        ZeroDivisionError: at any other point.
    """
    values: dict[str, Any] = {}
    for (model, context), vector in unit.domain.distributions.items():
        row = (p if model == "p" else q).exact(context)
        values |= {str(entry): value for entry, value in zip(vector[:-1], row[:-1], strict=True)}
    text = unit.domain.field.one.text
    for atom in unit.domain.atoms:
        values[atom.name] = min(Fraction(evaluate(text(atom.definition), values)), Fraction(0))
    for i in unit.domain.indicators:
        core = Fraction(evaluate(text(i.core), values))
        values[i.name] = int(core >= 0 if i.flipped else core <= 0)
    return {outcome: Fraction(evaluate(str(weight), values)) for outcome, weight in unit.law.items()}


@pytest.mark.parametrize(
    "rule",
    [small.block_verification, small.walked, small.block_by_own_weight, small.by_coin],
    ids=lambda rule: rule.name,
)
def test_the_formula_is_the_exact_law(rule: Rule) -> None:
    tree = Tree.chain(2) if rule.form == "whole" else Tree.chain(1)
    unit = evaluated(rule, parts(rule, tree)[0], 3, False)
    source, compared = random.Random(5), 0
    while compared < 6:
        p, q = (Model.table([random_row(source, 3) for _ in range(1 + 3 + 9)]) for _ in "pq")
        try:
            expected = {outcome: w for outcome, w in formula(unit, p, q).items() if w}
        except ZeroDivisionError:
            continue
        exact: dict[tuple[int, ...], Fraction] = {}
        for outcome, mass in exact_law(rule, p, q, tree).items():
            key = max((o for o in unit.law if outcome[: len(o)] == o), key=len)
            exact[key] = exact.get(key, Fraction(0)) + Fraction(int(mass.p), int(mass.q))
        assert expected == exact
        compared += 1


# The tests can tell


def test_max_for_min_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Domain, "minimum", lambda self, a, b: a - self.below(a - b))
    assert not proof(small.multi_step, "1").holds


def test_a_missing_renormalisation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Symbolic, "norm", lambda self, vector, otherwise=None: vector)
    assert not proof(small.multi_step, "1").holds


def test_skipped_obligations_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "owe", lambda self, owed: None)
    assert proof(small.without_replacement_undefined, "2").holds  # which it must not


def test_skipped_bounds_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def flip_free(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        x = m.draw(q)
        m.flip(p[x] / q[x])
        return accept(x)

    coupled = Rule("coupled", flip_free, "step")
    plain = Tree.chain(1)
    assert "could be negative" in prove(coupled, plain, 2).reason
    monkeypatch.setattr(Ledger, "bound", lambda self, value, what: None)
    assert "could be negative" not in prove(coupled, plain, 2).reason


def test_a_dropped_case_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = small.thresholds(single="1/2")
    assert not proof(broken, "1").holds
    signs = Cases._signs
    monkeypatch.setattr(Cases, "_signs", lambda *given: [s for s in signs(*given) if s < 0])
    assert proof(broken, "1").holds  # which it must not


def test_an_atom_of_the_wrong_sign_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Domain, "relu", lambda self, a: a + self.below(a))
    assert not proof(small.multi_step, "1").holds


# Signs


def test_facts_about_minima() -> None:
    domain = Domain(3, 32)
    p, q = domain.distribution("p", ()), domain.distribution("q", ())
    least = domain.minimum(p[0], q[0])
    assert [domain.sign_of(v) for v in (least, p[0] - least, q[0] - least)] == [1, 1, 1]
    assert domain.sign_of(p[0] - q[0]) == 0
    assert domain.sign_of(p[0] + p[1] - domain.field.one) == -1
    assert domain.minimum(p[0], p[0] + q[1]).same(p[0])


def test_comparisons_of_the_same_numbers_share_an_atom() -> None:
    domain = Domain(3, 32)
    p, q = domain.distribution("p", ()), domain.distribution("q", ())
    domain.relu(p[0] - q[0])
    domain.minimum(domain.field.one, p[0] / q[0])
    domain.relu(q[0] * p[1] - p[0] * p[1])
    assert len(domain.atoms) == 1


def test_indicators_are_idempotent() -> None:
    domain = Domain(2, 8)
    p = domain.distribution("p", ())
    beta = domain.field.symbol(domain.indicator((p[0] - Fraction(1, 2)).numerator).name)
    value: Rational = beta * beta * p[0] - beta * p[0]
    assert not value.is_zero()
    assert domain.reduced(value).is_zero()
