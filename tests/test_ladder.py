from __future__ import annotations

import random
from fractions import Fraction

import pytest

import losslesscheck
from losslesscheck import Budget, InputError, RuleError, Tree, Verdict, rungs, verify
from losslesscheck.verdict import TIERS

FEW = 50_000


def results(verdict: Verdict) -> dict[str, str]:
    return {e.tier: e.result for e in verdict.evidence}


@pytest.mark.parametrize("name", losslesscheck.rules.names())
def test_every_rule_is_proved_lossless(name: str) -> None:
    verdict = verify(name, samples=FEW)
    assert verdict.verdict == "lossless", verdict.summary
    assert verdict.counterexample is None
    assert results(verdict)["exact"] == results(verdict)["monte-carlo"] == "holds"
    assert any(e.proof for e in verdict.evidence)


@pytest.mark.parametrize("name", losslesscheck.rules.broken())
def test_every_broken_pattern_is_lossy(name: str) -> None:
    verdict = verify(name, samples=FEW)
    assert verdict.verdict == "lossy"
    assert verdict.counterexample is not None
    assert verdict.largest is not None
    assert verdict.largest.size >= verdict.counterexample.size
    assert not any(e.proof and e.tier == "all-distributions" for e in verdict.evidence)


@pytest.mark.parametrize("name", ["chain", "specinfer", "target_only"])
def test_the_step_is_proved_for_any_vocabulary(name: str) -> None:
    verdict = verify(name, only=["any-vocabulary"])
    assert results(verdict)["any-vocabulary"] == "holds"
    assert verdict.verdict == "lossless"


def test_block_verification_is_proved_for_all_distributions() -> None:
    verdict = verify("block_verification", vocabulary=3, tree=(1, 1), only=["all-distributions"])
    assert verdict.verdict == "lossless"
    assert "V = 3" in verdict.summary


def test_a_threshold_below_one_is_lossy_by_a_tenth() -> None:
    verdict = verify("target_only", threshold_acc=0.9, samples=FEW)
    assert verdict.verdict == "lossy"
    assert verdict.largest is not None
    assert verdict.largest.tv == Fraction(1, 10)
    assert "as its parameters intend" in verdict.summary


def test_lossy_criteria_of_blockwise_decoding_are_lossy() -> None:
    for parameters in ({"top_k": 2}, {"distance": 1}, {"minimum_block": 2}):
        verdict = verify("blockwise", only=["exact"], **parameters)
        assert verdict.verdict == "lossy", parameters


def test_an_undefined_case_is_reported_and_can_be_supposed_away() -> None:
    verdict = verify("without_replacement", exhausted="undefined", tree=(2,), samples=FEW)
    assert verdict.verdict == "lossy"
    assert verdict.counterexample is not None
    assert verdict.counterexample.undefined > 0
    assert "not defined" in verdict.summary
    supposed = verify(
        "without_replacement", exhausted="undefined", tree=(2,), positive_draft=True, samples=FEW
    )
    assert supposed.verdict == "lossless"
    assert "supposing" in supposed.summary


def test_without_a_proof_the_verdict_is_undecided() -> None:
    verdict = verify("chain", only=["exact", "monte-carlo"], samples=FEW)
    assert verdict.verdict == "undecided"
    assert verdict.exit_status == 3


def test_a_function_is_a_rule() -> None:
    def keep_everything(m, p, q, accept, reject):  # type: ignore[no-untyped-def]
        return accept(m.draw(q))

    verdict = verify(keep_everything, samples=FEW)
    assert verdict.verdict == "lossy"
    assert verdict.rule.name == "keep_everything"


def test_a_proof_under_too_small_a_budget_is_undecided_and_names_it() -> None:
    verdict = verify(
        "specinfer", vocabulary=8, tree=(8,), only=["all-distributions"], budget=Budget(seconds=1)
    )
    assert results(verdict)["all-distributions"] == "undecided"
    assert "1 s" in verdict.evidence[TIERS.index("all-distributions")].detail


def test_memory_is_budgeted_too() -> None:
    verdict = verify(
        "specinfer",
        vocabulary=8,
        tree=(8,),
        only=["all-distributions"],
        budget=Budget(seconds=60, memory=64 << 20),
    )
    assert "memory budget" in verdict.evidence[TIERS.index("all-distributions")].detail


def test_the_same_seed_gives_the_same_report() -> None:
    def report() -> dict[str, object]:
        found = verify("specinfer", samples=FEW, seed=7).to_dict()
        for entry in found["evidence"]:
            entry["seconds"] = 0
            entry.get("data", {}).pop("steps_per_second", None)
        return found

    assert report() == report()


def test_the_json_contract() -> None:
    found = verify("argmax_draft", samples=FEW).to_dict()
    assert {"rule", "parameters", "verdict", "evidence", "counterexample"} <= set(found)
    assert [e["tier"] for e in found["evidence"]] == list(TIERS)
    assert all(e["result"] in ("holds", "fails", "undecided", "skipped") for e in found["evidence"])
    assert {"tier", "result", "seconds", "detail"} <= set(found["evidence"][0])
    assert {"target", "draft", "emitted", "tv", "context"} <= set(found["counterexample"])
    assert found["counterexample"]["target"] == ["1/2", "1/2"]


def test_monte_carlo_failures_are_confirmed_exactly() -> None:
    verdict = verify("resample_target", only=["monte-carlo"], samples=FEW)
    assert verdict.verdict == "lossy"
    assert verdict.counterexample is not None
    assert verdict.counterexample.tv > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "chian"}, "chain"),
        ({"rule": "chain", "vocabulary": 1}, "vocabulary: 1"),
        ({"rule": "chain", "samples": 0}, "samples: 0"),
        ({"rule": "chain", "seed": -1}, "seed: -1"),
        ({"rule": "chain", "only": ["proof"]}, "only: 'proof'"),
        ({"rule": "chain", "tree": (2,)}, "drafts a single path"),
        ({"rule": "chain", "gamma": 3}, "gamma: chain has no such parameter"),
        ({"rule": "target_only", "threshold_acc": 2}, "threshold_acc: 2 is above 1"),
        ({"rule": "target_only", "threshold_acc": "x"}, "threshold_acc: 'x' is not a number"),
        ({"rule": "target_only", "tree": Tree.siblings((1, 1))}, "both token 1"),
        ({"rule": "target_only", "tree": Tree.siblings((0, 7)), "vocabulary": 3}, "token 7, outside"),
        ({"rule": "standalone", "tree": (1,)}, "builds its own token tree"),
        ({"rule": "specinfer", "tree": Tree.siblings((0, 1))}, "must not fix them"),
        ({"rule": "nowhere.py:rule"}, "there is no file 'nowhere.py'"),
        ({"rule": "chain", "certificates": "/nowhere/at/all"}, "there is no folder"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_refused_before_work_starts(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        verify(**arguments)  # type: ignore[arg-type]


def _raises(m, p, q, tree):  # type: ignore[no-untyped-def]
    raise KeyError("oops")


def _loops(m, p, q, tree):  # type: ignore[no-untyped-def]
    while True:
        pass


def _returns_a_list(m, p, q, tree):  # type: ignore[no-untyped-def]
    return [m.draw(q(()))]


def _returns_nothing(m, p, q, tree):  # type: ignore[no-untyped-def]
    return ()


def _draws_from_no_distribution(m, p, q, tree):  # type: ignore[no-untyped-def]
    return (m.draw(p(()) * m.number(Fraction(1, 2))),)


def _has_its_own_randomness(m, p, q, tree):  # type: ignore[no-untyped-def]
    return (random.randrange(3),)


_SEEN: list[object] = []


def _remembers(m, p, q, tree):  # type: ignore[no-untyped-def]
    _SEEN.append(m)
    return (len(_SEEN) % 2,)


def _wrong_arguments(m, p, q, tree, extra):  # type: ignore[no-untyped-def]
    return ()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (_raises, "raised KeyError"),
        (_loops, "did not end"),
        (_returns_a_list, "not a non-empty tuple"),
        (_returns_nothing, "not a non-empty tuple"),
        (_draws_from_no_distribution, "which is no distribution: it sums to 1/2"),
        (_remembers, "keep nothing between runs"),
        (_has_its_own_randomness, "all its randomness"),
        (_wrong_arguments, "the arguments must be"),
    ],
    ids=lambda value: "" if isinstance(value, str) else value.__name__,
)
def test_a_misbehaving_rule_is_named(rule: object, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("losslesscheck.trial.SECONDS", 1.0)
    with pytest.raises((RuleError, InputError), match=message) as caught:
        verify(rule)  # type: ignore[arg-type]
    assert getattr(rule, "__name__", "") in str(caught.value)


def test_a_broken_prover_alone_does_not_make_a_lossy_rule_lossless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def believe(plan: rungs.Plan) -> rungs.Finding:
        return rungs.Finding(rungs.Evidence("any-vocabulary", "holds", "everything", proof=True))

    monkeypatch.setattr(rungs, "any_vocabulary", believe)
    assert verify("resample_target", samples=FEW).verdict == "lossy"
