"""The papers' closed forms against the exact machine: equal as fractions."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.model import Model
from losslesscheck.sim.acceptance.exact import accepted_law, siblings_law
from losslesscheck.sim.tokens import closed_forms
from losslesscheck.tree import Tree

SETTINGS = int(os.environ.get("LOSSLESSCHECK_SETTINGS", "60"))
"""Random settings of the property test; 1000 are meant for a thorough run."""

P = [Fraction(618, 1000), Fraction(354, 1000), Fraction(28, 1000)]
Q = [Fraction(373, 1000), Fraction(580, 1000), Fraction(47, 1000)]


def random_row(rng: random.Random, vocabulary: int) -> list[Fraction]:
    parts = [rng.choice((0, 0, 1, 2, 5, 9, 30)) for _ in range(vocabulary)]
    parts[rng.randrange(vocabulary)] += 1
    return [Fraction(part, sum(parts)) for part in parts]


def random_model(rng: random.Random, vocabulary: int, length: int) -> Model:
    count = sum(vocabulary**n for n in range(length + 1))
    return Model.table([random_row(rng, vocabulary) for _ in range(count)])


# One property for each closed form: its value, and the exact machine's, for a random setting.

Property = Callable[[random.Random, int], tuple[Any, Any]]


def chain(rng: random.Random, size: int) -> tuple[Any, Any]:
    """Eq. 1 with α = Σ min(p, q)."""
    p, q, length = random_row(rng, size), random_row(rng, size), rng.randint(0, 4)
    law = accepted_law("chain", p, q, tree=Tree.chain(length))
    return closed_forms.chain(closed_forms.overlap(p, q), draft_length=length), law.tokens_per_step


def by_position(rng: random.Random, size: int) -> tuple[Any, Any]:
    """1 + Σ Π with the overlap at every position."""
    p, q = ([random_row(rng, size) for _ in range(3)] for _ in range(2))
    alphas = [closed_forms.overlap(a, b) for a, b in zip(p, q, strict=True)]
    return closed_forms.by_position(alphas), accepted_law("chain", p, q, tree=Tree.chain(3)).tokens_per_step


def any_rule_by_position(rng: random.Random, size: int) -> tuple[Any, Any]:
    """1 + Σ Π of a law's own conditional acceptances, for a rule on a model of the context."""
    name = rng.choice(["chain", "block_verification", "point_mass", "resample_target"])
    law = accepted_law(name, random_model(rng, 2, 2), random_model(rng, 2, 2), tree=Tree.chain(2))
    alphas = [alpha or Fraction(0) for alpha in law.conditional]
    return closed_forms.by_position(alphas), law.tokens_per_step


def block_verification(rng: random.Random, size: int) -> tuple[Any, Any]:
    """E[pᵢ] is P(at least i are accepted), for every i; rows by position."""
    p, q = ([random_row(rng, size) for _ in range(3)] for _ in range(2))
    length = rng.randint(1, 3 if size < 4 else 2)
    found = closed_forms.block_verification(p, q, draft_length=length)
    return found, accepted_law("block_verification", p, q, tree=Tree.chain(length)).reach


def block_verification_by_context(rng: random.Random, size: int) -> tuple[Any, Any]:
    p, q = random_model(rng, 2, 3), random_model(rng, 2, 3)
    found = closed_forms.block_verification(p, q, draft_length=3)
    return found, accepted_law("block_verification", p, q, tree=Tree.chain(3)).reach


def multi_step(rng: random.Random, size: int) -> tuple[Any, Any]:
    p, q, width = random_row(rng, size), random_row(rng, size), rng.randint(1, 4)
    return (
        closed_forms.multi_step(p, q, width=width),
        siblings_law("specinfer", p, q, siblings=width),
    )


def multi_step_enumerated(rng: random.Random, size: int) -> tuple[Any, Any]:
    """A k-ary tree, every emitted sequence enumerated."""
    p, q = random_row(rng, size), random_row(rng, size)
    widths = rng.choice([(2, 2), (3, 1), (1, 2), (2, 1, 1)])
    law = accepted_law("specinfer", _hidden(p), _hidden(q), tree=Tree.regular(widths))
    return closed_forms.multi_step_tree(p, q, widths=widths), law.tokens_per_step


def multi_step_tree(rng: random.Random, size: int) -> tuple[Any, Any]:
    p, q = ([random_row(rng, size) for _ in range(3)] for _ in range(2))
    widths = [rng.randint(1, 4) for _ in range(3)]
    law = accepted_law("specinfer", p, q, tree=Tree.regular(widths))
    return closed_forms.multi_step_tree(p, q, widths=widths), law.tokens_per_step


def without_replacement(rng: random.Random, size: int) -> tuple[Any, Any]:
    p, q, width = random_row(rng, size), random_row(rng, size), rng.randint(1, min(size, 3))
    return (
        closed_forms.without_replacement(p, q, width=width),
        siblings_law("without_replacement", p, q, siblings=width),
    )


def without_replacement_tree(rng: random.Random, size: int) -> tuple[Any, Any]:
    p, q = ([random_row(rng, size) for _ in range(2)] for _ in range(2))
    widths = [rng.randint(1, 2) for _ in range(2)]
    law = accepted_law("without_replacement", p, q, tree=Tree.regular(widths))
    return closed_forms.without_replacement_tree(p, q, widths=widths), law.tokens_per_step


def target_only(rng: random.Random, size: int) -> tuple[Any, Any]:
    """Target mass on the siblings, level by level; three rules accept it."""
    p, tree = random_model(rng, size, 2), _random_tree(rng, size)
    name = rng.choice(["target_only", "point_mass", "naive_sampling"])
    return closed_forms.target_only(p, tree), accepted_law(name, p, tree=tree).tokens_per_step


def naive_sampling(rng: random.Random, size: int) -> tuple[Any, Any]:
    """The rule takes the siblings as they are: its law is averaged over their draws."""
    p, q, width = random_row(rng, size), random_row(rng, size), rng.randint(1, 3)
    average = Fraction(0)
    for those in itertools.product(range(size), repeat=width):
        if chance := math.prod((q[t] for t in those), start=Fraction(1)):
            average += chance * sum(siblings_law("naive_sampling", p, siblings=those))
    return closed_forms.naive_sampling(p, q, width=width), average


def greedy(rng: random.Random, size: int) -> tuple[Any, Any]:
    p, q = random_model(rng, size, 3), random_model(rng, size, 3)
    law = accepted_law("blockwise", p, q, tree=Tree.chain(3))
    return closed_forms.greedy(p, q, draft_length=3), law.tokens_per_step


PROPERTIES: list[Property] = [
    chain,
    by_position,
    any_rule_by_position,
    block_verification,
    block_verification_by_context,
    multi_step,
    multi_step_enumerated,
    multi_step_tree,
    without_replacement,
    without_replacement_tree,
    target_only,
    naive_sampling,
    greedy,
]


def _hidden(row: list[Fraction]) -> Model:
    return Model([row, row], lambda context: 0)


def _random_tree(rng: random.Random, size: int) -> Tree:
    def children(depth: int) -> tuple[Tree, ...]:
        some = rng.sample(range(size), rng.randint(1, min(size, 2))) if depth < 2 else []
        return tuple(Tree(children(depth + 1), token) for token in some)

    return Tree(children(0))


@pytest.mark.parametrize("compare", PROPERTIES, ids=lambda compare: compare.__name__)
def test_closed_form_is_exact_enumeration(compare: Property) -> None:
    rng = random.Random(compare.__name__)
    for _ in range(max(1, SETTINGS // len(PROPERTIES))):
        size = rng.randint(2, 4)
        found, exact = compare(rng, size)
        assert found == exact


@pytest.mark.parametrize(
    ("alpha", "draft_length", "expected"),
    [(0.8, 4, 3.3616), (0.0, 3, 1.0), (1.0, 3, 4.0), (1 - 1e-12, 9, 10.0), (1e-300, 5, 1.0), (0.5, 0, 1.0)],
)
def test_equation_1_at_its_ends(alpha: float, draft_length: int, expected: float) -> None:
    assert closed_forms.chain(alpha, draft_length=draft_length) == pytest.approx(expected, rel=1e-10)


def test_the_oracle_is_the_limit_of_long_drafts() -> None:
    assert closed_forms.oracle(Fraction(4, 5)) == 5
    assert closed_forms.chain(0.8, draft_length=400) == pytest.approx(closed_forms.oracle(0.8), rel=1e-12)


def test_the_block_verification_paper_s_example() -> None:
    """Sun et al. 2024, Sec. 2: two tokens, γ = 2; accepted are 10/9 token by token, 11/9 as a block."""
    p, q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
    assert closed_forms.chain(closed_forms.overlap(p, q), draft_length=2) == 1 + Fraction(10, 9)
    assert sum(closed_forms.block_verification(p, q, draft_length=2)) == Fraction(11, 9)


def test_multi_step_of_known_value() -> None:
    assert sum(closed_forms.multi_step(P, Q, width=2)) == Fraction(169277, 200000)


def test_multi_step_rejects_no_more_often_than_naive_sampling() -> None:
    """Miao et al. 2023, Thm 4.3."""
    rng = random.Random(8)
    for _ in range(SETTINGS):
        p, q, width = random_row(rng, 4), random_row(rng, 4), rng.randint(1, 4)
        accepted = sum(closed_forms.multi_step(p, q, width=width))
        assert accepted >= closed_forms.naive_sampling(p, q, width=width)


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("form", [closed_forms.multi_step, closed_forms.without_replacement])
def test_floats_are_the_fractions_rounded(form: Any, width: int) -> None:
    rng = random.Random(9)
    for _ in range(10):
        p, q = random_row(rng, 5), random_row(rng, 5)
        exact = form(p, q, width=width)
        rounded = form(*(np.array(row, dtype=np.float64) for row in (p, q)), width=width)
        assert all(type(x) is Fraction for x in exact)
        assert all(type(x) is float for x in rounded)
        assert rounded == pytest.approx([float(x) for x in exact], abs=1e-12)


def test_floats_of_trees() -> None:
    p, q = [0.6, 0.3, 0.1], [0.2, 0.5, 0.3]
    tree = Tree.from_parents([-1, -1, 0], tokens=[0, 2, 1])
    assert closed_forms.target_only(p, tree) == pytest.approx(1 + 0.6 + 0.1 + 0.6 * 0.3)
    first = sum(closed_forms.multi_step(p, q, width=2))
    second = sum(closed_forms.multi_step(p, q, width=1))
    tokens = closed_forms.multi_step_tree(p, q, widths=(2, 1))
    assert tokens == pytest.approx(1 + first + first * second)
    assert type(tokens) is float


def test_a_real_vocabulary() -> None:
    p, q = np.random.default_rng(0).dirichlet(np.full(50_000, 0.05), 2)
    accepted = closed_forms.multi_step(p, q, width=4)
    assert accepted[0] == pytest.approx(closed_forms.overlap(p, q))
    assert 0 < sum(accepted) < 1
    assert closed_forms.naive_sampling(p, q, width=4) <= sum(accepted)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "alpha": (lambda: closed_forms.chain(1.2, draft_length=2), "alpha: 1.2 is outside [0, 1]"),
    "alpha-nan": (lambda: closed_forms.chain(math.nan, draft_length=2), "alpha: nan is not finite"),
    "draft-length": (lambda: closed_forms.chain(0.5, draft_length=-1), "draft_length: -1 is below 0"),
    "oracle": (lambda: closed_forms.oracle(1), "alpha: 1 has no finite number of tokens"),
    "no-positions": (lambda: closed_forms.by_position([]), "alphas: it is empty"),
    "position": (lambda: closed_forms.by_position([0.5, -1]), "alphas[1]: -1 is outside [0, 1]"),
    "width": (lambda: closed_forms.multi_step(P, Q, width=0), "width: 0 is below 1"),
    "no-widths": (lambda: closed_forms.multi_step_tree(P, Q, widths=()), "widths: it is empty"),
    "width-in-a-tree": (lambda: closed_forms.multi_step_tree(P, Q, widths=(2, 0)), "width: 0 is below 1"),
    "lengths": (lambda: closed_forms.overlap(P, [1, 0]), "draft: 2 tokens, but the target has 3"),
    "sum": (lambda: closed_forms.overlap([1, 1], [1, 0]), "target[0] sums to 2, not to 1"),
    "too-wide": (
        lambda: closed_forms.without_replacement(P, Q, width=4),
        "width: 4 siblings without replacement, but there are 3 tokens",
    ),
    "too-many": (
        lambda: closed_forms.without_replacement(np.full(1000, 1e-3), np.full(1000, 1e-3), width=3),
        "width: 3 siblings of 1000 tokens can be rejected in too many ways",
    ),
    "model": (
        lambda: closed_forms.multi_step_tree(Model([P, Q], lambda context: 0), Q, widths=(2,)),
        "target: under a model the nodes of a depth may differ; give rows by position",
    ),
    "duplicates": (
        lambda: closed_forms.target_only(P, Tree.siblings([1, 1])),
        "tree: children 0 and 1 of the root are both token 1; target_only needs distinct siblings",
    ),
    "paths": (
        lambda: closed_forms.block_verification(np.full(1000, 1e-3), np.full(1000, 1e-3), draft_length=-2),
        "draft_length: -2 is below 0",
    ),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message


def test_too_many_draft_paths_are_refused() -> None:
    rng = random.Random(0)
    p, q = random_model(rng, 4, 1), random_model(rng, 4, 1)
    target = Model([p.exact(()), p.exact((0,))], lambda context: len(context) % 2)
    with pytest.raises(InputError, match="draft_length: 30 makes more than 200000 draft paths"):
        closed_forms.block_verification(target, q.exact(()), draft_length=30)


def test_every_rule_of_the_library_has_a_law() -> None:
    for name in rules.names():
        assert sum(accepted_law(name, P, Q).lengths) == 1
