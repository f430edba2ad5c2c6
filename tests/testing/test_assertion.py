"""assert_lossless: what passes, what fails, and what the failure says."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from losslesscheck import Model, Tree
from losslesscheck.errors import InputError
from losslesscheck.testing import Report, SubjectError, assert_lossless, subject


def chain(
    target: Any,
    draft: Any,
    tokens: Any,
    coins: Any,
    final: Any,
    *,
    resample: bool = False,
    inclusive: bool = False,
) -> Any:
    """Leviathan's rule for a batch, or one with a fault."""
    rows, count = tokens.shape
    every = np.arange(rows)
    p = np.take_along_axis(target[:, :-1], tokens[..., None], 2)[..., 0]
    q = np.take_along_axis(draft, tokens[..., None], 2)[..., 0]
    passed = coins * q <= p if inclusive else coins * q < p
    accepted = np.logical_and.accumulate(passed, axis=1).sum(axis=1)
    weights = target[every, accepted]
    if not resample:
        rejected = accepted < count
        weights[rejected] -= draft[every[rejected], accepted[rejected]]
    cumulative = np.maximum(weights, 0).cumsum(axis=1)
    last = (cumulative > (final * cumulative[:, -1])[:, None]).argmax(axis=1)
    emitted = np.concatenate([tokens, last[:, None]], axis=1)
    emitted[every, accepted] = last
    return emitted, accepted


def correct(target: Any, draft: Any, tokens: Any, coins: Any, final: Any) -> Any:
    return chain(target, draft, tokens, coins, final)


def resampling(target: Any, draft: Any, tokens: Any, coins: Any, final: Any) -> Any:
    return chain(target, draft, tokens, coins, final, resample=True)


def with_thresholds(target: Any, tokens: Any, coins: Any, final: Any) -> Any:
    """Target-only verification of one draft token with threshold_acc 1/2."""
    every = np.arange(len(tokens))
    p = target[every, 0, tokens[:, 0]]
    accepted = coins[:, 0] < p / 0.5
    rest = np.where(accepted[:, None], target[:, 1], target[:, 0])
    rest[every[~accepted], tokens[~accepted, 0]] = 0
    cumulative = rest.cumsum(axis=1)
    last = (cumulative > (final * cumulative[:, -1])[:, None]).argmax(axis=1)
    return np.where(accepted[:, None], np.stack([tokens[:, 0], last], 1), np.stack([last, 0 * last - 1], 1))


def its_own_tree(m: Any, p: Any, q: Any) -> Any:
    return (m.draw(p(())),)


def sampled(*arguments: Any, **options: Any) -> Report:
    report = assert_lossless(*arguments, **options)
    assert isinstance(report, Report)
    return report


def test_a_correct_implementation_passes_and_the_bias_that_would_have_shown_is_stated() -> None:
    report = sampled(correct, "chain", min_tv=0.01)
    assert report.detectable_tv <= 0.0101
    assert report.experiment.unjudged == 0
    lines = str(report).splitlines()
    assert "a bias of TV 0.01 of the first token would have been found" in " ".join(map(str.strip, lines))
    assert max(map(len, lines)) <= 80


def test_a_run_that_is_too_short_says_so() -> None:
    assert "too few to find anything" in " ".join(str(assert_lossless(correct, samples=10)).split())


def test_probabilities_that_coins_cannot_give_are_refused() -> None:
    tiny: dict[str, Any] = {"target": [1e-13, 1 - 1e-13], "draft": [1.0, 0.0]}
    with pytest.raises(
        InputError, match=r"target\[0\] has probabilities down to 1e-13, which coins of float32"
    ):
        assert_lossless(correct, samples=2**25, **tiny)
    assert sampled(correct, samples=1000, dtype="float64", **tiny).experiment.steps == 1000


def test_a_failure_says_all_that_is_needed_to_judge_it() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_lossless(resampling, "chain", min_tv=0.01, seed=7)
    lines = str(caught.value).splitlines()
    assert lines[0] == "resampling does not reproduce the target's law."
    assert "chain on mixed, V = 8, tree 1,1, seed 7: 4,096 steps" in lines
    assert "Next token at the start (4,096 times):" in lines
    assert "ever reaches 10^9.0 with probability 1e-09" in " ".join(str(caught.value).split())
    assert any("of the first token at most" in line for line in lines)
    smaller = lines.index("A smaller case:")
    assert lines[smaller + 1 : smaller + 3] == [
        "  p = (1/2, 1/2) after every context",
        "  q = (0, 1) after every context",
    ]
    assert lines[-1] == "A correct implementation fails here with probability at most 1e-09."
    assert max(map(len, lines)) <= 80


def test_the_smaller_case_can_be_checked_by_hand() -> None:
    """p = (1/2, 1/2), q = (0, 1): token 1 is accepted half the time, else drawn again from p: 3/4."""
    with pytest.raises(AssertionError) as caught:
        assert_lossless(resampling, "chain", samples=20_000)
    observed = [line for line in str(caught.value).splitlines() if "observed  " in line][-1].split()
    assert [float(x) for x in observed[1:]] == pytest.approx([1 / 4, 3 / 4], abs=0.05)


def test_a_smaller_case_whose_rows_differ_shows_them_by_position() -> None:
    def stale(target: Any, draft: Any, tokens: Any, rng: Any) -> Any:
        """The bonus token comes from the first row."""
        target[:, -1] = target[:, 0]
        return chain(target, draft, tokens, rng.random(tokens.shape), rng.random(len(tokens)))

    with pytest.raises(AssertionError) as caught:
        assert_lossless(stale, tree=(1,), min_tv=0.02)
    lines = str(caught.value).splitlines()
    smaller = lines.index("A smaller case:")
    assert lines[smaller + 1 : smaller + 4] == [
        "  p = (0, 1) at the start",
        "  p = (1, 0) after one token",
        "  q = (0, 1) after every context",
    ]


def test_without_a_smaller_case_the_rows_at_the_bias_are_shown() -> None:
    def sevens(target: Any, draft: Any, tokens: Any, rng: Any) -> Any:
        coins, final = rng.random(tokens.shape), rng.random(len(tokens))
        emitted, accepted = chain(target, draft, tokens, coins, final)
        return np.where(emitted == 7, 6, emitted), accepted

    with pytest.raises(AssertionError) as caught:
        assert_lossless(sevens, min_tv=0.02)
    lines = str(caught.value).splitlines()
    place = lines.index("No smaller case was found that one could check by hand.")
    assert lines[place + 1].startswith("  p = (")
    assert lines[place + 1].endswith(") at the start") or lines[place + 2].endswith("at the start")


def test_the_statistics_do_not_mind_numpy_s_error_state_and_the_function_has_its_own() -> None:
    states = []

    def verify(target: Any, draft: Any, tokens: Any, coins: Any, final: Any) -> Any:
        states.append(np.geterr())
        return chain(target, draft, tokens, coins, final)

    with np.errstate(all="raise"):
        assert_lossless(verify, min_tv=0.02)
        assert np.geterr()["under"] == "raise"
    assert all(state["under"] == "raise" for state in states)


def test_given_rows_are_used() -> None:
    report = sampled(correct, target=[0.5, 0.3, 0.2], draft=[[0.2, 0.3, 0.5]], samples=5000)
    assert report.experiment.problem.vocabulary == 3
    assert report.experiment.tokens_per_step == pytest.approx(1 + 0.7 + 0.49, abs=0.05)
    by_model = sampled(
        correct,
        target=Model.constant(np.array([0.9, 0.1])),
        draft=Model.constant(np.array([0.1, 0.9])),
        samples=500,
    )
    assert by_model.experiment.problem.vocabulary == 2


def test_a_lossy_rule_is_held_against_its_own_law() -> None:
    options: dict[str, Any] = {"tree": Tree.chain(1), "samples": 50_000}
    with pytest.raises(AssertionError, match="does not reproduce the target's law"):
        assert_lossless(with_thresholds, "target_only", **options)
    report = sampled(with_thresholds, "target_only", threshold_acc=0.5, **options)
    assert not report.experiment.problem.rule.claims_lossless
    with pytest.raises(AssertionError, match="does not reproduce the law of target_only"):
        assert_lossless(with_thresholds, "target_only", threshold_acc=0.75, **options)


def test_a_coin_of_zero_that_accepts_an_impossible_token_is_found() -> None:
    def inclusive(target: Any, draft: Any, tokens: Any, coins: Any, final: Any) -> Any:
        return chain(target, draft, tokens, coins, final, inclusive=True)

    with pytest.raises(AssertionError, match=r"token \d has probability 0 and was emitted") as caught:
        assert_lossless(inclusive, samples=1000)
    assert re.search(r"^  p (at the start|after .*) = \(.*\b0\b.*\)$", str(caught.value), re.M)


def test_subjects_say_their_own_rule_and_options() -> None:
    found = sampled(subject(correct, rule="chain", dtype="float64", batch=100), samples=1000)
    assert found.experiment.problem.rule.name == "chain"
    with pytest.raises(InputError, match="dtype: the subject says that itself"):
        assert_lossless(subject(correct), dtype="float64", samples=10)


def test_an_implementation_that_raises_is_an_assertion_too() -> None:
    def broken(target: Any, tokens: Any) -> Any:
        raise IndexError("7")

    with pytest.raises(SubjectError, match="broken raised IndexError: 7"):
        assert_lossless(broken, samples=10)
    assert issubclass(SubjectError, AssertionError)


def test_the_run_is_a_function_of_the_seed() -> None:
    first, again = (sampled(correct, samples=3000, seed=5).experiment for _ in range(2))
    assert first.log_e == again.log_e
    assert first.accepted == again.accepted
    assert sampled(correct, samples=3000, seed=6).experiment.accepted != first.accepted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha: 0 is not between 0 and 1"),
        ({"min_tv": 0.6}, "min_tv: 0.6 is not between 1e-6 and 1/2"),
        ({"min_tv": 1e-9}, "min_tv: 1e-09 is not between 1e-6"),
        ({"min_tv": 0.1, "samples": 10}, "min_tv: give it or samples"),
        ({"samples": 2.5}, "samples: 2.5 is not a whole number"),
        ({"seed": -1}, "seed: -1 is negative"),
        ({"samples": 0}, "samples: 0 is not positive"),
        ({"tree": (2, 1)}, "chain drafts a single path"),
        ({"draft": [0.5, 0.5]}, "draft: a draft without a target"),
        ({"target": [0.5, 0.5]}, "draft: chain needs one besides the target"),
        ({"target": [0.5, 0.4], "draft": [0.5, 0.5]}, r"target\[0\] sums to 0.9"),
        ({"target": [0.5, np.nan], "draft": [0.5, 0.5]}, r"target\[0, 1\] = nan"),
        ({"target": [0.5, 0.5], "draft": [0.5, 0.25, 0.25]}, "draft: a vocabulary of 3, the target has 2"),
        ({"alpha": "x"}, "alpha: 'x' is not a number"),
        ({"min_tv": "0.1"}, "min_tv: '0.1' is not a number"),
        ({"samples": "1e4"}, "samples: '1e4' is not a number"),
        ({"seed": 1.5}, "seed: 1.5 is not a whole number"),
        ({"vocabulary": 8.0}, "vocabulary: 8.0 is not a whole number"),
        ({"vocabulary": 0}, "vocabulary: 0 is not positive"),
        ({"mintv": 0.1}, r"mintv: there is no such argument; did you mean min_tv\?"),
        ({"dtpye": "float64"}, r"did you mean dtype\?"),
        ({"rule": "target_only", "treshold_acc": 1}, r"did you mean threshold_acc\?"),
        ({"rule": "standalone", "tree": (2, 1)}, "tree: standalone builds its own token tree"),
        ({"rule": its_own_tree}, "rule: its_own_tree builds its own token tree, of which nothing is known"),
        ({"tree": 2}, r"tree: 2 is neither a token tree nor its widths, such as \(2, 1\)"),
        ({"tree": (2, 0)}, "tree: width 0 at level 1 is not a positive integer"),
        ({"target": [[0.5, 0.5]] * 2, "draft": [0.5, 0.5]}, "target: 2 rows, but 3 positions"),
        (
            {"target": [[0.5, 0.5]] * 3, "draft": [[0.5, 0.5]] * 2, "tree": (1,) * 4},
            "target: 3 rows, but 5 positions",
        ),
        ({"target": [[0.5, 0.5], [1]], "draft": [0.5, 0.5]}, "target: no rows of numbers"),
        ({"array": "torch", "device": "cuda:77"}, "device: there is no 'cuda:77' here"),
        ({"array": "torch", "device": "no such"}, "device: there is no 'no such' here"),
        ({"vocabulary": 1000}, "vocabulary: 1000 is not from 1 to 64"),
        ({"rule": "chian"}, "did you mean"),
        ({"threshold_acc": 0.9}, "threshold_acc: chain has no such parameter"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_refused_before_anything_runs(options: dict[str, Any], message: str) -> None:
    if options.get("array") == "torch":
        pytest.importorskip("torch")

    def never(target: Any, draft: Any, tokens: Any) -> Any:
        raise AssertionError("was run")

    with pytest.raises(InputError, match=message):
        assert_lossless(never, **options)


def test_a_class_is_no_subject() -> None:
    class Kernel:
        def __call__(self, target: Any, tokens: Any) -> Any: ...

    with pytest.raises(InputError, match=r"subject: Kernel is a class; hand in an instance, as Kernel\(\)"):
        assert_lossless(Kernel)


def test_a_function_that_returns_nothing_is_told_what_to_return() -> None:
    def nothing(target: Any, tokens: Any) -> Any:
        return None

    with pytest.raises(SubjectError, match=r"nothing: returned None; it returns \(emitted, accepted\)"):
        assert_lossless(nothing)


def test_whole_numbers_of_any_type_are_taken() -> None:
    whole: Any = {"samples": 1e3, "vocabulary": np.int8(8), "tree": (np.int64(1),), "seed": np.int32(3)}
    assert sampled(correct, **whole).experiment.steps == 1000


def test_a_tree_needs_a_subject_that_takes_parents() -> None:
    with pytest.raises(InputError, match="takes no parents"):
        assert_lossless(correct, "specinfer", tree=(2,), samples=10)
    assert sampled(correct, "specinfer", samples=1000).experiment.problem.tree == Tree.chain(2)
