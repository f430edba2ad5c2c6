"""Acceptance from given targets and drafts: node by node = sequence by sequence = by hand."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.errors import InputError, RuleError, Undecided
from losslesscheck.instances import sampling_models
from losslesscheck.model import Model
from losslesscheck.rule import rule
from losslesscheck.sim.acceptance.exact import accepted_law, by_position, by_sibling, siblings_law
from losslesscheck.tree import Tree

P = [Fraction(618, 1000), Fraction(354, 1000), Fraction(28, 1000)]
Q = [Fraction(373, 1000), Fraction(580, 1000), Fraction(47, 1000)]
THREE = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
NODE_BY_NODE = [name for name in (*rules.names(), *rules.broken()) if rules.get(name).form != "whole"]


def hidden(*rows: list[Fraction]) -> Model:
    """A model of which nobody can see that it depends on the position only."""
    return Model([*rows], lambda context: min(len(context), len(rows) - 1))


def test_one_draft_token_is_accepted_where_the_distributions_overlap() -> None:
    law = accepted_law("chain", P, Q, tree=Tree.chain(1))
    assert law.lengths == (1 - Fraction(755, 1000), Fraction(755, 1000))
    assert law.tokens_per_step == 1 + Fraction(755, 1000)


@pytest.mark.parametrize(
    ("p", "q", "width", "expected"),
    [
        (P, Q, 2, Fraction(169277, 200000)),
        (
            [Fraction(469, 1000), Fraction(124, 1000), Fraction(407, 1000)],
            [Fraction(201, 1000), Fraction(275, 1000), Fraction(524, 1000)],
            3,
            Fraction(207227133, 250000000),
        ),
    ],
)
def test_multi_step_of_known_value(
    p: list[Fraction], q: list[Fraction], width: int, expected: Fraction
) -> None:
    assert sum(siblings_law("specinfer", p, q, siblings=width)) == expected


@pytest.mark.parametrize("name", NODE_BY_NODE)
def test_node_by_node_is_sequence_by_sequence(name: str) -> None:
    given = rules.get(name)
    target, draft = [P, THREE], [Q, P]
    read = accepted_law(given, target, draft)
    assert read == accepted_law(given, hidden(*target), hidden(*draft))
    assert sum(read.lengths) == 1


@pytest.mark.parametrize("name", ["specinfer", "without_replacement", "target_only", "naive_sampling"])
def test_nodes_of_unlike_shape(name: str) -> None:
    tree = Tree.from_parents([-1, -1, 1, 1, 3])
    read = accepted_law(name, [P, THREE, P], [Q, Q, THREE], tree=tree)
    assert read == accepted_law(name, hidden(P, THREE, P), hidden(Q, Q, THREE), tree=tree)


@pytest.mark.parametrize(
    ("name", "tree"),
    [
        ("specinfer", Tree.from_parents([-1, -1, 1, 1, 3, 0])),
        ("without_replacement", Tree.regular((3, 1, 2))),
        ("target_only", Tree.regular((2, 1))),
        ("point_mass", Tree.regular((2, 2))),
    ],
)
def test_by_sibling_has_the_same_law(name: str, tree: Tree) -> None:
    model = by_sibling(name, [P, THREE], [Q, P], tree=tree)
    exact = accepted_law(name, [P, THREE], [Q, P], tree=tree)
    assert model.tree_lengths(tree) == pytest.approx([float(x) for x in exact.lengths], abs=1e-14)


@pytest.mark.parametrize("name", ["chain", "block_verification", "blockwise", "point_mass"])
def test_by_position_has_the_same_law(name: str) -> None:
    target, draft = sampling_models(rules.get("chain"), Tree.chain(3), 3, seed=5)
    model = by_position(name, target, draft, draft_length=3)
    exact = accepted_law(name, target, draft, tree=Tree.chain(3))
    assert model.lengths(3) == pytest.approx([float(x) for x in exact.lengths], abs=1e-14)


def test_context_dependent_chain_by_hand() -> None:
    """P(the first i are accepted) = Σ over paths of Π min(p, q)."""
    target, draft = sampling_models(rules.get("chain"), Tree.chain(3), 3, seed=11)
    assert draft is not None
    expected = []
    for length in (1, 2, 3):
        total = Fraction(0)
        for path in itertools.product(range(3), repeat=length):
            weight = Fraction(1)
            for i, token in enumerate(path):
                weight *= min(target.exact(path[:i])[token], draft.exact(path[:i])[token])
            total += weight
        expected.append(total)
    assert accepted_law("chain", target, draft, tree=Tree.chain(3)).reach == tuple(expected)


def test_siblings_by_hand() -> None:
    """Without replacement, two siblings; the residual after a rejection does not depend on the token."""
    first = sum(map(min, P, Q))
    residual = [max(Fraction(0), a - b) / (1 - first) for a, b in zip(P, Q, strict=True)]
    second = Fraction(0)
    for x in range(3):
        rest = [Fraction(0) if t == x else Q[t] / (1 - Q[x]) for t in range(3)]
        second += max(Fraction(0), Q[x] - P[x]) * sum(map(min, residual, rest))
    assert siblings_law("without_replacement", P, Q, siblings=2) == (first, second)
    assert siblings_law("target_only", P, siblings=[2, 0]) == (P[2], P[0])
    assert siblings_law("naive_sampling", P, siblings=[1, 1]) == (P[1], 0)


def test_a_rule_that_builds_its_own_tree() -> None:
    law = accepted_law(rules.get("standalone").bind(steps=2, topk=1, draft_tokens=3), P, Q)
    assert law.lengths == (1 - P[1], P[1] * (1 - P[1]), P[1] ** 2)


def test_a_user_s_rule() -> None:
    def lenient(m: Any, p: Any, q: Any, accept: Any, reject: Any, *, lenience: Any = Fraction(1, 2)) -> Any:
        x = m.draw(q)
        if m.flip(m.min(m.one, p[x] / (q[x] * lenience))):
            return accept(x)
        return reject(m.norm(m.relu(p - q)))

    expected = sum(min(a * 2, b) for a, b in zip(P, Q, strict=True))  # Σ min(p/l, q)
    assert accepted_law(lenient, P, Q, tree=Tree.chain(1)).reach == (expected,)


def test_conditional_acceptance_after_what_never_happens() -> None:
    one, other = [Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]
    law = accepted_law("chain", one, other, tree=Tree.chain(2))
    assert law.conditional == (0, None)
    assert by_position("chain", one, other, draft_length=2).alphas == (0, 0)


def test_a_real_vocabulary() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.full(2000, 0.1), 2)
    law = accepted_law("chain", p, q, tree=Tree.chain(2))
    overlap = np.minimum(p, q).sum()
    assert [float(x) for x in law.reach] == pytest.approx([overlap, overlap**2], rel=1e-12)


def test_random_rows_and_trees() -> None:
    rng = random.Random(3)
    for _ in range(20):
        rows = [[Fraction(x, 12) for x in parts] for parts in (_parts(rng) for _ in range(4))]
        tree = Tree.from_parents([-1, *(rng.randrange(-1, i) for i in range(1, 4))])
        name = rng.choice(["specinfer", "without_replacement", "residual_not_updated", "one_coin_tree"])
        if tree.width > 3:
            continue
        read = accepted_law(name, rows[:2], rows[2:], tree=tree)
        assert read == accepted_law(name, hidden(*rows[:2]), hidden(*rows[2:]), tree=tree)


def _parts(rng: random.Random) -> list[int]:
    a, b = sorted(rng.choices(range(13), k=2))
    return [a, b - a, 12 - b]


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no-draft": (lambda: accepted_law("chain", P), "draft: chain asks for the draft's distribution"),
    "vocabularies": (lambda: accepted_law("chain", P, [1, 0]), "draft: 2 tokens, but the target has 3"),
    "empty": (lambda: accepted_law("chain", [], Q), "target: it is empty"),
    "nan": (lambda: accepted_law("chain", [0.5, float("nan")], [1, 0]), "target[0, 1] = nan is not a number"),
    "sum": (lambda: accepted_law("chain", [1, 1], [1, 0]), "target[0] sums to 2, not to 1"),
    "ragged": (
        lambda: accepted_law("chain", [[1, 0], [1]], [1, 0]),
        "target[1]: it has 1 entries, target[0] has 2",
    ),
    "text": (lambda: accepted_law("chain", ["a", "b"], [1, 0]), "target[0, 0]: 'a' is not a number"),
    "whole": (
        lambda: by_sibling("block_verification", P, Q, tree=Tree.chain(2)),
        "rule: block_verification decides on whole paths, not by depth and sibling",
    ),
    "context": (
        lambda: by_sibling("chain", hidden(P, THREE), Q, tree=Tree.chain(2)),
        "target: acceptance depends on the context, not only on depth and sibling",
    ),
    "unlike": (
        lambda: by_sibling(
            "target_only", P, tree=Tree((Tree((Tree(token=0),), 0), Tree((Tree(token=1),), 1)))
        ),
        "tree: two nodes at depth 1 accept their siblings differently",
    ),
    "root-only": (lambda: by_sibling("chain", P, Q, tree=Tree()), "tree: it has no draft tokens"),
    "no-siblings": (lambda: siblings_law("specinfer", P, Q, siblings=0), "siblings: 0 is below 1"),
    "no-tokens": (lambda: siblings_law("target_only", P, siblings=[]), "siblings: it is empty"),
    "number-for-tokens": (
        lambda: siblings_law("target_only", P, siblings=2),
        "siblings: target_only needs the tokens",
    ),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("model", [list, hidden], ids=["rows", "model"])
def test_an_undefined_value_is_no_law(model: Any) -> None:
    @rule
    def divides(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        x = m.draw(q)
        return accept(x) if m.flip(p[x]) else reject(m.norm(m.relu(q - q)))

    with pytest.raises(RuleError, match="divides reaches an undefined value with probability 1/2"):
        accepted_law(divides, [Fraction(1, 2)] * 2 if model is list else hidden([Fraction(1, 2)] * 2), [1, 0])


def test_what_takes_too_long_is_undecided() -> None:
    target, draft = sampling_models(rules.get("block_verification"), Tree.chain(6), 12, seed=1)
    with pytest.raises(Undecided):
        accepted_law("block_verification", target, draft, tree=Tree.chain(6), seconds=0.2)
