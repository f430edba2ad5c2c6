"""Every broken pattern is off on some small instance, and nothing but its fault is to blame."""

import itertools
from collections.abc import Iterator
from fractions import Fraction

import pytest

from losslesscheck import rules
from losslesscheck.law import UNDEFINED
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.rules.broken import PATTERNS
from losslesscheck.tree import Tree
from tests.rules.laws import Row, law, off, row

BROKEN = [pytest.param(rules.get(name), id=name) for name in rules.broken()]


def simplex(vocabulary: int, denominator: int) -> list[Row]:
    return [
        [Fraction(part, denominator) for part in parts]
        for parts in itertools.product(range(denominator + 1), repeat=vocabulary)
        if sum(parts) == denominator
    ]


def small_instances() -> Iterator[tuple[Model, Model]]:
    """Rows in halves and thirds; the first position's target may differ from the later ones'."""
    for vocabulary, denominator in itertools.product((2, 3), (1, 2, 3)):
        rows = simplex(vocabulary, denominator)
        for p, q in itertools.product(rows, rows):
            yield Model.constant(p), Model.constant(q)
        if vocabulary == 2:
            for first, later, q in itertools.product(rows, repeat=3):
                yield Model.positions([first, later]), Model.constant(q)


@pytest.mark.parametrize("rule", BROKEN)
def test_fails_on_a_small_instance(rule: Rule) -> None:
    assert any(off(rule, p, q) != "" for p, q in small_instances())


@pytest.mark.parametrize("rule", BROKEN)
def test_never_undefined(rule: Rule) -> None:
    """The fault is a wrong law, not a division by zero that hides it."""
    for p, q in small_instances():
        assert UNDEFINED not in law(rule, p, q)


@pytest.mark.parametrize("rule", BROKEN)
def test_says_what_is_wrong(rule: Rule) -> None:
    assert rule.broken.endswith(".")
    assert "\n" not in rule.broken
    assert not rule.claims_lossless


def test_zeroing_only_the_rejected_token_is_right_for_two_tokens() -> None:
    rule = rules.get("zero_rejected")
    rows = simplex(2, 6)
    assert all(off(rule, p, q) == "" for p, q in itertools.product(rows, rows))
    assert off(rule, row(0, ".5", ".5"), row(".5", 0, ".5")) != ""


@pytest.mark.parametrize(
    ("rule", "right"),
    [("threshold_acc", {"threshold_acc": 1}), ("threshold_single", {"threshold_single": 1})],
    ids=["threshold_acc", "threshold_single"],
)
def test_threshold_of_one_is_right(rule: str, right: dict[str, int]) -> None:
    assert off(rules.get(rule).bind(**right), row(".5", ".3", ".2"), tree=Tree.siblings([0, 1])) == ""


def test_cutting_nothing_is_right() -> None:
    rule = rules.get("length_by_discarded").bind(confidence=0)
    rows = simplex(3, 3)
    assert all(off(rule, p, q, Tree.chain(2)) == "" for p, q in itertools.product(rows, rows))


def test_every_pattern_is_listed_under_its_own_name() -> None:
    assert list(PATTERNS) == rules.broken()
    assert not set(rules.broken()) & set(rules.names())
