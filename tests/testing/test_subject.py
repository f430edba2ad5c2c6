"""How an implementation is called, and which outcomes are refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.testing import cases, reference
from losslesscheck.testing.drafting import Drafter
from losslesscheck.testing.subject import Batch, Subject, SubjectError, subject


def batch(size: int = 4, dtype: str = "float32", ragged: bool = False) -> Batch:
    problem = cases.problem(rules.get("chain"), ragged=ragged).rounded(dtype)
    return Drafter(problem, dtype).batch(size, np.random.default_rng(0))


def refuse_all(target: Any, tokens: Any) -> Any:
    return np.zeros((len(target), 1), dtype=int), np.zeros(len(target), dtype=int)


def test_a_subject_gets_what_it_asks_for_by_name() -> None:
    asked: dict[str, Any] = {}

    def verify(tokens: Any, final: Any, target: Any, seed: Any, rng: Any, lengths: Any) -> Any:
        asked.update(locals())
        return refuse_all(target, tokens)

    given = batch()
    Subject(verify, dtype="float64")(given)
    assert asked["seed"] == given.seed
    assert asked["rng"].random() == np.random.default_rng(given.seed).random()
    assert asked["target"].dtype == np.float64
    assert asked["lengths"].tolist() == [2] * 4
    np.testing.assert_array_equal(asked["tokens"], given.tokens)


def test_keywords_of_any_name_get_everything() -> None:
    def verify(**arguments: Any) -> Any:
        assert {"target", "draft", "parents", "coins", "rng"} <= arguments.keys()
        assert "generator" not in arguments
        return refuse_all(arguments["target"], arguments["tokens"])

    assert Subject(verify)(batch()).accepted.tolist() == [0] * 4


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_torch_subjects_get_tensors(dtype: str) -> None:
    torch = pytest.importorskip("torch")

    def verify(target: Any, draft: Any, tokens: Any, parents: Any, coins: Any, generator: Any) -> Any:
        assert target.dtype == draft.dtype == getattr(torch, dtype)
        assert coins.dtype == (torch.float64 if dtype == "float64" else torch.float32)
        assert parents.shape == tokens.shape
        assert tokens.dtype == torch.int64
        torch.rand(1, generator=generator)
        return torch.full((len(target), 3), -1).index_fill(1, torch.tensor([0]), 0)

    given = batch(dtype=dtype)
    assert Subject(verify, array="torch", dtype=dtype)(given).accepted.tolist() == [0] * 4


def test_minus_one_ends_a_row() -> None:
    padded = Subject(lambda target, tokens: np.array([[5, -1, -1], [1, 2, 3], [1, 2, -1], [0, -1, -1]]))
    found = padded(batch())
    assert found.accepted.tolist() == [0, 2, 1, 0]
    assert found.tokens[2].tolist() == [1, 2, -1]


def test_what_comes_after_the_accepted_length_does_not_count() -> None:
    longer = Subject(lambda target, tokens: (np.full((4, 9), 3), np.array([0, 1, 2, 0])))
    found = longer(batch())
    assert found.tokens.tolist() == [[3, -1, -1], [3, 3, -1], [3, 3, 3], [3, -1, -1]]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.zeros((3, 3), dtype=int), r"shape \[3, 3\], not \[4, ≥ 1\]"),
        (np.zeros((4, 3)), "holds float64, not integers"),
        ((np.zeros((4, 3), dtype=int), np.zeros(3, dtype=int)), r"accepted has shape \[3\], not \[4\]"),
        ((np.zeros((4, 3), dtype=int), np.array([0, 3, 0, 0])), "row 1 has 2 draft tokens, but 3 accepted"),
        ((np.zeros((4, 3), dtype=int), np.array([0, 0, -1, 0])), "row 2 has 2 draft tokens, but -1 accepted"),
        (np.full((4, 3), -1), "row 0 has 2 draft tokens, but -1 accepted"),
        (np.full((4, 3), 8), r"emitted\[0, 0\] = 8 is outside a vocabulary of 8"),
        (np.array([[0, -1, 2]] * 4), r"emitted\[0, 2\] = 2 stands after a −1"),
        (np.array([[0, -2, -1]] * 4), r"emitted\[0, 1\] = -2 is neither a token nor −1"),
        ((np.full((4, 3), -1), np.zeros(4, dtype=int)), r"emitted\[0, 0\] = -1 is no token"),
        ((1, 2, 3), "returned 3 things"),
        (None, r"returned None; it returns \(emitted, accepted\)"),
        ([[1, 2], [3]], "emitted cannot be read as an array: ValueError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_outcome_is_refused(returned: Any, message: str) -> None:
    with pytest.raises(SubjectError, match=message) as caught:
        Subject(lambda target, tokens: returned)(batch())
    assert "batch of 4 rows with 2 draft tokens, V = 8" in str(caught.value)
    if (row := caught.value.row) is not None:
        assert f"row {row}: draft tokens {batch().tokens[row].tolist()}" in str(caught.value)
    assert "coins" not in str(caught.value)  # it did not take them
    assert "seed" not in str(caught.value)


def test_more_accepted_than_a_short_row_has_is_refused() -> None:
    given = batch(32, ragged=True)
    short = int(np.argmin(given.lengths))
    everything = Subject(lambda target, tokens, lengths: (np.zeros((32, 3), dtype=int), np.full(32, 2)))
    with pytest.raises(SubjectError, match=f"has {given.lengths[short]} draft tokens, but 2 accepted"):
        everything(given)


@pytest.mark.parametrize("leave", [pytest.skip, exit], ids=["pytest.skip", "exit"])
def test_a_subject_cannot_hide_a_test(leave: Any) -> None:
    def verify(target: Any, tokens: Any) -> Any:
        leave("done")

    with pytest.raises(SubjectError, match="verify raised"):
        Subject(verify)(batch())


def test_an_exception_of_the_subject_is_named() -> None:
    def verify(target: Any, tokens: Any) -> Any:
        raise ZeroDivisionError("by zero")

    with pytest.raises(SubjectError, match="verify raised ZeroDivisionError: by zero"):
        Subject(verify)(batch())


@pytest.mark.parametrize(
    ("function", "facts", "message"),
    [
        (lambda target, tokens, logits: 0, {}, "there is no argument 'logits'"),
        (lambda target: 0, {}, "takes no argument 'tokens'"),
        (lambda target, tokens, generator: 0, {}, "generator is torch's"),
        (lambda target, tokens: 0, {"array": "jax"}, "array: 'jax' is neither numpy nor torch"),
        (lambda target, tokens: 0, {"dtype": "int8"}, "dtype: 'int8' is none of float16"),
        (lambda target, tokens: 0, {"dtype": "bfloat16"}, "NumPy has no bfloat16"),
        (lambda target, tokens: 0, {"device": "cuda"}, "NumPy's arrays are on the cpu"),
        (lambda target, tokens: 0, {"batch": 0}, "batch: 0 is not positive"),
        (lambda target, tokens: 0, {"batch": "4"}, "batch: '4' is not a number"),
        (Subject, {}, r"subject: Subject is a class; hand in an instance, as Subject\(\)"),
        (3, {}, "subject: 3 cannot be called"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_arguments(function: Any, facts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Subject(function, **facts)


def test_what_it_took_is_shown_where_it_fails() -> None:
    def verify(target: Any, tokens: Any, parents: Any, coins: Any, final: Any) -> Any:
        return np.full((len(target), 1), 99)

    def seeded(target: Any, tokens: Any, rng: Any) -> Any:
        return np.full((len(target), 1), 99)

    given = batch()
    with pytest.raises(SubjectError) as caught:
        Subject(verify)(given)
    said = " ".join(str(caught.value).split())
    assert f"coins {given.coins[0].tolist()}, final {given.final[0].item()}" in said
    assert "parents [-1, 0]" in said
    assert "seed" not in said
    assert max(map(len, str(caught.value).splitlines())) <= 80
    with pytest.raises(SubjectError, match=f"seed {given.seed}") as caught:
        Subject(seeded)(given)
    assert "coins" not in str(caught.value)


@pytest.mark.parametrize("array", ["numpy", "torch"])
def test_a_subject_that_writes_into_its_arguments_spoils_nothing(array: Any) -> None:
    if array == "torch":
        pytest.importorskip("torch")
    names = ("tokens", "parents", "lengths", "coins", "final")

    def verify(target: Any, tokens: Any, parents: Any, lengths: Any, coins: Any, final: Any) -> Any:
        for values in (tokens, parents, lengths, coins, final):
            values[:] = 0
        return np.zeros((len(target), 1), dtype=int)

    given = batch()
    before = {name: getattr(given, name).copy() for name in names}
    Subject(verify, array=array)(given)
    for name in names:
        np.testing.assert_array_equal(getattr(given, name), before[name])


def test_the_arguments_of_a_module_are_those_of_its_forward() -> None:
    torch = pytest.importorskip("torch")

    class Verifier(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, target: Any, tokens: Any) -> Any:
            return target[:, 0].argmax(1, keepdim=True)

    found = Subject(Verifier(), array="torch")
    assert found.takes == {"target", "tokens"}
    assert found.name == "Verifier"
    assert found(batch()).accepted.tolist() == [0] * 4


def test_a_device_is_looked_for_when_it_is_needed() -> None:
    pytest.importorskip("torch")
    missing = Subject(lambda target, tokens: 0, array="torch", device="cuda:77")
    for needed in (missing.require_device, lambda: missing(batch())):
        with pytest.raises(InputError, match="device: there is no 'cuda:77' here"):
            needed()


def test_a_misspelt_fact_is_named() -> None:
    with pytest.raises(InputError, match=r"dytpe: a subject has no such fact .*; did you mean dtype\?"):
        subject(refuse_all, dytpe="float64")


@pytest.mark.parametrize("rule", ["chain", "tree_greedy", "target_only"])
def test_subjects_with_the_library_s_rules_can_be_pickled(rule: str) -> None:
    bound = rules.get(rule)
    if rule == "target_only":
        bound = bound.bind(threshold_acc=0.5)
    made = reference.subject(bound, dtype="float64")
    again = pickle.loads(pickle.dumps(made))
    assert again.rule == made.rule
    assert again.rule.settings == made.rule.settings
    assert again.dtype == "float64"
    given = Drafter(cases.problem(bound), "float64").batch(8, np.random.default_rng(0))
    np.testing.assert_array_equal(again(given).tokens, made(given).tokens)
    assert pickle.loads(pickle.dumps(Subject(refuse_all))).rule is None


def test_an_object_with_a_call_method_is_a_subject() -> None:
    class Kernel:
        def __call__(self, target: Any, tokens: Any, coins: Any, final: Any) -> Any:
            return refuse_all(target, tokens)

    found = subject(Kernel(), rule="chain")
    assert found.injected
    assert found.name == "Kernel"
    assert found(batch()).accepted.tolist() == [0] * 4
