"""What the references promise beyond their law: exact values, edges, the same to the last bit."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.rule import rule
from losslesscheck.testing import cases, reference
from losslesscheck.testing.drafting import Drafter
from losslesscheck.testing.edges import extreme
from losslesscheck.testing.outcome import impossible, strayed
from losslesscheck.testing.reference.arrays import draw, pair_sums
from losslesscheck.testing.subject import Batch, Emitted, Library
from losslesscheck.tree import Tree

RULES = {name: rules.get(name) for name in rules.names()} | {
    "standalone": rules.get("standalone").bind(steps=2, topk=2, draft_tokens=5),
    "target_only thresholds": rules.get("target_only").bind(threshold_acc=0.7, threshold_single=0.6),
    "blockwise loosened": rules.get("blockwise").bind(top_k=2, distance=1, minimum_block=2),
    "without_replacement undefined": rules.get("without_replacement").bind(exhausted="undefined"),
}
EVERY_RULE = pytest.mark.parametrize("name", RULES)
EVERY_LIBRARY = pytest.mark.parametrize("array", ["numpy", "torch"])
EVERY_DTYPE = pytest.mark.parametrize("dtype", ["float32", "float64"])


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def batch(name: str, dtype: str, size: int = 300, kind: str = "mixed", **options: Any) -> Batch:
    """Ragged rows, with siblings where the rule takes them, and some coins at the ends of their range."""
    r = RULES[name]
    tree = Tree.chain(4) if r.single_path else Tree.from_parents([-1, -1, 0, 0, 1, 1, 2])
    problem = cases.problem(
        r, kind, vocabulary=5, tree=tree if r.takes_tree else None, ragged=True, seed=2, **options
    )
    rng = np.random.default_rng(7)
    drawn = Drafter(problem.rounded(dtype), dtype).batch(size, rng)
    return extreme(drawn, rng)


def emit(name: str, given: Batch, array: Library, dtype: str) -> Emitted:
    return reference.subject(RULES[name], array=array, dtype=dtype)(given)


def assert_same(a: Emitted, b: Emitted) -> None:
    np.testing.assert_array_equal(a.accepted, b.accepted)
    np.testing.assert_array_equal(a.tokens, b.tokens)


def on_breakpoints(given: Batch) -> Batch:
    """The batch with coins where p/q is, and last coins where a cumulative probability of p is, rounded."""
    rows, count = np.arange(given.size)[:, None], np.arange(given.tokens.shape[1])
    p, q = given.target[rows, given.parents + 1, given.tokens], given.draft[rows, count, given.tokens]
    ratio = np.where(p < q, p / np.where(q > 0, q, 1), given.coins)
    cumulative = np.cumsum(given.target[:, 0], axis=1)
    chosen = cumulative[np.arange(given.size), np.arange(given.size) % given.vocabulary]
    final = np.where(chosen < cumulative[:, -1], chosen / cumulative[:, -1], given.final)
    return replace(given, coins=ratio.astype(given.coins.dtype), final=final.astype(given.final.dtype))


@EVERY_RULE
def test_it_takes_what_the_rule_needs(name: str) -> None:
    takes = reference.subject(RULES[name]).takes
    assert ("parents" in takes) is not RULES[name].single_path
    assert ("coins" in takes) is not RULES[name].greedy
    assert "lengths" in takes


@EVERY_LIBRARY
@EVERY_RULE
def test_seeded(name: str, array: Library) -> None:
    """The same seed gives the same, which is what its coins give when they are injected."""
    given = batch(name, "float64")
    seeded = reference.subject(RULES[name], array=array, dtype="float64", seeded=True)
    source = {"numpy": "rng", "torch": "generator"}[array]
    assert (source in seeded.takes) is not RULES[name].greedy
    assert not seeded.takes & {"coins", "final"}
    assert_same(seeded(given), seeded(given))
    if not RULES[name].greedy:
        assert (seeded(given).tokens != seeded(replace(given, seed=given.seed + 1)).tokens).any()
        if array == "numpy":
            rng = np.random.default_rng(given.seed)
            coins, final = rng.random(given.coins.shape), rng.random(given.size)
        else:
            generator = torch.Generator().manual_seed(given.seed)
            coins, final = (
                torch.rand(s, generator=generator, dtype=torch.float64).numpy()
                for s in (given.coins.shape, given.final.shape)
            )
        assert_same(seeded(given), emit(name, replace(given, coins=coins, final=final), array, "float64"))


def test_parameters_are_those_of_the_rule() -> None:
    bound = rules.get("target_only").bind(threshold_acc=Fraction(1, 2))
    function = reference.subject(bound).function
    assert function.settings == {"threshold_single": 1.0, "threshold_acc": 0.5}
    assert reference.subject(bound).rule is bound


@EVERY_RULE
def test_it_goes_to_other_processes(name: str) -> None:
    function = reference.subject(RULES[name]).function
    again = pickle.loads(pickle.dumps(function))
    assert again.__signature__ == function.__signature__
    assert (again.verify, again.settings) == (function.verify, function.settings)


def test_no_reference() -> None:
    @rule(name="chain", single_path=True)
    def other(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        return reject(p)

    for unknown in (other, "top_k_ratio"):
        with pytest.raises(InputError, match="there is no reference for"):
            reference.subject(unknown)
    for options in ({"dtype": "float16"}, {"array": "jax"}, {"device": "cuda"}):
        with pytest.raises(InputError):
            reference.subject("chain", **options)


THRESHOLDS = {
    "acc .9": ((0.5, 0.3, 0.2), (0, 1), {"threshold_acc": 0.9}, 4 / 45),
    "acc .5": ((0.5, 0.3, 0.2), (0, 1), {"threshold_acc": 0.5}, 1 / 2),
    "single .3": ((0.5, 0.3, 0.2), (0, 1), {"threshold_single": 0.3}, 1 / 2),
    "acc .5, one child": ((0.5, 0.25, 0.125, 0.125), (1,), {"threshold_acc": 0.5}, 0.25),
    "single .2, one child": ((0.5, 0.25, 0.125, 0.125), (1,), {"threshold_single": 0.2}, 0.75),
    "single .5": ((0.5, 0.25, 0.125, 0.125), (2, 0), {"threshold_single": 0.5}, 0.375),
    "duplicate children": ((0.5, 0.25, 0.125, 0.125), (1, 1), {}, 0.25),
    "lossless": ((0.5, 0.25, 0.125, 0.125), (2, 0), {}, 0),
}
"""Target, children of the root, thresholds, TV of the first token. Computed by hand from the kernel."""


@EVERY_LIBRARY
@pytest.mark.parametrize("case", THRESHOLDS)
def test_thresholds_bias_the_law_by_what_they_should(case: str, array: Library) -> None:
    p, children, thresholds, tv = THRESHOLDS[case]
    middles = (np.arange(360) + 0.5) / 360  # every coin once, instead of many at random
    coins, final = (values.ravel() for values in np.meshgrid(middles, middles))
    size, count, vocabulary = len(coins), len(children), len(p)
    given = Batch(
        target=np.broadcast_to(np.array(p), (size, count + 1, vocabulary)),
        draft=np.broadcast_to(np.eye(vocabulary)[list(children)], (size, count, vocabulary)),
        tokens=np.broadcast_to(np.array(children), (size, count)),
        parents=np.full((size, count), -1),
        lengths=np.full(size, count),
        coins=np.broadcast_to(coins[:, None], (size, count)),
        final=final,
        seed=0,
    )
    bound = rules.get("target_only").bind(**thresholds)
    found = reference.subject(bound, array=array, dtype="float64")(given)
    law = np.bincount(found.tokens[:, 0], minlength=vocabulary) / size
    assert np.abs(law - p).sum() / 2 == pytest.approx(tv, abs=1e-3)


@EVERY_DTYPE
@EVERY_RULE
def test_libraries_agree_to_the_last_bit(name: str, dtype: str) -> None:
    given = batch(name, dtype)
    for chosen in (given, on_breakpoints(given)):
        assert_same(emit(name, chosen, "numpy", dtype), emit(name, chosen, "torch", dtype))


@EVERY_LIBRARY
@EVERY_RULE
def test_rows_alone_do_what_they_do_together(name: str, array: Library) -> None:
    given = on_breakpoints(batch(name, "float32", size=64))
    together = emit(name, given, array, "float32")
    for row in range(given.size):
        alone = emit(name, given.rows(slice(row, row + 1)), array, "float32")
        assert_same(alone, Emitted(together.tokens[[row]], together.accepted[[row]]))
    order = np.random.default_rng(0).permutation(given.size)[:37]
    assert_same(
        emit(name, given.rows(order), array, "float32"),
        Emitted(together.tokens[order], together.accepted[order]),
    )


@EVERY_LIBRARY
@EVERY_RULE
def test_padding_is_not_looked_at(name: str, array: Library) -> None:
    given = batch(name, "float32")
    plain = emit(name, given, array, "float32")
    rng = np.random.default_rng(1)
    padding = np.arange(given.tokens.shape[1]) >= given.lengths[:, None]
    target, draft, tokens, parents = (
        array.copy() for array in (given.target, given.draft, given.tokens, given.parents)
    )
    target[:, 1:][padding] = rng.random(target[:, 1:][padding].shape)
    draft[padding] = rng.random(draft[padding].shape)
    tokens[padding] = rng.integers(given.vocabulary, size=padding.sum())
    if "parents" in reference.subject(RULES[name]).takes:
        parents[padding] = -1
    changed = replace(given, target=target, draft=draft, tokens=tokens, parents=parents)
    assert_same(plain, emit(name, changed, array, "float32"))


@EVERY_LIBRARY
@EVERY_RULE
def test_tokens_without_probability_at_the_end_change_nothing(name: str, array: Library) -> None:
    # Where q is used up, all untried tokens are equally likely, those at the end too.
    kind = "dense" if name == "without_replacement" else "mixed"
    given = on_breakpoints(batch(name, "float32", kind=kind))
    plain = emit(name, given, array, "float32")
    for more in (1, 4, 60):
        wider = [(0, 0), (0, 0), (0, more)]
        padded = replace(given, target=np.pad(given.target, wider), draft=np.pad(given.draft, wider))
        assert_same(plain, emit(name, padded, array, "float32"))


@EVERY_LIBRARY
@EVERY_RULE
def test_sizes(name: str, array: Library) -> None:
    given = batch(name, "float32")
    assert emit(name, given.rows(slice(0)), array, "float32").tokens.shape[0] == 0

    none = replace(
        given,
        target=given.target[:, :1],
        draft=given.draft[:, :0],
        tokens=given.tokens[:, :0],
        parents=given.parents[:, :0],
        lengths=given.lengths * 0,
        coins=given.coins[:, :0],
    )
    found = emit(name, none, array, "float32")
    assert (found.accepted == 0).all()
    assert impossible(none, found) is None

    one = replace(
        given,
        target=np.ones_like(given.target[:, :, :1]),
        draft=np.ones_like(given.draft[:, :, :1]),
        tokens=given.tokens * 0,
    )
    found = emit(name, one, array, "float32")
    chains = RULES[name].single_path
    if chains:
        np.testing.assert_array_equal(found.accepted, given.lengths)
    assert set(found.tokens.ravel().tolist()) <= {0, -1}


def tiny(given: Batch) -> Batch:
    """Probabilities of which all but one are denormal."""
    rows = [np.full_like(values, 1e-42) for values in (given.target, given.draft)]
    for seed, values in enumerate(rows):
        hot = np.random.default_rng(seed).integers(given.vocabulary, size=values.shape[:2])
        np.put_along_axis(values, hot[:, :, None], 1, axis=2)
    return replace(given, target=rows[0], draft=rows[1])


def off_by_an_ulp(given: Batch) -> Batch:
    """Probabilities one float larger or smaller, those of equal p and q in different directions."""
    rng = np.random.default_rng(0)

    def moved(values: Any) -> Any:
        toward = np.where(rng.random(values.shape) < 0.5, 0, 2).astype(values.dtype)
        return np.where(values > 0, np.nextafter(values, toward), 0)

    return replace(given, target=moved(given.target), draft=moved(given.draft))


@EVERY_LIBRARY
@pytest.mark.parametrize("kind", ["p = q", "disjoint", "one-hot target", "one-hot draft", "zero tail"])
@EVERY_RULE
def test_hard_probabilities(name: str, kind: str, array: Library) -> None:
    """No warning, no NaN, and no token of probability 0 but where the rule says so."""
    given = batch(name, "float32", kind=kind)
    for chosen in (given, tiny(given), off_by_an_ulp(given), on_breakpoints(given)):
        found = emit(name, chosen, array, "float32")
        assert strayed(chosen, found) is None
        if name != "blockwise loosened":
            assert impossible(chosen, found) is None


@pytest.mark.parametrize("vocabulary", [1, 2, 3, 32, 33, 100])
def test_draws_follow_the_cumulative_weights(vocabulary: int) -> None:
    rng = np.random.default_rng(vocabulary)
    weights = rng.integers(0, 5, size=(500, vocabulary)).astype(np.float32)
    weights[:, -1] += weights.sum(axis=1) == 0
    coin = rng.integers(0, 2**10, size=500).astype(np.float32) / 2**10
    cumulative = weights.cumsum(axis=1)  # of small integers: exact
    expected = (cumulative > (coin * cumulative[:, -1])[:, None]).argmax(axis=1)
    np.testing.assert_array_equal(draw(np, weights, coin), expected)


def test_where_rounding_leaves_no_token_it_is_the_last_positive_one() -> None:
    """Half a smallest denormal rounds to it, or to nothing: the coin is not below the total."""
    smallest = np.float32(2.0**-149)
    weights = np.array([[0, smallest, 0, 0, 0], [smallest, 0, smallest, 0, 0]], dtype=np.float32)
    coin = np.float32([0.75, 0.99])
    assert (coin * weights.sum(axis=1) == weights.sum(axis=1)).all()
    assert draw(np, weights, coin).tolist() == [1, 2]


def test_rows_without_weight_are_drawn_from_what_is_given_instead() -> None:
    weights, otherwise = np.float32([[0, 0, 0], [0, 1, 0]]), np.float32([[0, 0, 1], [1, 0, 0]])
    assert draw(np, weights, np.float32([0.5, 0.5]), lambda empty: otherwise[empty]).tolist() == [2, 1]


def test_sums_in_pairs() -> None:
    levels = pair_sums(np, np.arange(6.0)[None])
    assert [level[0].tolist() for level in levels] == [[0, 1, 2, 3, 4, 5, 0, 0], [1, 5, 9, 0], [6, 9], [15]]
