"""The conformance suite: what applies to whom, at which level, and what it must let pass.

That every check fails what it is there for is tested with the mutants.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.testing import conformance, reference
from losslesscheck.testing.batch import stacked
from losslesscheck.testing.conformance import Result, Settings
from losslesscheck.testing.conformance.inputs import drafted, reordered
from losslesscheck.testing.conformance.problems import FOREST, posed
from losslesscheck.testing.subject import Batch, Subject

QUICK = Settings(samples=100)

CHAIN_SUBJECT = reference.subject("chain")
CHAIN = CHAIN_SUBJECT.function


def failures(results: list[Result]) -> dict[str, str]:
    return {result.id: result.message for result in results if result.outcome == "failed"}


def skips(subject: Subject) -> set[str]:
    return {item.id for item in conformance.items(subject, QUICK) if item.skip}


NO_TREES = {
    *("path[wide tree]", "law[wide tree]", "coins[large tree]"),
    *("law[wide tree, flat draft]", "law[wide tree, disjoint]", "law[wide tree, one-hot draft]"),
    *("coins[different trees]", "certain[different trees]"),
    *("path[early leaf]", "law[early leaf]", "acceptance[early leaf]"),
}
NO_SIBLINGS = NO_TREES | {"law[duplicate siblings]", "law[impossible siblings]"}
NO_COINS = {
    *("support[coins at the ends]", "support[coins at thresholds]"),
    *("coins[anywhere]", "coins[near thresholds]", "coins[large vocabulary]", "coins[many rows]"),
    *("coins[one draft]", "coins[long chain]", "coins[large tree]", "coins[different trees]"),
    "coins[dense large vocabulary]",
    *("rows[alone]", "rows[permuted]", "rows[neighbours]"),
}
NO_SEED = {"independence[rows]", "independence[calls]", "repeatable[another seed]"}


def test_what_does_not_apply_is_skipped() -> None:
    assert skips(reference.subject("chain")) == NO_SIBLINGS | NO_SEED
    assert skips(reference.subject("chain", seeded=True)) == NO_SIBLINGS | NO_COINS
    fixed = {"acceptance[finer than bfloat16]"}
    assert skips(reference.subject("point_mass", seeded=True)) == NO_COINS | fixed
    assert skips(reference.subject("tree_greedy")) == NO_SEED | {
        *("support[coins at the ends]", "support[coins at thresholds]", "coins[near thresholds]"),
        "law[large vocabulary]",
    }


def plain(target: Any, draft: Any, tokens: Any, rng: Any) -> Any:
    """Without ``parents`` and ``lengths``; its rule is one of trees."""
    coins, final = rng.random(tokens.shape), rng.random(len(tokens))
    return chain(target, draft, tokens, np.full(len(tokens), tokens.shape[1]), coins, final)


def test_what_a_subject_does_not_take_is_not_asked_of_it() -> None:
    subject = Subject(plain, rules.get("specinfer"), batch=2)
    reasons = {item.id: item.skip for item in conformance.items(subject, QUICK)}
    assert reasons["law[ragged]"] == "takes no lengths, so no rows of different lengths"
    assert reasons["law[wide tree]"] == "takes no parents, so no trees"
    assert reasons["sizes[large batch]"] == "takes 2 rows at a time"
    assert reasons["sizes[many rows]"] == "takes 2 rows at a time"
    assert failures(conformance.run(subject, QUICK, only=["sizes", "certain[disjoint]"])) == {}


def test_a_quick_run_has_no_batch_of_very_many_rows() -> None:
    names = ["sizes[many rows]", "coins[many rows]"]
    quick, whole = (conformance.run(CHAIN_SUBJECT, s, only=names) for s in (QUICK, Settings()))
    assert {r.message for r in quick} == {"samples = 100 is less than a batch of 70,000 rows"}
    assert [r.outcome for r in quick] == ["skipped"] * 2
    assert [r.outcome for r in whole] == ["passed"] * 2


def test_reordered_trees_are_the_same_trees() -> None:
    """Every draft token keeps its token, coin, rows of both models, and the siblings before it."""
    specinfer = reference.subject("specinfer")
    problems = [posed(specinfer, "dense", seed=0, tree=tree) for tree in FOREST]
    batch = stacked([drafted(specinfer, problem, 20, 0) for problem in problems])
    other = reordered(batch, np.random.default_rng(0))
    assert (other.parents < np.arange(other.parents.shape[1])).all()
    assert (other.parents != batch.parents).any()
    for row in range(batch.size):
        assert nodes(other, row) == nodes(batch, row)


def nodes(batch: Batch, row: int) -> dict[tuple[int, ...], list[float]]:
    """What belongs to the draft tokens of a row, by their places among their siblings, from the root."""
    found: dict[tuple[int, ...], list[float]] = {}
    places: list[tuple[int, ...]] = []
    for i, parent in enumerate(batch.parents[row].tolist()):
        above = places[parent] if parent >= 0 else ()
        earlier = sum(batch.parents[row, :i] == parent)
        places.append((*above, int(earlier)))
        found[places[-1]] = [
            int(batch.tokens[row, i]),
            float(batch.coins[row, i]),
            *batch.target[row, i + 1].tolist(),
            *batch.draft[row, i].tolist(),
        ]
    return found


def wrong_but_independent(target: Any, draft: Any, tokens: Any, lengths: Any, rng: Any) -> Any:
    """Accepts too seldom."""
    coins, final = rng.random(tokens.shape), rng.random(len(tokens))
    return chain(target, draft, tokens, lengths, 1.05 * coins, final)


def test_a_wrong_law_is_not_called_dependence() -> None:
    subject = Subject(wrong_but_independent, rules.get("chain"))
    for result in conformance.run(subject, Settings(min_tv=0.02), only="independence"):
        assert result.outcome == "failed"
        message = " ".join(result.message.split())
        assert "the law of a single row is wrong already: see law" in message
        assert "are not independent" not in message


def accepts_at_equality(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    """With coins in (0, 1]; lossless."""
    q = np.take_along_axis(draft, tokens[..., None], axis=2)[..., 0]
    p = np.take_along_axis(target[:, :-1], tokens[..., None], axis=2)[..., 0]
    accepted = ((1 - coins) * q <= p) & (np.arange(tokens.shape[1]) < lengths[:, None])
    return chain(target, draft, tokens, lengths, np.where(accepted, 0, 1 - 2.0**-24), final)


def test_denormals_are_no_draft_tokens() -> None:
    subject = Subject(accepts_at_equality, rules.get("chain"))
    for seed in range(4):
        results = conformance.run(subject, Settings(seed=seed), only=["floats[denormals]"])
        assert failures(results) == {}


def chain(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    return CHAIN(target=target, draft=draft, tokens=tokens, lengths=lengths, coins=coins, final=final)


def test_the_level_is_shared_out_among_what_applies() -> None:
    subject = reference.subject("chain")
    items = conformance.items(subject, QUICK)
    levels = {item.level for item in items if item.check.statistical and not item.skip}
    assert len(levels) == 1
    assert all(item.level == 0 for item in items if item.skip or not item.check.statistical)
    assert conformance.false_alarm(subject, QUICK) == pytest.approx(1e-9)
    assert conformance.false_alarm(subject, Settings(alpha=1e-4)) == pytest.approx(1e-4)


def test_the_level_of_an_item_does_not_depend_on_what_else_is_run() -> None:
    subject = reference.subject("chain")
    (result,) = conformance.run(subject, QUICK, only=["law[dense]"])
    assert result.data["false_alarm"] == max(item.level for item in conformance.items(subject, QUICK))


def test_what_was_measured_is_said() -> None:
    (result,) = conformance.run(reference.subject("chain"), Settings(min_tv=0.02), only=["law[dense]"])
    assert result.outcome == "passed"
    assert result.data["detectable_tv"] == pytest.approx(0.02, rel=0.02)
    assert sum(result.data["accepted"]) == result.data["steps"]
    assert result.data["log10_e"] < 9


def test_another_seed_is_another_run() -> None:
    runs = [
        conformance.run(CHAIN_SUBJECT, Settings(samples=2000, seed=seed), only=["law[dense]"])
        for seed in (0, 0, 1)
    ]
    data = [result.data for (result,) in runs]
    assert data[0] == data[1] != data[2]


def test_an_error_of_the_suite_is_no_failure_of_the_subject() -> None:
    def broken(trial: Any) -> Any:
        assert trial is None

    (item,) = [i for i in conformance.items(reference.subject("chain"), QUICK) if i.id == "interface"]
    with pytest.raises(AssertionError):
        conformance.perform(replace(item, check=replace(item.check, function=broken)), CHAIN_SUBJECT, QUICK)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: conformance.items(Subject(chain), QUICK), "does not say which rule it implements"),
        (lambda: conformance.run(chain, QUICK), "subject: chain is no Subject"),  # type: ignore[arg-type]
        (lambda: conformance.run(CHAIN_SUBJECT, QUICK, only=["lore"]), "only: there is no check 'lore'"),
        (lambda: Settings(alpha=0), "alpha: 0 is not between 0 and 1"),
        (lambda: Settings(min_tv=0.5), "min_tv: 0.5 is not between 0 and 1/2"),
        (lambda: Settings(samples=0), "samples: 0 is not positive"),
        (lambda: Settings(seed=-1), "seed: -1 is negative"),
    ],
    ids=["rule", "subject", "only", "alpha", "min_tv", "samples", "seed"],
)
def test_bad_arguments_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        call()
