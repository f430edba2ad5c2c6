"""The wide machine against the exact one, token by token, and on rows of real size."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.errors import InputError, RuleError, Undecided
from losslesscheck.law import UNDEFINED
from losslesscheck.machines.exact import exact_law
from losslesscheck.machines.wide import IntegerRow, NodeLaw, node_law
from losslesscheck.machines.wide import numbers as wide_numbers
from losslesscheck.machines.wide import vectors as wide_vectors
from losslesscheck.model import Model
from losslesscheck.rule import Rule, rule
from losslesscheck.rules.broken import PATTERNS
from losslesscheck.rules.chain import chain
from losslesscheck.rules.naive_sampling import naive_sampling
from losslesscheck.rules.point_mass import point_mass
from losslesscheck.rules.specinfer import specinfer
from losslesscheck.rules.target_only import target_only
from losslesscheck.rules.tree_greedy import tree_greedy
from losslesscheck.rules.without_replacement import without_replacement
from losslesscheck.tree import Tree

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@rule
def lenient(m: Any, p: Any, q: Any, accept: Any, reject: Any, *, lenience: Any = Fraction(1, 2)) -> Any:
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / (lenience * q[x]))):
        return accept(x)
    return reject(m.norm(m.relu(p - q), otherwise=p))


@rule
def coins(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    """One coin, compared twice and scaled, which leaves the law of chain as it is."""
    x, coin = m.draw(q), m.coin()
    if coin * q[x] < p[x] / 2:
        return accept(x)
    if coin < p[x] / q[x]:
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@rule
def branches(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    """Chain's test as a comparison and a flip; special cases for some tokens."""
    x = m.draw(q)
    if x == 0 and p[x] < q[x]:
        return accept(x) if m.flip(p[x] / q[x]) else reject(m.norm(m.relu(p - q)))
    if q[x] <= p[x] or m.flip(1 - (q[x] - p[x]) / q[x]):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@rule
def undefined_sometimes(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    """Divides by p, which may be zero at a token that q draws."""
    x = m.draw(q)
    if m.flip(m.min(m.one, q[x] / p[x])):
        return accept(x)
    return reject(m.norm(m.relu(q - p)))


@rule
def threshold(m: Any, p: Any, q: Any, accept: Any, reject: Any, *, epsilon: Any = Fraction(1, 5)) -> Any:
    x = m.draw(q)
    if p[x] > epsilon:
        return accept(x)
    return reject(p)


@rule
def keep_minimum(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    """Chain by vectors: the accepted part is min(p, q)."""
    common = m.min(p, q)
    x = m.draw(q)
    if m.flip(common[x] / q[x]):
        return accept(x)
    return reject((p - common) / (1 - m.sum(common)))


@rule
def shared_draw(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    """Draws a second token that it only uses to accept."""
    m.draw(q)
    y = m.draw(m.norm(p + q))
    return accept(y) if m.flip(p[y]) else reject(m.uniform())


@rule
def comparisons(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    """Every way to branch on a drawn token and on its probabilities."""
    x = m.draw(q)
    if x in m.top(p, 2) and x is not None and x != None:  # noqa: E711
        if m.number(Fraction(1, 5)) < p[x] and m.one >= q[x] and m.one != q[x]:
            return accept(x)
        if x <= 1 and p[x] != q[x]:
            return reject(m.point(1))
    if (m.one - p[x]) * (1 / (m.one + q[x])) > m.one / 3 and m.flip(m.one / (2 + p[x])):
        return accept(x)
    return reject(m.uniform()) if p[x] else reject(q)


@rule
def uncancelled(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    """A probability whose denominators do not go away."""
    x = m.draw(q)
    return accept(x) if m.flip(p[x] / (p[x] + q[x])) else reject(q)


@rule
def sample_node(m: Any, p: Any, siblings: Sequence[Any], accept: Any, end: Any) -> Any:
    y = m.draw(p)
    return accept(y) if y in siblings else end(y)


@rule
def coin_for_all(m: Any, p: Any, siblings: Sequence[Any], accept: Any, end: Any) -> Any:
    """Chooses by the coin that some sibling was tested with."""
    coin = m.coin()
    for token in siblings[:1]:
        if coin < p[token]:
            return accept(token)
    return end(m.draw(p, coin))


TEXTS = [
    lenient,
    coins,
    branches,
    undefined_sometimes,
    threshold,
    keep_minimum,
    shared_draw,
    comparisons,
    uncancelled,
]
DRAWN = [chain, specinfer, without_replacement, *TEXTS, *PATTERNS.values()]
FIXED = [point_mass, target_only, naive_sampling, tree_greedy, sample_node, coin_for_all, *PATTERNS.values()]
DRAWN = [r for r in DRAWN if r.form == "step" and not r.fixed_tokens]
FIXED = [r for r in FIXED if r.form != "whole" and r.fixed_tokens]
OUT_OF_REACH = {"zero_rejected", "inclusive_coin", "inclusive_coin_tree"}
FIRST_SIBLING_ONLY = {"without_replacement", "without_replacement_stale"}


def random_row(chance: random.Random, vocabulary: int) -> list[Fraction]:
    weights = [chance.choice((0, 1, 1, 2, 3, 5, chance.randint(1, 50))) for _ in range(vocabulary)]
    weights[chance.randrange(vocabulary)] += 1
    return [Fraction(weight, sum(weights)) for weight in weights]


def by_exact_machine(
    r: Rule, p: list[Fraction], q: list[Fraction], tree: Tree
) -> tuple[list[Fraction], list[Fraction], Fraction]:
    """Accepted, emitted and undefined, from the whole law of a tree of one level."""
    vocabulary = len(p)
    accepted, emitted = [Fraction(0)] * vocabulary, [Fraction(0)] * vocabulary
    undefined = Fraction(0)
    for outcome, mass in exact_law(r, Model.constant(p), Model.constant(q), tree).items():
        weight = Fraction(int(mass.p), int(mass.q))
        if outcome == UNDEFINED:
            undefined += weight
        else:
            emitted[outcome[0]] += weight
            accepted[outcome[0]] += weight if len(outcome) > 1 else 0
    return accepted, emitted, undefined


def assert_same(law: NodeLaw, r: Rule, p: list[Fraction], q: list[Fraction], tree: Tree) -> None:
    accepted, emitted, undefined = by_exact_machine(r, p, q, tree)
    tokens = range(len(p))
    assert [law.accepted[t] for t in tokens] == accepted
    assert [law.emitted[t] for t in tokens] == emitted
    assert law.undefined == undefined
    assert law.acceptance == sum(accepted)
    best = max(tokens, key=lambda t: (p[t], -t))
    wanted = [Fraction(t == best) for t in tokens] if r.greedy else p
    assert law.differs_at == [t for t in tokens if emitted[t] != wanted[t]]
    assert law.tv == (sum(abs(emitted[t] - wanted[t]) for t in tokens) + undefined) / 2
    assert law.holds == (emitted == wanted)


@pytest.mark.parametrize("siblings", [0, 1, 2, 3])
@pytest.mark.parametrize("r", [r for r in DRAWN if r.name not in OUT_OF_REACH], ids=lambda r: r.name)
def test_a_step_has_the_law_that_the_exact_machine_finds(r: Rule, siblings: int) -> None:
    if siblings > 1 and r.name in FIRST_SIBLING_ONLY:
        with pytest.raises(Undecided, match="depends on the token that was drawn"):
            node_law(r, [HALF, HALF], [THIRD, 1 - THIRD], siblings)
        return
    chance = random.Random(f"{r.name} {siblings}")
    for vocabulary in (1, 2, 3, 3, 4, 4, 5):
        p, q = random_row(chance, vocabulary), random_row(chance, vocabulary)
        tree = Tree((Tree(),) * siblings)
        if (fault := fault_of(r, p, q, tree)) is not None:
            with pytest.raises(RuleError, match=fault):
                node_law(r, p, q, siblings)
        else:
            assert_same(node_law(r, p, q, siblings), r, p, q, tree)


def fault_of(r: Rule, p: list[Fraction], q: list[Fraction], tree: Tree) -> str | None:
    """What the exact machine says the rule does wrong, in one word."""
    try:
        exact_law(r, Model.constant(p), Model.constant(q), tree)
    except RuleError as error:
        return next(word for word in ("flips", "draws") if word in str(error))
    return None


@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("r", [r for r in FIXED if r.name not in OUT_OF_REACH], ids=lambda r: r.name)
def test_a_node_of_fixed_tokens_has_the_law_that_the_exact_machine_finds(r: Rule, count: int) -> None:
    chance = random.Random(f"{r.name} {count}")
    for vocabulary in (3, 4, 5, 6):
        p = random_row(chance, vocabulary)
        tokens = chance.sample(range(vocabulary), count)
        assert_same(node_law(r, p, None, tokens), r, p, p, Tree.siblings(tokens))


def test_parameters_reach_the_rule() -> None:
    law = node_law(
        target_only.bind(threshold_acc=Fraction(9, 10)), [HALF, Fraction(3, 10), Fraction(1, 5)], None, [0, 1]
    )
    assert law.tv == Fraction(4, 45)


def test_a_sibling_given_twice_is_counted_twice() -> None:
    row = [HALF, Fraction(1, 4), Fraction(1, 8), Fraction(1, 8)]
    law = node_law(PATTERNS["duplicate_siblings"], row, None, [1, 1])
    assert law.emitted[1] == HALF
    assert law.tv == Fraction(1, 4)


def float_rows(vocabulary: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(7)
    rows = np.exp(3 * generator.standard_normal((2, vocabulary)))
    return tuple((rows / rows.sum(axis=1, keepdims=True)).astype(np.float32))


@pytest.mark.parametrize("siblings", [1, 4])
def test_multi_step_is_exact_at_a_vocabulary_of_real_size(siblings: int) -> None:
    p, q = float_rows(32000)
    law = node_law(specinfer, IntegerRow.from_floats(p), IntegerRow.from_floats(q), siblings)
    assert law.holds
    assert law.tv == 0
    assert law.differs_at == []
    residual, left = p.astype(np.float64), 1.0
    for _ in range(siblings):
        left *= 1 - np.minimum(residual, q).sum()
        residual = np.maximum(residual - q, 0) / np.maximum(residual - q, 0).sum()
    assert float(law.acceptance) == pytest.approx(1 - left, abs=1e-5)


def test_a_bias_at_a_single_token_of_a_large_vocabulary_is_found() -> None:
    @rule
    def biased(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        x = m.draw(q)
        if x == 31999 or m.flip(m.min(m.one, p[x] / q[x])):
            return accept(x)
        return reject(m.norm(m.relu(p - q)))

    q, p = sorted(float_rows(32000), key=lambda row: row[31999])[::-1]
    target, draft = IntegerRow.from_floats(p), IntegerRow.from_floats(q)
    law = node_law(biased, target, draft, 1)
    assert law.emitted[31999] == draft[31999] != target[31999]
    assert 31999 in law.differs_at
    assert law.tv == draft[31999] - target[31999]


def test_what_couples_two_drawn_tokens_is_undecided() -> None:
    @rule
    def coupled(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        x, y = m.draw(q), m.draw(q)
        return accept(x) if p[x] < p[y] else reject(p)

    with pytest.raises(Undecided, match="two drawn tokens"):
        node_law(coupled, [HALF, HALF], [HALF, HALF], 1)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: {x},
        lambda x: [1, 2, 3][x],
        lambda x: int(x),
        lambda x: x + 1,
        lambda x: range(5)[x],
    ],
    ids=["set", "index", "int", "arithmetic", "range"],
)
def test_a_drawn_token_used_as_a_python_value_never_passes_in_silence(use: Any) -> None:
    @rule
    def plain(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        x = m.draw(q)
        use(x)
        return accept(x)

    with pytest.raises((Undecided, RuleError)):
        node_law(plain, [HALF, HALF], [HALF, HALF], 1)


def test_a_token_of_an_earlier_sibling_is_undecided() -> None:
    @rule
    def remembers(m: Any, p: Any, q: Any, accept: Any, reject: Any, tried: Any = ()) -> Any:
        x = m.draw(q)
        if x in tried:
            return reject(p, tried=tried)
        return accept(x) if m.flip(p[x]) else reject(p, tried=(*tried, x))

    assert node_law(remembers, [HALF, HALF], [HALF, HALF], 1).acceptance == HALF
    with pytest.raises(Undecided):
        node_law(remembers, [HALF, HALF], [HALF, HALF], 2)


@pytest.mark.parametrize("r", [PATTERNS["zero_rejected"], PATTERNS["inclusive_coin"]], ids=lambda r: r.name)
def test_what_the_machine_cannot_read_is_undecided(r: Rule) -> None:
    with pytest.raises(Undecided):
        node_law(r, [HALF, HALF], [THIRD, 1 - THIRD], 1)


def test_a_whole_rule_is_undecided() -> None:
    from losslesscheck.rules.block_verification import block_verification

    with pytest.raises(Undecided, match="block_verification decides on a whole path"):
        node_law(block_verification, [HALF, HALF], [HALF, HALF], 1)


def bad_step(text: Any) -> Rule:
    @rule
    def bad(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        return text(m, p, q, accept, reject)

    return bad


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (lambda m, p, q, accept, reject: 1 // [], "the rule raised TypeError"),
        (lambda m, p, q, accept, reject: (0,), "not what a continuation returned"),
        (lambda m, p, q, accept, reject: accept(7), "emits 7, which is no token"),
        (lambda m, p, q, accept, reject: accept(m.draw(p + q)), "sums to 2, not to 1"),
        (lambda m, p, q, accept, reject: accept(m.draw(p * 3 - q * 2)), "negative entries"),
        (lambda m, p, q, accept, reject: reject(p + q), "sums to 2, not to 1"),
        (lambda m, p, q, accept, reject: reject(3), "rejects with 3, which is no vector"),
        (lambda m, p, q, accept, reject: m.flip(m.number(Fraction(3, 2))), "flips with probability 3/2"),
        (lambda m, p, q, accept, reject: m.flip(q[m.draw(q)] * 2), r"outside \[0, 1\] after drawing token 0"),
    ],
)
def test_a_rule_that_does_what_no_rule_may_do_is_an_error(text: Any, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        node_law(bad_step(text), [THIRD, 1 - THIRD], [1 - THIRD, THIRD], 1)


def test_a_rule_that_never_returns_is_an_error() -> None:
    def forever(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        while m.flip(m.number(HALF)):
            pass
        return forever(m, p, q, accept, reject)

    with pytest.raises(RuleError, match=r"may never return|RecursionError"):
        node_law(bad_step(forever), [HALF, HALF], [HALF, HALF], 1)


@pytest.mark.parametrize(
    ("r", "target", "draft", "siblings", "message"),
    [
        (chain, [HALF, HALF], None, 1, "draft: chain draws its tokens"),
        (chain, [HALF, HALF], [Fraction(1)], 1, "draft: 1 tokens, but the target has 2"),
        (chain, [HALF, THIRD], [HALF, HALF], 1, "target sums to 5/6, not to 1"),
        (chain, [1 + HALF, -HALF], [HALF, HALF], 1, r"target\[1\] = -1/2 is negative"),
        (chain, [HALF, HALF], [HALF, HALF], [0], "siblings: chain draws its tokens"),
        (chain, [HALF, HALF], [HALF, HALF], -1, "siblings: -1 is negative"),
        (target_only, [HALF, HALF], None, 2, "siblings: target_only needs the tokens"),
        (target_only, [HALF, HALF], None, [0, 2], "token 2, outside a vocabulary of 2"),
        (target_only, [HALF, HALF], None, [1, 1], "needs distinct siblings"),
    ],
)
def test_bad_input_is_named(r: Rule, target: Any, draft: Any, siblings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        node_law(r, target, draft, siblings)


def swapped_min(patch: pytest.MonkeyPatch) -> None:
    def larger(self: Any, other: Any) -> Any:
        return self + other - smaller(self, other)

    smaller = wide_numbers.WideNumber.minimum
    patch.setattr(wide_numbers.WideNumber, "minimum", larger)


def no_relu(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(wide_vectors.WideVector, "positive_part", lambda self: self - self.minimum(self))


def weights_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("losslesscheck.machines.wide.machine._weighted", lambda weight, factor, mask: weight)


@pytest.mark.parametrize("fault", [swapped_min, no_relu, weights_kept])
def test_a_broken_machine_does_not_find_chain_lossless(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = [HALF, THIRD, Fraction(1, 6)], [Fraction(1, 6), HALF, THIRD]
    assert node_law(chain, p, q, 1).holds
    fault(monkeypatch)
    try:
        law = node_law(chain, p, q, 1)
    except RuleError:
        return
    assert not law.holds


def test_rules_are_all_covered() -> None:
    known = {r.name for r in (*DRAWN, *FIXED)}
    step_or_node = {
        value.name
        for value in (*vars(rules).values(), *PATTERNS.values())
        if isinstance(value, Rule) and value.form != "whole"
    }
    assert step_or_node <= known
