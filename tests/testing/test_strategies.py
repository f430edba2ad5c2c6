"""The Hypothesis strategies: all they draw is valid, every kind occurs, failures shrink to a few numbers."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from losslesscheck import Model, Tree, rules
from losslesscheck.errors import InputError
from losslesscheck.hypothesis_hook import register
from losslesscheck.instances import Instance, uses_draft
from losslesscheck.search import examine
from losslesscheck.testing.strategies import (
    by_context,
    coins,
    distributions,
    float_distributions,
    instances,
    models,
    pairs,
    trees,
)

ROOT = Path(__file__).parents[2]

FIXED = settings(derandomize=True, database=None)
"""The same examples in every run: nothing here fails by chance."""

SEARCH = settings(FIXED, max_examples=2000, phases=[Phase.generate])
SHRINK = settings(FIXED, max_examples=2000, phases=[Phase.generate, Phase.shrink])
"""Without the phase that explains a failure, which takes as long as both of the others."""

Row = list[Fraction]
DTYPES = ("float16", "float32", "float64")


def row(*parts: int) -> Row:
    return [Fraction(part, sum(parts)) for part in parts]


def is_one_hot(values: Any) -> bool:
    return max(values) == 1 and sum(value > 0 for value in values) == 1


def is_flat(values: Any) -> bool:
    return len(set(values)) == 1


def denormal(values: Any) -> bool:
    return bool(((values > 0) & (values < np.finfo(values.dtype).smallest_normal)).any())


def exact_sum(values: Any) -> Fraction:
    return sum(map(Fraction, values.tolist()), Fraction(0))


def support(values: Any) -> set[int]:
    return {token for token, value in enumerate(values) if value > 0}


# What is drawn is valid


@pytest.mark.parametrize("zeros", [True, False], ids=["zeros", "no zeros"])
def test_exact_rows_are_distributions_with_small_denominators(zeros: bool) -> None:
    @settings(FIXED)
    @given(st.data(), st.integers(1, 6))
    def check(data: st.DataObject, size: int) -> None:
        drawn = data.draw(distributions(size, zeros=zeros, max_denominator=7))
        assert len(drawn) == size
        assert all(type(value) is Fraction for value in drawn)
        assert sum(drawn) == 1
        assert min(drawn) >= 0
        assert zeros or min(drawn) > 0
        assert np.lcm.reduce([value.denominator for value in drawn]) <= 7

    check()


@pytest.mark.parametrize("awkward", [True, False], ids=["awkward", "plain"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_float_rows_sum_to_one_up_to_rounding(dtype: str, awkward: bool) -> None:
    @settings(FIXED, max_examples=40)
    @given(float_distributions(st.integers(1, 9), dtype=dtype, awkward=awkward))
    def check(drawn: Any) -> None:
        assert drawn.dtype == dtype
        assert drawn.ndim == 1
        assert 1 <= drawn.size <= 9
        assert np.isfinite(drawn).all()
        assert (drawn >= 0).all()
        eps = Fraction(float(np.finfo(dtype).eps))
        assert abs(exact_sum(drawn) - 1) <= (2 if awkward else 1) * eps

    check()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_pairs_are_two_distributions_over_the_same_tokens(size: int) -> None:
    @settings(FIXED, max_examples=40)
    @given(pairs(size, max_denominator=6), pairs(size, dtype="float32"))
    def check(exact: tuple[Row, Row], floats: tuple[Any, Any]) -> None:
        for drawn in exact:
            assert len(drawn) == size
            assert sum(drawn) == 1
            assert min(drawn) >= 0
        for values in floats:
            assert values.shape == (size,)
            assert values.dtype == np.float32
            assert (values >= 0).all()
            assert abs(exact_sum(values) - 1) <= 3 * 2**-23

    check()


@settings(FIXED)
@given(models(st.integers(1, 3), 2, max_denominator=5))
def test_models_answer_every_context_alone_and_in_lanes(model: Model) -> None:
    for length in range(5):
        contexts = list(itertools.product(range(model.vocabulary), repeat=length))
        lanes = tuple(np.array(contexts, dtype=np.int64).reshape(len(contexts), length).T)
        numbers = np.broadcast_to(model.index(lanes), len(contexts))
        for context, number in zip(contexts, numbers, strict=True):
            assert model.index(context) == number
            assert sum(model.exact(context)) == 1
            if length > 2:
                assert model.exact(context) == model.exact(())


def test_by_context_gives_the_listed_rows_and_else_the_default() -> None:
    model = by_context({(1,): row(1, 0), (): row(1, 1), (0, 1): row(1, 2)})
    assert model.exact((1,)) == row(1, 0)
    assert model.exact((0, 1)) == row(1, 2)
    for context in [(), (0,), (1, 1), (0, 1, 1)]:
        assert model.exact(context) == row(1, 1)


@settings(FIXED)
@given(trees(max_depth=2, max_width=3, max_size=6))
def test_trees_keep_within_their_bounds(tree: Tree) -> None:
    assert 1 <= tree.depth <= 2
    assert 1 <= tree.width <= 3
    assert 1 <= tree.size <= 6
    assert not tree.tokens


@pytest.mark.parametrize("duplicates", [False, True], ids=["distinct", "duplicates"])
def test_fixed_tokens_are_in_the_vocabulary(duplicates: bool) -> None:
    @settings(FIXED)
    @given(trees(max_width=4, tokens=3, duplicates=duplicates))
    def check(tree: Tree) -> None:
        for _, node in tree.nodes():
            tokens = [child.token for child in node.children]
            assert set(tokens) <= {0, 1, 2}
            assert duplicates or len(set(tokens)) == len(tokens)

    check()


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 24), ("float64", 53)])
@pytest.mark.parametrize("shape", [(), (2, 3), (0, 3), (2, 0)], ids=str)
def test_coins_are_multiples_of_the_engine_s_unit(shape: tuple[int, ...], dtype: str, bits: int) -> None:
    @settings(FIXED, max_examples=40)
    @given(coins(shape, dtype=dtype))
    def check(drawn: Any) -> None:
        assert drawn.shape == shape
        assert drawn.dtype == dtype
        for coin in drawn.ravel().tolist():
            assert (Fraction(coin) * 2**bits).denominator == 1
            assert 0 <= coin < 1

    check()


@pytest.mark.parametrize("name", [*rules.names(), *rules.broken()])
def test_instances_fit_their_rule(name: str) -> None:
    rule = rules.get(name)

    @settings(FIXED, max_examples=8)
    @given(instances(name))
    def check(instance: Instance) -> None:
        size, tree = instance.vocabulary, instance.tree
        assert 2 <= size <= 4
        if rule.takes_tree:
            assert rule.fit(tree, size) == tree
            assert tree.width <= (1 if rule.single_path else size)
            assert tree.depth <= 2
            assert tree.size <= 4
        assert set(instance.draft) <= {()} or uses_draft(rule)
        for rows, longest in ((instance.target, tree.depth), (instance.draft, tree.depth - 1)):
            for context, drawn in rows.items():
                assert sum(drawn) == 1
                assert len(drawn) == size
                assert len(context) <= max(longest, 0)
                assert set(context) <= set(range(size))
        examine(rule, instance)  # raises where the rule cannot run

    check()


@settings(FIXED)
@given(instances("specinfer", positive_draft=True, vocabulary=3, max_denominator=5))
def test_a_positive_draft_leaves_no_token_out(instance: Instance) -> None:
    assert instance.vocabulary == 3
    assert all(min(drawn) > 0 for drawn in instance.draft.values())


# Every kind is drawn


EXACT: dict[str, Callable[[Row], bool]] = {
    "one-hot": is_one_hot,
    "flat": is_flat,
    "a zero": lambda r: 0 in r and not is_one_hot(r),
    "no zero": lambda r: min(r) > 0 and not is_flat(r),
    "a tie": lambda r: len(set(r)) == 2 and 0 not in r,
    "peaked": lambda r: Fraction(4, 5) <= max(r) < 1,
}

FLOATS: dict[str, Callable[[Any], bool]] = {
    "one-hot": is_one_hot,
    "flat": is_flat,
    "peaked": lambda r: 0.999 < max(r) < 1 and min(r) > 0,
    "a tie": lambda r: len(set(r)) == 3 and 0 not in r,
    "denormal": denormal,
    "a sum above one": lambda r: exact_sum(r) >= 1 + Fraction(float(np.finfo(r.dtype).eps)) / 4,
    "a sum below one": lambda r: exact_sum(r) <= 1 - Fraction(float(np.finfo(r.dtype).eps)) / 4,
}

TREES: dict[str, Callable[[Tree], bool]] = {
    "a chain": lambda t: t.depth == 3 and t.width == 1,
    "siblings": lambda t: t.depth == 1 and t.width == 3,
    "a leaf before maximal depth": lambda t: any(
        not node.children and len(path) < t.depth for path, node in t.nodes()
    ),
    "ragged below siblings": lambda t: len({len(child.children) for child in t.children}) == 3,
}


@pytest.mark.parametrize("kind", EXACT)
def test_exact_rows_of_every_kind(kind: str) -> None:
    find(distributions(3), EXACT[kind], settings=SEARCH)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", FLOATS)
def test_float_rows_of_every_kind(kind: str, dtype: str) -> None:
    find(float_distributions(4, dtype=dtype), FLOATS[kind], settings=SEARCH)


def test_a_padded_vocabulary_has_a_zero_tail() -> None:
    find(float_distributions(40), lambda r: min(r[:15]) > 0 and max(r[-10:]) == 0, settings=SEARCH)


@pytest.mark.parametrize("dtype", [None, "float32"], ids=["exact", "float32"])
def test_every_relation_of_draft_and_target_is_frequent(dtype: str | None) -> None:
    seen: Counter[str] = Counter()

    @settings(SEARCH, max_examples=200)
    @given(pairs(8, dtype=dtype))
    def count(pair: tuple[Any, Any]) -> None:
        different = [abs(float(a) - float(b)) for a, b in zip(*pair, strict=True) if a != b]
        if not different:
            seen["equal"] += 1
        elif not support(pair[0]) & support(pair[1]):
            seen["disjoint"] += 1
        elif len(different) <= 2 and len(set(different)) == 1:
            seen["near"] += 1
        else:
            seen["independent"] += 1

    count()
    assert len(seen) == 4
    assert min(seen.values()) > 0.1 * seen.total()


def test_pairs_that_differ_by_one_unit_or_one_ulp() -> None:
    def off_by_a_unit(pair: tuple[Row, Row]) -> bool:
        differences = sorted(a - b for a, b in zip(*pair, strict=True))
        return differences[0] == -differences[-1] == Fraction(-1, 7) and not any(differences[1:-1])

    def off_by_an_ulp(pair: tuple[Any, Any]) -> bool:
        target, draft = pair
        (places,) = np.nonzero(target != draft)
        return len(places) == 1 and draft[places[0]] in np.nextafter(target[places[0]], np.float32([0, 2]))

    find(pairs(3), off_by_a_unit, settings=SEARCH)
    find(pairs(3, dtype="float32"), off_by_an_ulp, settings=SEARCH)


@pytest.mark.parametrize("kind", TREES)
def test_trees_of_every_kind(kind: str) -> None:
    find(trees(), TREES[kind], settings=SEARCH)


def test_duplicate_siblings_are_drawn_where_they_are_asked_for() -> None:
    def equal_siblings(tree: Tree) -> bool:
        return any(len({c.token for c in n.children}) < len(n.children) for _, n in tree.nodes())

    find(trees(tokens=9, duplicates=True), equal_siblings, settings=SEARCH)
    with pytest.raises(NoSuchExample):
        find(trees(tokens=9), equal_siblings, settings=FIXED)


def test_the_extreme_coins_are_frequent() -> None:
    seen: Counter[str] = Counter()

    @settings(SEARCH, max_examples=100)
    @given(coins(4))
    def count(drawn: Any) -> None:
        for coin in drawn.tolist():
            seen["zero" if coin == 0 else "last" if coin == 1 - 2**-24 else "between"] += 1

    count()
    assert min(seen["zero"], seen["last"], seen["between"]) > 0.15 * seen.total()


# Shrinking


def test_everything_shrinks_to_the_simplest_of_its_kind() -> None:
    def simplest(strategy: st.SearchStrategy[Any]) -> Any:
        return find(strategy, lambda drawn: True, settings=SHRINK)

    assert simplest(distributions(st.integers(2, 5))) == row(1, 0)
    assert simplest(distributions(3, zeros=False)) == row(1, 1, 1)
    assert simplest(float_distributions(2)).tolist() == [1.0, 0.0]
    assert simplest(pairs(2)) == (row(1, 0), row(1, 0))
    assert simplest(trees()) == Tree.chain(1)
    assert simplest(trees(empty=True)) == Tree()
    assert simplest(trees(tokens=5)) == Tree.siblings([0])
    assert simplest(coins((2, 2))).tolist() == [[0, 0], [0, 0]]
    model = simplest(models(2, 3))
    assert model.count == 1
    assert model.exact((1, 1)) == row(1, 0)


def test_a_model_s_failure_shrinks_to_one_context() -> None:
    found = find(models(3, 2), lambda m: m.exact((1, 2)) != m.exact(()), settings=SHRINK)
    assert found.vocabulary == 3
    assert found.count == 2
    assert {value.denominator for value in (*found.exact(()), *found.exact((1, 2)))} == {1}


def size_of(instance: Instance) -> tuple[int, int, int]:
    """Vocabulary, largest denominator and number of draft tokens."""
    drawn = [*instance.target.values(), *instance.draft.values()]
    return (
        instance.vocabulary,
        max(value.denominator for values in drawn for value in values),
        instance.tree.size,
    )


@pytest.mark.parametrize("name", rules.broken())
def test_a_broken_pattern_shrinks_to_an_instance_done_by_hand(name: str) -> None:
    rule = rules.get(name)
    found = find(instances(rule), lambda i: examine(rule, i) is not None, settings=SHRINK)
    vocabulary, denominator, draft_tokens = size_of(found)
    assert vocabulary <= 3
    assert denominator <= 4
    assert draft_tokens <= 2
    assert len(found.target) <= 2
    assert len(found.draft) <= 2


def test_chain_has_no_falsifying_instance() -> None:
    rule = rules.get("chain")
    drafted = 0

    def off(instance: Instance) -> bool:
        nonlocal drafted
        drafted += instance.tree.size > 0 and instance.target[()] != instance.draft[()]
        return examine(rule, instance) is not None

    with pytest.raises(NoSuchExample):
        find(instances(rule), off, settings=settings(FIXED, max_examples=200))
    assert drafted > 60


# What is printed


def printed(test: Callable[[], None]) -> str:
    with pytest.raises(AssertionError) as caught:
        test()
    return "\n".join(caught.value.__notes__)


def value_of(text: str, name: str) -> str:
    """What is printed for an argument of the failing test, up to the parenthesis that closes the call."""
    return text.partition(f"{name}=")[2].partition(",\n)")[0]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("resample_target", ["Tree.from_parents([-1])", "target={(): [Fraction(1, 2), Fraction(1, 2)]}"]),
        (
            "bonus_previous_row",
            ["target={(): [Fraction(1, 1), Fraction(0, 1)], (0,): [Fraction(0, 1), Fraction(1, 1)]}"],
        ),
        ("duplicate_siblings", ["Tree.from_parents([-1, -1], [0, 0])"]),
    ],
    ids=["resample_target", "bonus_previous_row", "duplicate_siblings"],
)
def test_a_falsifying_instance_prints_as_what_makes_it(name: str, parts: list[str]) -> None:
    rule = rules.get(name)

    @settings(SHRINK)
    @given(instances(rule))
    def lossless(instance: Instance) -> None:
        assert examine(rule, instance) is None

    text = printed(lossless)
    for part in parts:
        assert part in " ".join(text.split())
    copied = eval(value_of(text, "instance"), {"Instance": Instance, "Tree": Tree, "Fraction": Fraction})
    assert examine(rule, copied) is not None


def test_a_model_prints_as_its_rows() -> None:
    @settings(SHRINK)
    @given(models(2, 1, name="draft"))
    def same_everywhere(model: Model) -> None:
        assert model.exact((0,)) == model.exact((1,))

    text = value_of(printed(same_everywhere), "model")
    copied = eval(text, {"by_context": by_context, "Fraction": Fraction})
    assert copied.name == "draft"
    assert copied.exact((0,)) != copied.exact((1,))


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        (coins((1, 1), dtype="float64"), "np.array([[0.9999999999999999]], 'float64')"),
        (coins((0, 2)), "np.empty((0, 2), 'float32')"),
        (float_distributions(1, dtype="float32"), "np.array([1.0000001192092896], 'float32')"),
    ],
    ids=["coin", "no coin", "row"],
)
def test_arrays_print_every_digit(strategy: st.SearchStrategy[Any], text: str) -> None:
    def shown(drawn: Any) -> bool:
        copied = eval(repr(drawn), {"np": np})
        assert copied.dtype == drawn.dtype
        assert copied.shape == drawn.shape
        assert copied.tobytes() == drawn.tobytes()
        return repr(drawn) == text

    find(strategy, shown, settings=SEARCH)


# Bad arguments


BAD: dict[str, Callable[[], Any]] = {
    "vocabulary: 0 is no integer of at least 1": lambda: distributions(0),
    "vocabulary: 'two' is no integer of at least 1": lambda: float_distributions("two"),  # type: ignore[arg-type]
    "vocabulary: True is no integer of at least 1": lambda: pairs(True),
    "max_denominator: 2 is too small for 3 tokens of positive probability": lambda: distributions(
        3, zeros=False, max_denominator=2
    ),
    "max_denominator: 0 is no integer of at least 1": lambda: pairs(2, max_denominator=0),
    "dtype: 'bfloat16' is not one of float16, float32, float64": lambda: float_distributions(
        2, dtype="bfloat16"
    ),
    "dtype: 'float16' is not one of float32, float64": lambda: coins(2, dtype="float16"),
    "dtype: 'int32' is not one of float16, float32, float64": lambda: pairs(2, dtype="int32"),
    "shape: -1 is no integer of at least 0": lambda: coins((2, -1)),
    "shape: [2] is neither an integer nor a tuple": lambda: coins([2]),  # type: ignore[arg-type]
    "depth: -1 is no integer of at least 0": lambda: models(2, -1),
    "max_contexts: -1 is no integer of at least 0": lambda: models(2, 1, max_contexts=-1),
    "max_depth: 0 is no integer of at least 1": lambda: trees(max_depth=0),
    "max_width: 1.5 is no integer of at least 1": lambda: trees(max_width=1.5),  # type: ignore[arg-type]
    "tokens: 0 is no integer of at least 1": lambda: trees(tokens=0),
    "duplicates: without tokens, no siblings are the same token": lambda: trees(duplicates=True),
    "rule: there is no rule 'chian'; did you mean chain?": lambda: instances("chian"),
    "max_size: 0 is no integer of at least 1": lambda: instances("chain", max_size=0),
}


@pytest.mark.parametrize("message", BAD)
def test_a_bad_argument_is_named_before_anything_is_drawn(message: str) -> None:
    with pytest.raises(InputError) as caught:
        BAD[message]()
    assert str(caught.value) == message


def test_a_bad_vocabulary_of_a_strategy_is_named_when_it_is_drawn() -> None:
    with pytest.raises(InputError, match="vocabulary: 0 is no integer of at least 1"):
        find(distributions(st.just(0)), lambda drawn: True, settings=FIXED)


# Registration


def test_from_type_draws_every_kind_of_tree_model_and_instance() -> None:
    register()
    assert find(st.from_type(Tree), lambda tree: tree.size == 4, settings=SEARCH).size == 4
    assert find(st.from_type(Model), lambda model: model.count == 3, settings=SEARCH).count == 3
    for drawn in (True, False):
        find(st.from_type(Instance), lambda i, drawn=drawn: bool(i.draft) == drawn, settings=SEARCH)


HOOKED = """
import sys
from hypothesis import Phase, find, settings, strategies as st
heavy = {"flint", "scipy", "sympy", "torch", "losslesscheck.testing", "losslesscheck.rules"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
from losslesscheck import Model, Tree
from losslesscheck.instances import Instance
quick = settings(max_examples=1, phases=[Phase.generate], database=None)
for kind in (Tree, Model, Instance):
    assert isinstance(find(st.from_type(kind), lambda drawn: True, settings=quick), kind)
"""


@pytest.mark.parametrize(
    "program",
    [HOOKED, "import losslesscheck.testing.strategies\n" + HOOKED.replace("assert not heavy", "heavy")],
    ids=["hypothesis first", "the strategies first"],
)
def test_hypothesis_registers_the_types_when_it_is_imported(program: str, tmp_path: Path) -> None:
    """With the entry point of pyproject.toml, whatever an older installation may say."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (name, hook), *others = project["entry-points"]["hypothesis"].items()
    assert not others
    info = tmp_path / "hooked-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hooked\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[hypothesis]\n{name} = {hook}\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
