"""The conformance suite: what applies to whom, at which level, and that every check can fail."""

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
from losslesscheck.testing.conformance import Result, Settings
from losslesscheck.testing.subject import Subject

QUICK = Settings(samples=100)


def failures(results: list[Result]) -> dict[str, str]:
    return {result.id: result.message for result in results if result.outcome == "failed"}


def skips(subject: Subject) -> set[str]:
    return {item.id for item in conformance.items(subject, QUICK) if item.skip}


NO_TREES = {"path[wide tree]", "law[wide tree]", "coins[large tree]"} | {
    f"{check}[early leaf]" for check in ("path", "law", "acceptance")
}
NO_SIBLINGS = NO_TREES | {"law[duplicate siblings]", "law[impossible siblings]"}
NO_COINS = {
    *("support[coins at the ends]", "support[coins at thresholds]"),
    *("coins[anywhere]", "coins[near thresholds]", "coins[large vocabulary]", "coins[many rows]"),
    *("coins[one draft]", "coins[long chain]", "coins[large tree]"),
    *("rows[alone]", "rows[permuted]", "rows[neighbours]"),
}
NO_SEED = {"independence[rows]", "independence[calls]", "repeatable[another seed]"}


def test_what_does_not_apply_is_skipped() -> None:
    assert skips(reference.subject("chain")) == NO_SIBLINGS | NO_SEED
    assert skips(reference.subject("chain", seeded=True)) == NO_SIBLINGS | NO_COINS
    assert skips(reference.subject("point_mass", seeded=True)) == NO_COINS
    assert skips(reference.subject("tree_greedy")) == NO_SEED | {
        *("support[coins at the ends]", "support[coins at thresholds]", "coins[near thresholds]")
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
    assert failures(conformance.run(subject, QUICK, only=["sizes", "certain[disjoint]"])) == {}


CHAIN_SUBJECT = reference.subject("chain")
CHAIN = CHAIN_SUBJECT.function


def chain(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    """What the mutants spoil."""
    return CHAIN(target=target, draft=draft, tokens=tokens, lengths=lengths, coins=coins, final=final)


Mutant = Callable[..., Any]

MUTANTS: dict[str, tuple[Mutant, str]] = {}
"""By the item that must fail, with what its message says."""


def fails(item: str, says: str) -> Callable[[Mutant], Mutant]:
    def register(mutant: Mutant) -> Mutant:
        MUTANTS[item] = (mutant, says)
        return mutant

    return register


@fails("interface", "writes into its argument target")
def scales_in_place(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    target *= 2
    return chain(target, draft * 2, tokens, lengths, coins, final)


@fails("path[full rows]", "at place 0 counts as accepted")
def counts_the_rejected(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    emitted, accepted = chain(target, draft, tokens, lengths, coins, final)
    emitted[accepted == 0, 1] = 0
    return emitted, np.maximum(accepted, 1)


@fails("support[coins at the ends]", "has probability 0")
def no_probability_is_0(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    return chain(np.maximum(target, 1e-30), draft, tokens, lengths, coins, final)


@fails("support[large vocabulary]", "has probability 0")
def ends_in_the_tail(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    """As two passes whose sums round apart: no sum exceeds the last coins."""
    emitted, accepted = chain(target, draft, tokens, lengths, coins, final)
    emitted[np.arange(len(tokens)), accepted] = np.where(
        final > 1 - 2.0**-20, target.shape[2] - 1, emitted[np.arange(len(tokens)), accepted]
    )
    return emitted, accepted


@fails("floats[denormals]", "raised ValueError")
def refuses_denormals(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    if ((draft > 0) & (draft < np.finfo(np.float32).tiny)).any():
        raise ValueError("a denormal")
    return chain(target, draft, tokens, lengths, coins, final)


@fails("certain[p = q]", "this has probability 0")
def never_quite_certain(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    return chain(target, draft * np.float32(1.01), tokens, lengths, coins, final)


@fails("sizes[large batch]", "row 1024")
def one_block(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    """Rows from 1024 up are not verified."""
    emitted, accepted = chain(target, draft, tokens, lengths, coins, final)
    emitted[1024:], accepted[1024:] = 0, 0
    return emitted, accepted


@fails("sizes[no drafts]", "raised")
def needs_a_draft(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    return chain(target, draft, tokens, np.minimum(lengths, tokens[:, -1] * 0 + 9), coins, final)


@fails("vocabulary[33]", "For these p and q chain emits nothing but: ")
def whole_vectors_only(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    whole = target.shape[2] // 4 * 4
    emitted, accepted = chain(target, draft, tokens, lengths, coins, final)
    rejected = (tokens >= whole).any(axis=1)
    return emitted, np.where(rejected, 0, accepted)


@fails("vocabulary[padded]", "Without them it is")
def draws_by_size(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    return chain(target, draft, tokens, lengths, coins, (final + 0.1 * target.shape[2]) % 1)


@fails("coins[near thresholds]", "the reference")
def half_draft(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    return chain(target, draft.astype(np.float16).astype(np.float32), tokens, lengths, coins, final)


@fails("coins[anywhere]", "also for coins that are 2e-05 larger or smaller")
def other_end(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    """Lossless, but its last coin counts from the end."""
    return chain(target, draft, tokens, lengths, coins, (1 - 2.0**-24 - final).astype(np.float32))


@fails("rows[neighbours]", "another outcome between rows certain of other tokens")
def previous_rows_draft(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    return chain(target, np.roll(draft, 1, axis=0), tokens, lengths, coins, final)


@fails("rows[alone]", "another outcome when it is the only row")
def shared_coin(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    return chain(target, draft, tokens, lengths, coins, np.broadcast_to(final[:1], final.shape))


@fails("repeatable[same seed]", "another outcome the second time")
def coins_from_nowhere(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    return chain(target, draft, tokens, lengths, coins, np.random.default_rng().random(len(final)))


@fails("repeatable[another seed]", "emits the same in all 64 rows")
def seedless(target: Any, draft: Any, tokens: Any, lengths: Any, seed: Any) -> Any:
    rng = np.random.default_rng(7)
    return chain(target, draft, tokens, lengths, rng.random(tokens.shape), rng.random(len(tokens)))


@fails("independence[calls]", "the same row of consecutive calls are not independent")
def same_coins_in_every_call(target: Any, draft: Any, tokens: Any, lengths: Any, seed: Any) -> Any:
    return seedless(target, draft, tokens, lengths, seed)


@fails("independence[rows]", "rows 1024 apart are not independent")
def counter_of_the_block(target: Any, draft: Any, tokens: Any, lengths: Any, seed: Any) -> Any:
    """The last coin depends on the thread, not on the block: rows 1024 apart share it."""
    rng = np.random.default_rng(seed)
    final = rng.random(1024)[np.arange(len(tokens)) % 1024]
    return chain(target, draft, tokens, lengths, rng.random(tokens.shape), final)


@fails("layout[strided]", "where the arrays are strided")
def raw_memory(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    """Reads the target as if its entries stood side by side."""
    packed = np.empty_like(target, order="C").strides
    memory = np.lib.stride_tricks.as_strided(target, target.shape, packed)
    return chain(np.nan_to_num(memory), draft, tokens, lengths, coins, final)


@fails("layout[read-only]", "raised ValueError")
def scratch_in_its_argument(
    target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any
) -> Any:
    target *= 1
    return chain(target, draft, tokens, lengths, coins, final)


@fails("law[dense]", "A correct implementation fails here with probability at most")
def recovers_from_target(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    emitted, accepted = chain(target, draft, tokens, lengths, coins, final)
    rows = np.arange(len(tokens))
    fresh = (target[rows, accepted].cumsum(axis=1) > final[:, None]).argmax(axis=1)
    emitted[rows, accepted] = fresh
    return emitted, accepted


@fails("acceptance[dense]", "accepts_nothing does not emit the sequences that chain does")
def accepts_nothing(target: Any, draft: Any, tokens: Any, lengths: Any, coins: Any, final: Any) -> Any:
    return chain(target, draft, tokens, 0 * lengths, coins, final)


def performed(name: str, mutant: Mutant, settings: Settings) -> Result:
    subject = Subject(mutant, rules.get("chain"))
    (item,) = [item for item in conformance.items(subject, settings) if item.id == name]
    return conformance.perform(item, subject, settings)


@pytest.mark.parametrize("name", MUTANTS)
def test_every_check_fails_what_it_is_there_for(name: str) -> None:
    mutant, says = MUTANTS[name]
    result = performed(name, mutant, Settings(samples=20_000))
    assert result.outcome == "failed", result
    assert says in result.message
    assert max(map(len, result.message.splitlines())) <= 100


def test_every_check_has_a_mutant() -> None:
    assert {name.partition("[")[0] for name in MUTANTS} == {check.name for check in conformance.CHECKS}


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
        (lambda: conformance.run(CHAIN_SUBJECT, QUICK, only=["lore"]), "only: there is no check 'lore'"),
        (lambda: Settings(alpha=0), "alpha: 0 is not between 0 and 1"),
        (lambda: Settings(min_tv=0.5), "min_tv: 0.5 is not between 0 and 1/2"),
        (lambda: Settings(samples=0), "samples: 0 is not positive"),
        (lambda: Settings(seed=-1), "seed: -1 is negative"),
    ],
    ids=["rule", "only", "alpha", "min_tv", "samples", "seed"],
)
def test_bad_arguments_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        call()
