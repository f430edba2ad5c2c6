from __future__ import annotations

from fractions import Fraction

import pytest

from losslesscheck import instances, rules
from losslesscheck.errors import RuleError
from losslesscheck.instances import Instance
from losslesscheck.machines import exact as exact_machine
from losslesscheck.rules import chain, specinfer, target_only, without_replacement
from losslesscheck.search import examine, search, simplify, worst
from losslesscheck.tree import Tree

HALF = Fraction(1, 2)


def row(*parts: int) -> list[Fraction]:
    return [Fraction(part, sum(parts)) for part in parts]


@pytest.mark.parametrize("name", rules.names())
def test_no_instance_speaks_against_a_lossless_rule(name: str) -> None:
    seen = search(rules.get(name), None, 3, random_instances=16)
    assert seen.found is None
    assert seen.small > 100
    assert seen.random == 16


@pytest.mark.parametrize("name", rules.broken())
def test_every_broken_pattern_is_refuted_by_hand_sized_fractions(name: str) -> None:
    rule = rules.get(name)
    found = search(rule, None, 3).found
    assert found is not None
    assert found.tv > 0
    assert found.instance.vocabulary <= 3
    assert all(a.denominator <= 4 for a in found.target)
    again = examine(rule, found.instance)
    assert again is not None
    assert again.emitted == found.emitted


def test_the_first_failure_has_the_smallest_denominator() -> None:
    found = search(rules.get("residual_not_renormalised"), None, 3).found
    assert found is not None
    assert max(a.denominator for a in found.target) == 3
    for denominator in (1, 2):
        for vocabulary in (2, 3):
            for tree in (Tree.regular((1,)), Tree.regular((2,))):
                for instance in instances.small(
                    rules.get("residual_not_renormalised"), [tree], [vocabulary], denominator
                ):
                    assert examine(rules.get("residual_not_renormalised"), instance) is None


@pytest.mark.parametrize(
    ("values", "tokens", "target", "tv"),
    [
        ({"threshold_acc": ".9"}, (0, 1), row(5, 3, 2), Fraction(4, 45)),
        ({"threshold_acc": ".5"}, (0, 1), row(5, 3, 2), HALF),
        ({"threshold_single": ".3"}, (0, 1), row(5, 3, 2), HALF),
        ({"threshold_acc": ".5"}, (1,), row(4, 2, 1, 1), Fraction(1, 4)),
        ({"threshold_single": ".2"}, (1,), row(4, 2, 1, 1), Fraction(3, 4)),
        ({"threshold_single": ".5"}, (2, 0), row(4, 2, 1, 1), Fraction(3, 8)),
    ],
)
def test_thresholds_give_the_known_bias(
    values: dict[str, str], tokens: tuple[int, ...], target: list[Fraction], tv: Fraction
) -> None:
    found = examine(target_only.bind(**values), Instance(len(target), Tree.siblings(tokens), {(): target}))
    assert found is not None
    assert found.tv == tv


def test_worst_reaches_the_known_supremum_of_a_threshold() -> None:
    rule = target_only.bind(threshold_acc=Fraction(9, 10))
    found = search(rule, None, 3).found
    assert found is not None
    assert worst(rule, found).tv == Fraction(1, 10)


def test_simplify_keeps_the_failure_and_shortens_the_rows() -> None:
    rule = rules.get("bonus_previous_row")
    instance = instances.arbitrary(rule, Tree.chain(1), 3, seed=5)
    found = examine(rule, instance)
    assert found is not None
    simple = simplify(rule, found)
    assert examine(rule, simple.instance) is not None
    assert sum(a.denominator for r in simple.instance.target.values() for a in r) < sum(
        a.denominator for r in instance.target.values() for a in r
    )


def test_undefined_mass_is_reported() -> None:
    rule = without_replacement.bind(exhausted="undefined")
    found = search(rule, Tree.regular((2,)), 2).found
    assert found is not None
    assert found.undefined > 0
    assert sum(found.emitted) + found.undefined == 1


def test_undefined_mass_needs_a_draft_with_a_small_support() -> None:
    rule = without_replacement.bind(exhausted="undefined")
    assert search(rule, Tree.regular((2,)), 3, positive_draft=True, random_instances=8).found is None


def test_the_target_of_a_greedy_rule_is_its_greedy_decoding() -> None:
    lossy = rules.get("blockwise").bind(top_k=2)
    found = search(lossy, None, 3).found
    assert found is not None
    assert sorted(found.target) in ([0, 1], [0, 0, 1])


def test_small_instances_are_not_repeated() -> None:
    seen = [
        (tuple(i.target[()]), tuple(i.draft[()]))
        for d in range(1, 5)
        for i in instances.small(chain, [Tree.chain(1)], [2, 3], d)
    ]
    assert len(seen) == len(set(seen))


def test_the_search_notices_a_minimum_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_machine.Exact, "min", lambda self, a, b: a)
    assert search(chain, None, 2, random_instances=0).found is not None


def test_the_search_notices_a_dropped_renormalisation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_machine.Exact, "norm", lambda self, v, otherwise=None: v)
    with pytest.raises(RuleError, match="no distribution"):
        search(specinfer, None, 2, random_instances=0)


def test_a_positive_draft_is_supposed_to_the_end() -> None:
    rule = rules.get("resample_target")
    found = search(rule, None, 3, positive_draft=True).found
    assert found is not None
    for seen in (found, worst(rule, found, positive_draft=True), simplify(rule, found, positive_draft=True)):
        assert all(a > 0 for row in seen.instance.draft.values() for a in row)
    assert any(a == 0 for row in worst(rule, found).instance.draft.values() for a in row)
