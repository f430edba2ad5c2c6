"""What the theorems say, held against the exact machine: a theorem that said something else would be seen."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any

import pytest

from losslesscheck import Model, Tree, rules
from losslesscheck.law import rows, total_variation
from losslesscheck.rule import Rule, rule
from tests.rules.laws import Row, accepted, first_token, law, random_models

F = Fraction
Law = dict[tuple[Any, ...], Fraction]
V = 3
SEEDS = range(4)
TREE = Tree.regular((2, 1))


def after(model: Model, context: tuple[int, ...]) -> Model:
    """The model, started after a context."""
    exact = [model.exact(context + rest) for n in range(3) for rest in itertools.product(range(V), repeat=n)]
    return Model.table(exact)


def completed(emitted: Law, target: Model, length: int) -> Law:
    """The law of the first ``length`` tokens, with plain decoding after what was emitted."""
    result: Law = {}
    for sequence, mass in emitted.items():
        for rest in itertools.product(range(V), repeat=max(0, length - len(sequence))):
            whole = (sequence + rest)[:length]
            weight = mass * prod(
                (target.exact(whole[:i])[whole[i]] for i in range(len(sequence), length)), start=F(1)
            )
            result[whole] = result.get(whole, F(0)) + weight
    return result


def joint(target: Model, word: tuple[int, ...]) -> Fraction:
    return prod((target.exact(word[:i])[word[i]] for i in range(len(word))), start=F(1))


def misses(emitted: Law, target: Model) -> bool:
    """Whether the prefix criterion sees a difference."""
    return any(any(row.differences) for row in rows(emitted, V, target.exact))


def differs(emitted: Law, target: Model, longest: int) -> bool:
    """Whether completing the law to some length does."""
    for length in range(1, longest + 1):
        whole = completed(emitted, target, length)
        words = itertools.product(range(V), repeat=length)
        if any(whole.get(word, 0) != joint(target, word) for word in words):
            return True
    return False


@pytest.mark.parametrize("seed", SEEDS)
def test_two_steps_are_as_lossless_as_one(seed: int) -> None:
    target, draft = random_models(seed, V, 4)
    twice: Law = {}
    for first, mass in law(rules.specinfer, target, draft, Tree.regular((2,))).items():
        second = law(rules.chain, after(target, first), after(draft, first), Tree.chain(1))
        for rest, weight in second.items():
            twice[first + rest] = twice.get(first + rest, F(0)) + mass * weight
    assert sum(twice.values()) == 1
    assert min(map(len, twice)) >= 2
    assert not misses(twice, target)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_joint_law_is_the_target_s(seed: int) -> None:
    target, draft = random_models(seed, V, 3)
    emitted = law(rules.specinfer, target, draft, TREE)
    whole = completed(emitted, target, 3)
    words = itertools.product(range(V), repeat=3)
    assert all(whole.get(word, 0) == joint(target, word) for word in words)


@pytest.mark.parametrize("seed", range(20))
def test_one_step_reproduces_the_target(seed: int) -> None:
    p, q = (m.exact(()) for m in random_models(seed, V, 0))
    overlap = [min(a, b) for a, b in zip(p, q, strict=True)]
    excess = [a - b for a, b in zip(p, overlap, strict=True)]
    rejected = 1 - sum(overlap)
    residual = [a / rejected for a in excess] if rejected else p
    assert [a + rejected * b for a, b in zip(overlap, residual, strict=True)] == p
    assert first_token(law(rules.chain, p, q, Tree.chain(1)), V) == p


@pytest.mark.parametrize("seed", range(20))
def test_the_acceptance_is_the_overlap(seed: int) -> None:
    p, q = (m.exact(()) for m in random_models(seed, V, 0))
    acceptance = accepted(law(rules.chain, p, q, Tree.chain(1)))
    assert acceptance == sum(map(min, p, q)) == 1 - total_variation(p, q)


def canonical(acceptance: Sequence[Fraction], residual: Sequence[Fraction]) -> Rule:
    """Accepts x ~ q with the given probability; what is left is given too."""

    def step(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        x = m.draw(q)
        if m.flip(m.number(acceptance[x])):
            return accept(x)
        parts = [m.point(token) * m.number(a) for token, a in enumerate(residual)]
        return reject(sum(parts[1:], parts[0]))

    return rule(step)


def some_row(rng: random.Random) -> Row:
    weights = [rng.randrange(5) for _ in range(V)]
    return [F(w, sum(weights)) for w in weights] if any(weights) else some_row(rng)


def test_a_biased_step_is_lossy_on_one_draft() -> None:
    rng = random.Random(1)
    seen = {True: 0, False: 0}
    for number in range(200):
        p, q, residual = some_row(rng), some_row(rng), some_row(rng)
        acceptance = [F(rng.randrange(5), 4) for _ in range(V)]
        if number % 2:  # an unbiased one
            acceptance = [min(F(1), a / b) if b else F(1) for a, b in zip(p, q, strict=True)]
            rejected = 1 - sum(map(min, p, q))
            residual = (
                [(a - min(a, b)) / rejected for a, b in zip(p, q, strict=True)] if rejected else residual
            )
        rejected = 1 - sum(a * b for a, b in zip(acceptance, q, strict=True))
        unbiased = all(q[y] * acceptance[y] + rejected * residual[y] == p[y] for y in range(V))
        emitted = law(canonical(acceptance, residual), p, q, Tree.chain(1))
        assert misses(emitted, Model.constant(p)) != unbiased
        seen[unbiased] += 1
    assert min(seen.values()) > 50


def test_the_residual_is_what_the_acceptance_leaves() -> None:
    rng = random.Random(2)
    impossible = 0
    for _ in range(200):
        p, q = some_row(rng), some_row(rng)
        acceptance = [F(rng.randrange(5), 4) for _ in range(V)]
        left = [p[y] - q[y] * acceptance[y] for y in range(V)]
        if min(left) < 0:  # whatever the residual is, some token is emitted too often
            emitted = law(canonical(acceptance, some_row(rng)), p, q, Tree.chain(1))
            assert misses(emitted, Model.constant(p))
            impossible += 1
            continue
        residual = [a / sum(left) for a in left] if any(left) else p
        emitted = law(canonical(acceptance, residual), p, q, Tree.chain(1))
        assert not misses(emitted, Model.constant(p))
        assert accepted(emitted) <= sum(map(min, p, q)) == accepted(law(rules.chain, p, q, Tree.chain(1)))
    assert 20 < impossible < 180


def test_the_prefix_criterion_tells_lossless_laws() -> None:
    rng = random.Random(3)
    outcomes = [word for n in (1, 2, 3) for word in itertools.product(range(V), repeat=n)]
    seen = {True: 0, False: 0}
    for seed in range(40):
        target, draft = random_models(seed, V, 3)
        emitted = law(rules.specinfer, target, draft, TREE)
        if seed % 2:  # move some mass from one sequence to another
            possible = [word for word in outcomes if emitted.get(word)]
            source, sink = rng.choice(possible), rng.choice(outcomes)
            moved = emitted[source] / 2
            emitted[source] -= moved
            emitted[sink] = emitted.get(sink, F(0)) + moved
        assert misses(emitted, target) == differs(emitted, target, 3)
        seen[misses(emitted, target)] += 1
    assert min(seen.values()) > 10


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "tree",
    [Tree.siblings([0, 2]), Tree.from_parents([-1, -1, 0, 0, 1, 4], [1, 0, 2, 0, 0, 1])],
    ids=str,
)
def test_three_rules_for_fixed_tokens_are_one(tree: Tree, seed: int) -> None:
    target = random_models(seed, V, 3)[0]
    laws = [law(r, target, tree=tree) for r in (rules.naive_sampling, rules.point_mass, rules.target_only)]
    assert laws[0] == laws[1] == laws[2]


@pytest.mark.parametrize("name", ["threshold_acc", "threshold_single"])
@pytest.mark.parametrize("threshold", [F(1, 10), F(1, 2), F(9, 10)])
def test_a_threshold_below_one_makes_a_sibling_certain(name: str, threshold: Fraction) -> None:
    p = [threshold, 1 - threshold, F(0)]
    bound = rules.target_only.bind(**{name: threshold})
    assert first_token(law(bound, p, tree=Tree.siblings([0])), V) == [1, 0, 0]
    assert first_token(law(rules.target_only, p, tree=Tree.siblings([0])), V) == p


@pytest.mark.parametrize("share", [F(1, 10), F(1, 2), F(3, 4), F(1)])
def test_a_sibling_drafted_twice_is_emitted_twice_as_often(share: Fraction) -> None:
    careless = rule(rules.target_only.function, name="careless", parameters=rules.target_only.parameters)
    p = [share, 1 - share, F(0)]
    assert first_token(law(careless, p, tree=Tree.siblings([0, 0])), V)[0] == min(2 * share, 1)


def draft_branch(m: Any, q: Any, tree: Tree, context: Any, drawn: Any) -> Any:
    """The tokens of the whole tree, each node with what is below it before its next sibling."""
    forest: list[Any] = []
    for child in tree.children:
        x = m.draw(drawn(m, q(context), tuple(token for token, _ in forest)))
        forest.append((x, draft_branch(m, q, child, (*context, x), drawn)))
    return forest


def draft_levels(m: Any, q: Any, tree: Tree, drawn: Any) -> Any:
    """The same, one level after the other."""
    root: list[Any] = []
    level: list[Any] = [((), tree, root)]
    while level:
        below: list[Any] = []
        for context, node, forest in level:
            for child in node.children:
                x = m.draw(drawn(m, q(context), tuple(token for token, _ in forest)))
                forest.append((x, []))
                below.append(((*context, x), child, forest[-1][1]))
        level = below
    return root


def independent(m: Any, q: Any, tried: Any) -> Any:
    return q


def untried(m: Any, q: Any, tried: Any) -> Any:
    return m.norm(m.without(q, *tried), otherwise=m.uniform(without=tried))


def verified(m: Any, p: Any, q: Any, forest: Any, drawn: Any) -> Any:
    context: Any = ()
    while True:
        residual, tried = p(context), ()
        for x, below in forest:
            draft = drawn(m, q(context), tried)
            if m.flip(m.min(m.one, residual[x] / draft[x])):
                context, forest = (*context, x), below
                break
            residual, tried = m.norm(m.relu(residual - draft)), (*tried, x)
        else:
            return (*context, m.draw(residual))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", ["branches", "levels"])
@pytest.mark.parametrize("name", ["specinfer", "without_replacement"])
def test_eager_and_lazy_drafting_have_the_same_law(name: str, order: str, seed: int) -> None:
    drawn = independent if name == "specinfer" else untried

    def eager(m: Any, p: Any, q: Any, tree: Tree) -> Any:
        drafted = (
            draft_levels(m, q, tree, drawn) if order == "levels" else draft_branch(m, q, tree, (), drawn)
        )
        return verified(m, p, q, drafted, drawn)

    tree = Tree.from_parents([-1, -1, 0])
    target, draft = random_models(seed, V, 3)
    assert law(rule(eager), target, draft, tree) == law(rules.get(name), target, draft, tree)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_chain_kernel_has_the_law_of_the_chain(length: int, seed: int) -> None:
    target, draft = random_models(seed, V, 4)
    tree = Tree.chain(length)
    assert law(rules.chain_kernel, target, draft, tree) == law(rules.chain, target, draft, tree)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4])
def test_the_expected_number_of_tokens_is_the_formula_s(length: int) -> None:
    rng = random.Random(length)
    for _ in range(5):
        p, q = ([some_row(rng) for _ in range(length + 1)] for _ in "pq")
        alphas = [sum(map(min, a, b)) for a, b in zip(p, q, strict=True)]
        tokens = 1 + accepted(law(rules.chain, Model.positions(p), Model.positions(q), Tree.chain(length)))
        assert tokens == sum(prod(alphas[:i], start=F(1)) for i in range(length + 1))
        alpha = alphas[0]
        tokens = 1 + accepted(law(rules.chain, p[0], q[0], Tree.chain(length)))
        assert tokens == sum(alpha**i for i in range(length + 1))
        if alpha != 1:
            assert tokens == (1 - alpha ** (length + 1)) / (1 - alpha)


def improvement(alpha: Fraction, length: int, cost: Fraction) -> Fraction:
    return sum((alpha**i for i in range(length + 1)), F(0)) / (length * cost + 1)


def test_an_improvement_needs_an_acceptance_above_the_cost() -> None:
    for alpha, cost in itertools.product([F(i, 10) for i in range(11)], [F(i, 8) for i in range(10)]):
        pays = [improvement(alpha, length, cost) > 1 for length in range(1, 25)]
        assert any(pays) == (alpha > cost)
        assert pays == sorted(pays, reverse=True)
        if alpha > cost:
            assert improvement(alpha, 1, cost) == (1 + alpha) / (1 + cost) > 1
        if alpha < 1:
            assert improvement(alpha, 7, cost) == (1 - alpha**8) / ((1 - alpha) * (7 * cost + 1))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("length", [1, 2, 3])
def test_block_verification_accepts_no_fewer_drafts(length: int, seed: int) -> None:
    target, draft = random_models(seed, V, length + 1)
    tree = Tree.chain(length)
    block = accepted(law(rules.block_verification, target, draft, tree))
    assert block >= accepted(law(rules.chain, target, draft, tree))
    expected = F(0)
    for path in itertools.product(range(V), repeat=length):
        weight = F(1)
        for i, x in enumerate(path):
            likely = draft.exact(path[:i])[x]
            if likely == 0:
                break
            weight = min(F(1), weight * target.exact(path[:i])[x] / likely)
            # Every path through this draft counts its weight once.
            if not any(path[i + 1 :]):
                expected += weight * joint(draft, path[: i + 1])
    assert block == expected


@pytest.mark.parametrize("siblings", [1, 2, 3])
def test_multi_step_rejects_no_more_often_than_naive_sampling(siblings: int) -> None:
    for seed in range(6):
        p, q = (m.exact(()) for m in random_models(seed, V, 0))
        left, rejected = p, F(1)
        for _ in range(siblings):
            overlap = sum(map(min, left, q))
            rejected *= 1 - overlap
            if overlap == 1:
                break
            left = [(a - min(a, b)) / (1 - overlap) for a, b in zip(left, q, strict=True)]
        multi_step = 1 - accepted(law(rules.specinfer, p, q, Tree.regular((siblings,))))
        assert multi_step == rejected
        naive = 1 - sum(
            (
                prod(q[x] for x in drawn) * accepted(law(rules.naive_sampling, p, tree=Tree.siblings(drawn)))
                for drawn in itertools.product(range(V), repeat=siblings)
            ),
            F(0),
        )
        assert naive == sum(a * (1 - b) ** siblings for a, b in zip(p, q, strict=True))
        assert multi_step <= naive
