"""The optimum over all lossless rules: linear program = subset formula = prefixes, and no rule beats it."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import optimum
from losslesscheck.sim.acceptance.exact import siblings_law

SETTINGS = int(os.environ.get("LOSSLESSCHECK_SETTINGS", "60"))
"""Random instances; 1000 are meant for a thorough run."""

KNOWN = {
    "two": ((618, 354, 28), (373, 580, 47), 2, Fraction(988871, 10**6)),
    "three": ((469, 124, 407), (201, 275, 524), 3, Fraction(1)),
}


def thousandths(*parts: int) -> list[Fraction]:
    return [Fraction(part, 1000) for part in parts]


def random_row(rng: random.Random, vocabulary: int) -> list[Fraction]:
    parts = [rng.choice((0, 0, 1, 2, 5, 9, 30)) for _ in range(vocabulary)]
    parts[rng.randrange(vocabulary)] += 1
    return [Fraction(part, sum(parts)) for part in parts]


def random_joint(rng: random.Random, vocabulary: int, width: int) -> dict[tuple[int, ...], Fraction]:
    """A law of siblings that are neither independent nor distinct."""
    every = list(itertools.product(range(vocabulary), repeat=width))
    some = rng.sample(every, min(len(every), rng.randint(1, 12)))
    return dict(zip(some, random_row(rng, len(some)), strict=True))


@pytest.mark.parametrize(("p", "q", "width", "expected"), KNOWN.values(), ids=KNOWN)
def test_known_values(p: Any, q: Any, width: int, expected: Fraction) -> None:
    target, draft = thousandths(*p), thousandths(*q)
    siblings = optimum.independent(draft, width=width)
    assert optimum.by_subsets(target, siblings) == expected
    assert optimum.by_prefixes(target, draft, width=width) == expected
    assert optimum.by_prefixes(target, draft, width=width) == expected
    assert optimum.by_linear_program(target, siblings) == pytest.approx(float(expected), abs=1e-9)


def test_subsets_are_the_formula_itself() -> None:
    """The sums over subsets, done the slow way."""
    rng = random.Random(2)
    for _ in range(20):
        vocabulary, width = rng.randint(2, 5), rng.randint(1, 3)
        target, joint = random_row(rng, vocabulary), random_joint(rng, vocabulary, width)
        gains = [
            sum((target[t] for t in inside), Fraction(0))
            - sum((chance for those, chance in joint.items() if set(those) <= set(inside)), Fraction(0))
            for size in range(vocabulary + 1)
            for inside in itertools.combinations(range(vocabulary), size)
        ]
        assert optimum.by_subsets(target, optimum.given(joint)) == 1 + min(gains)


def test_linear_program_and_subsets_agree() -> None:
    rng = random.Random(0)
    for _ in range(SETTINGS):
        vocabulary = rng.randint(2, 6)
        width = rng.randint(1, min(3, vocabulary))
        target, draft = random_row(rng, vocabulary), random_row(rng, vocabulary)
        for siblings in (
            optimum.independent(draft, width=width),
            optimum.without_replacement(draft, width=width),
            optimum.given(random_joint(rng, vocabulary, width)),
        ):
            exact = optimum.by_subsets(target, siblings)
            assert optimum.by_linear_program(target, siblings) == pytest.approx(float(exact), abs=1e-7)


@pytest.mark.parametrize("replacement", [True, False], ids=["with-replacement", "without-replacement"])
def test_prefixes_and_subsets_agree(replacement: bool) -> None:
    """Rows with zeros, equal ratios, and supports smaller than the number of siblings among them."""
    rng = random.Random(1)
    law = optimum.independent if replacement else optimum.without_replacement
    for number in range(SETTINGS):
        vocabulary = rng.randint(2, 8 if replacement else 6)
        width = rng.randint(1, min(4, vocabulary))
        target = random_row(rng, vocabulary)
        draft = target[::-1] if number % 5 == 0 else random_row(rng, vocabulary)
        exact = optimum.by_subsets(target, law(draft, width=width))
        assert optimum.by_prefixes(target, draft, width=width, replacement=replacement) == exact
        floats = [np.array(row, dtype=np.float64) for row in (target, draft)]
        rounded = optimum.by_prefixes(*floats, width=width, replacement=replacement)
        assert type(rounded) is float
        assert rounded == pytest.approx(float(exact), abs=1e-12)


def test_one_sibling_is_accepted_where_the_distributions_overlap() -> None:
    rng = random.Random(4)
    target, draft = random_row(rng, 7), random_row(rng, 7)
    assert optimum.by_prefixes(target, draft, width=1) == sum(map(min, target, draft))
    assert optimum.by_prefixes(target, draft, width=1, replacement=False) == sum(map(min, target, draft))


def test_no_rule_beats_the_optimum() -> None:
    rng = random.Random(5)
    strict = 0
    for _ in range(SETTINGS // 2):
        vocabulary = rng.randint(2, 4)
        width = rng.randint(1, min(3, vocabulary))
        target, draft = random_row(rng, vocabulary), random_row(rng, vocabulary)
        for rule, replacement in (("specinfer", True), ("without_replacement", False)):
            reached = sum(siblings_law(rule, target, draft, siblings=width))
            best = optimum.by_prefixes(target, draft, width=width, replacement=replacement)
            assert reached <= best
            strict += reached < best
    assert strict > 0


def test_distinct_fixed_siblings_are_accepted_with_their_target_mass() -> None:
    target = thousandths(500, 300, 150, 50)
    assert optimum.by_subsets(target, optimum.given({(3, 1): 1})) == Fraction(350, 1000)


def test_a_lossy_rule_can_beat_it() -> None:
    """So the comparison above is one that can fail."""

    def accepts_all(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        return accept(m.draw(q))

    target, draft = thousandths(500, 500), thousandths(900, 100)
    best = optimum.by_prefixes(target, draft, width=1)
    assert sum(siblings_law(accepts_all, target, draft, siblings=1)) > best


def test_siblings_sum_to_one() -> None:
    draft = thousandths(0, 0, 700, 300)
    for law in (
        optimum.independent(draft, width=3),
        optimum.without_replacement(draft, width=3),
        optimum.given({(0, 0): 0.25, (1, 0): 0.75}),
    ):
        assert sum(law.values()) == 1
    exhausted = {frozenset({0, 2, 3}): Fraction(1, 2), frozenset({1, 2, 3}): Fraction(1, 2)}
    assert optimum.without_replacement(draft, width=3) == exhausted


def test_a_real_vocabulary() -> None:
    target, draft = np.random.default_rng(0).dirichlet(np.full(50_000, 0.05), 2)
    values = [optimum.by_prefixes(target, draft, width=width) for width in (1, 2, 4, 8)]
    assert values[1] <= optimum.by_prefixes(target, draft, width=2, replacement=False) <= 1
    assert values[0] == pytest.approx(np.minimum(target, draft).sum(), abs=1e-12)
    assert values == sorted(values)
    assert values[-1] <= 1


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "width-zero": (lambda: optimum.by_prefixes([1, 0], [1, 0], width=0), "width: 0 is below 1"),
    "lengths": (
        lambda: optimum.by_prefixes([1, 0], [1, 0, 0], width=1),
        "draft: 3 tokens, but the target has 2",
    ),
    "sum": (lambda: optimum.by_prefixes([1, 1], [1, 0], width=1), "target[0] sums to 2, not to 1"),
    "nan": (
        lambda: optimum.by_prefixes([0.5, float("nan")], [1, 0], width=1),
        "target[0, 1] = nan is not a number",
    ),
    "too-many-tokens": (
        lambda: optimum.by_subsets(np.full(19, 1 / 19), {frozenset({0}): Fraction(1)}),
        "target: 19 tokens have too many subsets; at most 18 are possible",
    ),
    "too-many-siblings": (
        lambda: optimum.without_replacement([1, 0], width=3),
        "width: 3 siblings without replacement, but there are 2 tokens",
    ),
    "too-many-sets": (
        lambda: optimum.independent(np.full(1000, 0.001), width=3),
        "width: 3 siblings of 1000 tokens make more than 200000 sets",
    ),
    "outside": (
        lambda: optimum.by_subsets([1, 0], optimum.given({(0, 2): 1})),
        "siblings: token 2 is outside a vocabulary of 2",
    ),
    "no-law": (lambda: optimum.given({}), "siblings: there are none"),
    "negative": (lambda: optimum.given({(0,): 1.5, (1,): -0.5}), "siblings[(1,)]: -0.5 is negative"),
    "half": (lambda: optimum.given({(0,): 0.5}), "siblings: the probabilities sum to 0.5, not to 1"),
    "no-siblings": (lambda: optimum.given({(): 1}), "siblings: a node without siblings accepts nothing"),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message
