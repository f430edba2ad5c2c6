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
from losslesscheck.law import total_variation
from losslesscheck.rule import Rule, rule
from tests.rules.laws import Row, accepted, first_token, law, law_off, random_models

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
    return law_off(emitted, target) != ""


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
        tree = Tree.regular((1 + first[0] % 2,))  # it may depend on what was emitted
        second = law(rules.specinfer, after(target, first), after(draft, first), tree)
        for rest, weight in second.items():
            twice[first + rest] = twice.get(first + rest, F(0)) + mass * weight
    assert sum(twice.values()) == 1
    assert min(map(len, twice)) >= 2
    assert not misses(twice, target)
    firsts: Law = {}
    for word, mass in twice.items():  # two tokens at least: nothing need be completed
        firsts[word[:2]] = firsts.get(word[:2], F(0)) + mass
    assert all(firsts.get(w, 0) == joint(target, w) for w in itertools.product(range(V), repeat=2))


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


def judged(acceptance: Sequence[Fraction], q: Row, left: Sequence[Fraction]) -> Rule:
    """As likely to accept, by two coins; a rejected token has its own share of what is left of the target."""
    share = {}
    waiting = list(left)
    for x in range(V):
        mass, share[x] = q[x] * (1 - acceptance[x]), [F(0)] * V
        for y in range(V):
            taken = min(mass, waiting[y])
            share[x][y], waiting[y], mass = taken, waiting[y] - taken, mass - taken

    def step(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        x = m.draw(q)
        first = (1 + acceptance[x]) / 2
        if m.flip(m.number(first)) and m.flip(m.number(acceptance[x] / first)):
            return accept(x)
        parts = [m.point(token) * m.number(a) for token, a in enumerate(share[x])]
        return reject(m.norm(sum(parts[1:], parts[0])))

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


def test_the_residual_is_what_acceptance_leaves() -> None:
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
        most = accepted(law(rules.chain, p, q, Tree.chain(1)))
        for one in (canonical(acceptance, residual), judged(acceptance, q, left)):
            emitted = law(one, p, q, Tree.chain(1))
            assert not misses(emitted, Model.constant(p))
            assert accepted(emitted) <= most == sum(map(min, p, q))
    assert 20 < impossible < 180


def test_a_biased_node_is_lossy_on_one_level() -> None:
    rng = random.Random(4)
    seen = {True: 0, False: 0}
    for number in range(100):
        p = some_row(rng)
        decided = p if number % 2 else some_row(rng)

        def node(m: Any, p: Any, siblings: Any, accept: Any, end: Any, law: Row = decided) -> Any:
            parts = [m.point(token) * m.number(a) for token, a in enumerate(law)]
            y = m.draw(sum(parts[1:], parts[0]))
            return accept(y) if y in siblings else end(y)

        of_its_own = Rule("node", node, "node", fixed_tokens=True)
        siblings = rng.sample(range(V), rng.randrange(V + 1))
        emitted = law(of_its_own, p, tree=Tree.siblings(siblings))
        assert misses(emitted, Model.constant(p)) == (decided != p)
        below = Tree.from_parents([-1, 0, 0], [0, 1, 2])
        assert misses(law(of_its_own, p, tree=below), Model.constant(p)) == (decided != p)
        seen[decided == p] += 1
    assert min(seen.values()) > 30


@pytest.mark.parametrize("name", ["specinfer", "target_only"])
def test_the_prefix_criterion_tells_lossless_laws(name: str) -> None:
    rng = random.Random(3)
    outcomes = [word for n in (1, 2, 3) for word in itertools.product(range(V), repeat=n)]
    seen = {True: 0, False: 0}
    for seed in range(40):
        target, draft = random_models(seed, V, 3)
        emitted = law(rules.get(name), target, draft, TREE)
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


@pytest.mark.parametrize("threshold", [F(1, 10), F(1, 2), F(9, 10), F(1)])
@pytest.mark.parametrize("share", [F(i, 10) for i in range(11)], ids=str)
def test_a_low_threshold_makes_a_sibling_certain(share: Fraction, threshold: Fraction) -> None:
    p = [share, 1 - share, F(0)]
    tree = Tree.siblings([0])
    acc = first_token(law(rules.target_only.bind(threshold_acc=threshold), p, tree=tree), V)
    assert acc[0] == min(share / threshold, 1)
    single = first_token(law(rules.target_only.bind(threshold_single=threshold), p, tree=tree), V)
    assert single[0] == (1 if share >= threshold else share)
    if 0 < share < 1:
        assert (acc == p) == (threshold == 1)
        assert (single == p) == (share < threshold)


@pytest.mark.parametrize("share", [F(1, 10), F(1, 2), F(3, 4), F(1)])
def test_equal_siblings_are_emitted_too_often(share: Fraction) -> None:
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
def test_eager_and_lazy_drafting_agree(name: str, order: str, seed: int) -> None:
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
def test_the_chain_kernel_is_the_chain(length: int, seed: int) -> None:
    target, draft = random_models(seed, V, 4)
    tree = Tree.chain(length)
    assert law(rules.chain_kernel, target, draft, tree) == law(rules.chain, target, draft, tree)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4])
def test_the_expected_tokens_are_the_formula_s(length: int) -> None:
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


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_drafts_are_the_sum_over_paths(seed: int, length: int) -> None:
    target, draft = random_models(seed, V, length + 1)
    expected = F(0)
    for n in range(1, length + 1):
        for path in itertools.product(range(V), repeat=n):
            expected += prod(
                (min(target.exact(path[:i])[path[i]], draft.exact(path[:i])[path[i]]) for i in range(n)),
                start=F(1),
            )
    assert accepted(law(rules.chain, target, draft, Tree.chain(length))) == expected


def improvement(alpha: Fraction, length: int, cost: Fraction) -> Fraction:
    return sum((alpha**i for i in range(length + 1)), F(0)) / (length * cost + 1)


def test_an_improvement_needs_alpha_above_c() -> None:
    p, q = [F(1, 2), F(1, 2), F(0)], [F(1, 4), F(1, 2), F(1, 4)]
    tokens = 1 + accepted(law(rules.chain, p, q, Tree.chain(3)))
    assert tokens / (3 * F(1, 5) + 1) == improvement(F(3, 4), 3, F(1, 5))
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
def test_block_verification_accepts_no_less(length: int, seed: int) -> None:
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


@pytest.mark.parametrize("mixed", [False, True], ids=["one draft", "a draft for each sibling"])
@pytest.mark.parametrize("siblings", [1, 2, 3])
def test_multi_step_rejects_no_more_than_naive(siblings: int, mixed: bool) -> None:
    def multi_step(m: Any, p: Any, q: Any) -> Any:
        left = p(())
        for sibling in range(siblings):
            draft = q((sibling,))
            x = m.draw(draft)
            if m.flip(m.min(m.one, left[x] / draft[x])):
                return (x, x)  # two tokens where a sibling is accepted
            left = m.norm(m.relu(left - draft))
        return (m.draw(left),)

    def naive(m: Any, p: Any, q: Any) -> Any:
        drawn = [m.draw(q((sibling,))) for sibling in range(siblings)]
        y = m.draw(p(()))
        return (y, y) if y in drawn else (y,)

    rng = random.Random(siblings)
    for _ in range(6):
        p = some_row(rng)
        drafts = [some_row(rng) for _ in range(siblings)] if mixed else [some_row(rng)] * siblings
        draft = Model([drafts[0], *drafts], lambda context: context[0] + 1 if context else 0)
        left, rejected = p, F(1)
        for q in drafts:
            overlap = sum(map(min, left, q))
            rejected *= 1 - overlap
            if overlap == 1:
                break
            left = [(a - min(a, b)) / (1 - overlap) for a, b in zip(left, q, strict=True)]
        tried = 1 - accepted(law(rule(multi_step), p, draft))
        assert tried == rejected
        matched = 1 - accepted(law(rule(naive), p, draft))
        assert matched == sum(a * prod(1 - q[y] for q in drafts) for y, a in enumerate(p))
        assert tried <= matched
        if not mixed:
            assert tried == 1 - accepted(law(rules.specinfer, p, drafts[0], Tree.regular((siblings,))))
