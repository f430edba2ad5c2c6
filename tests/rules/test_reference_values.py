"""Published and closed-form values of the rules, as exact fractions."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from math import prod

import pytest

from losslesscheck import rules
from losslesscheck.law import total_variation
from losslesscheck.model import Model
from losslesscheck.rules.block_verification import block_verification
from losslesscheck.rules.blockwise import blockwise
from losslesscheck.rules.chain import chain
from losslesscheck.rules.naive_sampling import naive_sampling
from losslesscheck.rules.specinfer import specinfer
from losslesscheck.rules.target_only import target_only
from losslesscheck.tree import Tree
from tests.rules.laws import Row, accepted, first_token, law, random_models, row

F = Fraction


def test_chain_accepts_with_the_overlap() -> None:
    for seed in range(10):
        models = random_models(seed, 4, 0)
        p, q = (m.exact(()) for m in models)
        assert accepted(law(chain, p, q, Tree.chain(1))) == sum(map(min, p, q))


def multi_step_acceptance(p: Row, q: Row, siblings: int) -> Fraction:
    """1 − Π(1 − Σ min(Rᵢ, q)), by the recursion of the residual R."""
    rejected, residual = F(1), p
    for _ in range(siblings):
        overlap = sum(map(min, residual, q))
        rejected *= 1 - overlap
        if overlap == 1:
            break
        surplus = [max(F(0), a - b) for a, b in zip(residual, q, strict=True)]
        residual = [a / sum(surplus) for a in surplus]
    return 1 - rejected


@pytest.mark.parametrize("siblings", [1, 2, 3, 4])
def test_specinfer_acceptance(siblings: int) -> None:
    for seed in range(6):
        p, q = (m.exact(()) for m in random_models(seed, 4, 0))
        emitted = law(specinfer, p, q, Tree.regular((siblings,)))
        assert accepted(emitted) == multi_step_acceptance(p, q, siblings)


@pytest.mark.parametrize(
    ("p", "q", "siblings", "expected"),
    [
        (row(".618", ".354", ".028"), row(".373", ".580", ".047"), 2, F(169277, 200000)),
        (row(".469", ".124", ".407"), row(".201", ".275", ".524"), 3, F(207227133, 250000000)),
    ],
    ids=["two-siblings", "three-siblings"],
)
def test_specinfer_acceptance_vectors(p: Row, q: Row, siblings: int, expected: Fraction) -> None:
    assert accepted(law(specinfer, p, q, Tree.regular((siblings,)))) == expected


def naive_acceptance(p: Row, q: Row, siblings: int) -> Fraction:
    """Naive sampling with siblings that are drawn from q independently."""
    return sum(
        (
            prod(q[x] for x in drawn) * accepted(law(naive_sampling, p, tree=Tree.siblings(drawn)))
            for drawn in itertools.product(range(len(p)), repeat=siblings)
        ),
        F(0),
    )


@pytest.mark.parametrize("siblings", [1, 2, 3])
def test_theorem_4_3_multi_step_rejects_no_more_often_than_naive_sampling(siblings: int) -> None:
    for seed in range(6):
        p, q = (m.exact(()) for m in random_models(seed, 3, 0))
        naive = naive_acceptance(p, q, siblings)
        assert naive == sum(a * (1 - (1 - b) ** siblings) for a, b in zip(p, q, strict=True))
        assert accepted(law(specinfer, p, q, Tree.regular((siblings,)))) >= naive


@pytest.mark.parametrize(
    ("parameters", "tv"),
    [
        ({"threshold_acc": ".9"}, F(4, 45)),
        ({"threshold_acc": ".5"}, F(1, 2)),
        ({"threshold_single": ".3"}, F(1, 2)),
    ],
    ids=["acc-.9", "acc-.5", "single-.3"],
)
def test_thresholds_below_one(parameters: dict[str, str], tv: Fraction) -> None:
    p = row(".5", ".3", ".2")
    emitted = law(target_only.bind(**parameters), p, tree=Tree.siblings([0, 1]))
    assert total_variation(first_token(emitted, 3), p) == tv


@pytest.mark.parametrize("threshold", [F(1, 4), F(1, 2), F(9, 10), F(1)])
@pytest.mark.parametrize("siblings", [[0], [2, 1], [3, 0, 1]], ids=str)
def test_bias_of_threshold_acc(threshold: Fraction, siblings: list[int]) -> None:
    """A sibling gets what it adds to min(1, Σp/τ); with A = Σ p(siblings) ≤ τ, TV = A(1/τ − 1)."""
    for seed in range(10):
        p = random_models(seed, 4, 0)[0].exact(())
        law_of_first = first_token(
            law(target_only.bind(threshold_acc=threshold), p, tree=Tree.siblings(siblings)), 4
        )
        reached = [min(F(1), sum(p[t] for t in siblings[:j]) / threshold) for j in range(len(siblings) + 1)]
        added = [b - a for a, b in itertools.pairwise(reached)]
        assert [law_of_first[t] for t in siblings] == added
        if (mass := sum(p[t] for t in siblings)) <= threshold:
            assert total_variation(law_of_first, p) == mass * (1 / threshold - 1)
        elif len(siblings) == 1:
            assert total_variation(law_of_first, p) == 1 - mass


@pytest.mark.parametrize(
    ("siblings", "parameters", "expected", "tv"),
    [
        ([1], {"threshold_acc": ".5"}, [F(1, 3), F(1, 2), F(1, 12), F(1, 12)], F(1, 4)),
        ([1], {"threshold_single": ".2"}, row(0, 1, 0, 0), F(3, 4)),
        ([2, 0], {"threshold_single": ".5"}, row(".875", 0, ".125", 0), F(3, 8)),
        ([1, 1], {}, [F(1, 3), F(1, 2), F(1, 12), F(1, 12)], F(1, 4)),
    ],
    ids=["acc-.5", "single-.2", "single-.5-two-siblings", "duplicate"],
)
def test_target_only_pitfalls(
    siblings: list[int], parameters: dict[str, str], expected: Row, tv: Fraction
) -> None:
    p = row(".5", ".25", ".125", ".125")
    rule = rules.get("duplicate_siblings").bind(**parameters)
    emitted = first_token(law(rule, p, tree=Tree.siblings(siblings)), 4)
    assert emitted == expected
    assert total_variation(emitted, p) == tv


@pytest.mark.parametrize("copies", [1, 2, 3, 4])
def test_copies_of_a_sibling_are_counted_each(copies: int) -> None:
    rule = rules.get("duplicate_siblings")
    for seed in range(10):
        p = random_models(seed, 3, 0)[0].exact(())
        emitted = first_token(law(rule, p, tree=Tree.siblings([1] * copies)), 3)
        assert emitted[1] == min(1, copies * p[1])


def test_duplicate_sibling_is_emitted_twice_as_often() -> None:
    p = row(".5", ".3", ".15", ".05")
    emitted = law(rules.get("duplicate_siblings"), p, tree=Tree.siblings([1, 1]))
    assert first_token(emitted, 4)[1] == F(3, 5)


def test_padding_with_token_0() -> None:
    p = row(".05", ".6", ".35")
    emitted = first_token(law(rules.get("padded_tree"), p), 3)
    assert emitted[0] == F(11, 20)
    assert total_variation(emitted, p) == F(1, 2)


def test_top_k_draft_scored_with_a_ratio() -> None:
    p = row(".51", ".49")
    assert first_token(law(rules.get("top_k_ratio"), p, p), 2) == row(1, 0)


def test_argmax_draft_with_a_soft_q() -> None:
    emitted = law(rules.get("argmax_draft"), row(".5", ".5"), row(".6", ".4"))
    assert first_token(emitted, 2) == [F(5, 6), F(1, 6)]


@pytest.mark.parametrize("levels", [4, 2**24])
def test_a_coin_of_zero_accepts_what_the_target_never_emits(levels: int) -> None:
    emitted = law(rules.get("inclusive_coin").bind(levels=levels), row(0, 1), row(1, 0))
    assert first_token(emitted, 2)[0] == F(1, levels)
    tree = Tree.siblings([0])
    emitted = law(rules.get("inclusive_coin_tree").bind(levels=levels), row(0, 1), tree=tree)
    assert first_token(emitted, 2)[0] == F(1, levels)


def path_weights(p: Model, q: Model, length: int) -> Fraction:
    """Σᵢ E[pᵢ] with pᵢ = min(1, pᵢ₋₁·p(xᵢ)/q(xᵢ)), over all paths that q can draft."""
    total = F(0)
    for path in itertools.product(range(p.vocabulary), repeat=length):
        probability, weight, weights = F(1), F(1), F(0)
        for i, x in enumerate(path):
            probability *= q.exact(path[:i])[x]
            if probability == 0:
                break
            weight = min(F(1), weight * p.exact(path[:i])[x] / q.exact(path[:i])[x])
            weights += weight
        total += probability * weights
    return total


@pytest.mark.parametrize("length", [1, 2, 3])
def test_block_verification_accepts_the_sum_of_the_path_weights(length: int) -> None:
    for seed in range(6):
        p, q = random_models(seed, 3, length)
        block = accepted(law(block_verification, p, q, Tree.chain(length)))
        assert block == path_weights(p, q, length)
        assert block >= accepted(law(chain, p, q, Tree.chain(length)))


BLOCKWISE = [
    ({}, [(0,)]),
    ({"top_k": 2}, [(2, 2, 0)]),
    ({"distance": 1}, [(0,)]),
    ({"distance": 2}, [(2, 2, 0)]),
    ({"minimum_block": 2}, [(2, 0)]),
    ({"minimum_block": 3}, [(2, 2, 0)]),
    ({"minimum_block": 9}, [(2, 2, 0)]),
]


@pytest.mark.parametrize(("parameters", "emitted"), BLOCKWISE, ids=lambda v: str(v))
def test_blockwise_criteria(parameters: dict[str, int], emitted: Sequence[tuple[int, ...]]) -> None:
    p, q = row(".5", ".2", ".3"), row("0", "0", "1")
    rule = blockwise.bind(**parameters)
    assert law(rule, p, q) == dict.fromkeys(emitted, F(1))
    assert rule.claims_lossless == (not parameters)
