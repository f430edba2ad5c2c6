"""Greedy rules: what passes, and what reports and failures say."""

from __future__ import annotations

import re
from typing import Any

import pytest

from losslesscheck import Tree, rules
from losslesscheck.errors import InputError
from losslesscheck.testing import GreedyReport, assert_lossless, reference, subject
from tests.testing.faulty_greedy import (
    LastOfTies,
    NothingAccepted,
    OneTooFew,
    OneTooMany,
    RowOfTheParent,
    Verifier,
)

RULES = ("tree_greedy", "blockwise")
VOCABULARIES = (3, 8, 33)


def passed(*arguments: Any, **options: Any) -> GreedyReport:
    report = assert_lossless(*arguments, **options)
    assert isinstance(report, GreedyReport)
    return report


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("rule", RULES)
def test_correct_implementations_pass_and_every_accept_length_happens(rule: str, vocabulary: int) -> None:
    for checked in (Verifier(), reference.subject(rule), reference.subject(rule, dtype="float64")):
        report = passed(checked, rule, vocabulary=vocabulary)
        assert report.steps == sum(report.accepted) == 256
        assert len(report.accepted) == 3
        assert min(report.accepted) >= 50


def test_the_report_says_what_was_run() -> None:
    report = str(passed(reference.subject("tree_greedy")))
    assert re.search(r"right in all of 256 steps on 32 problems", report)
    assert "accept lengths 0, 1, 2 came up" in " ".join(report.split())
    assert "TV" not in report


def test_the_failure_shows_a_case_that_can_be_checked_by_hand() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_lossless(LastOfTies(), "tree_greedy")
    lines = str(caught.value).splitlines()
    assert lines[0] == "LastOfTies does not reproduce the target's greedy decoding."
    assert lines[lines.index("A smaller case:") + 1 :] == [
        "tree_greedy on V = 2, row 0 of 4:",
        "  draft tokens    0",
        "  p at the start  (1/2, 1/2), likeliest 0",
        "  expected        0 0  (1 accepted)",
        "  emitted         1  (0 accepted)",
        "",
        "No chance is involved: tree_greedy throws no coins. Seed 0.",
    ]


def test_right_tokens_in_too_short_steps_are_told_from_wrong_ones() -> None:
    with pytest.raises(AssertionError, match="emits the target's greedy decoding, but accepts fewer draft"):
        assert_lossless(NothingAccepted(), "tree_greedy")
    with pytest.raises(AssertionError, match="OneTooMany"):
        assert_lossless(OneTooMany(), "tree_greedy")


def test_given_rows_and_given_draft_tokens() -> None:
    rows = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    report = passed(reference.subject("tree_greedy"), target=rows)
    assert report.vocabulary == 3
    assert min(report.accepted) >= 50
    assert passed(reference.subject("blockwise"), target=rows, draft=rows[:2]).accepted[2] >= 50
    with pytest.raises(AssertionError):
        assert_lossless(OneTooFew(), "tree_greedy", target=rows)
    fixed = Tree((Tree((Tree(token=3),), 1), Tree(token=2)))
    assert min(passed(reference.subject("tree_greedy"), tree=fixed).accepted) > 0
    with pytest.raises(AssertionError):
        assert_lossless(RowOfTheParent(), "tree_greedy", tree=fixed)


def test_trees_of_any_shape() -> None:
    early = Tree.from_parents([-1, -1, 0, 2, 3])
    for tree in (Tree.chain(0), Tree.chain(1), Tree.chain(12), Tree.regular((3, 2, 2)), early):
        report = passed(reference.subject("tree_greedy"), tree=tree, vocabulary=8)
        assert len(report.accepted) == tree.depth + 1
        assert min(report.accepted) >= 2


def test_a_lossy_rule_is_held_against_what_it_does_itself() -> None:
    lossy = rules.get("blockwise").bind(top_k=2)
    assert passed(reference.subject(lossy)).steps == 256
    with pytest.raises(AssertionError, match="does not reproduce the law of blockwise"):
        assert_lossless(Verifier(), lossy)
    with pytest.raises(AssertionError, match="does not reproduce the target's greedy decoding"):
        assert_lossless(reference.subject(lossy), "blockwise")


def test_fewer_steps_and_small_batches() -> None:
    report = passed(subject(Verifier(), batch=7), "tree_greedy", samples=40)
    assert report.steps == sum(report.accepted) == 40
    assert passed(Verifier(), "tree_greedy", samples=5).problems == 5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype: str) -> None:
    torch = pytest.importorskip("torch")

    def verify(target: Any, tokens: Any, parents: Any, draft: Any) -> Any:
        assert target.dtype is getattr(torch, dtype)
        return Verifier()(*(a.float().numpy() for a in (target,)), tokens.numpy(), parents.numpy(), draft)

    assert passed(verify, "tree_greedy", array="torch", dtype=dtype).steps == 256


def test_a_tree_needs_a_subject_that_takes_parents() -> None:
    def without(target: Any, tokens: Any) -> Any:
        raise AssertionError("was run")

    with pytest.raises(InputError, match="takes no parents"):
        assert_lossless(without, "tree_greedy", tree=(2, 1))
