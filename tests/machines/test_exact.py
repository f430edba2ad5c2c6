"""The exact machine: laws computed by hand, the criterion on random models, rules that misbehave."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from flint import fmpq

from losslesscheck.errors import RuleError
from losslesscheck.law import UNDEFINED, rows
from losslesscheck.machines import coin as coin_module
from losslesscheck.machines import exact as exact_module
from losslesscheck.machines import replay
from losslesscheck.machines.exact import Exact, exact_law, vectors
from losslesscheck.model import Model
from losslesscheck.rule import Rule, rule
from losslesscheck.rules.block_verification import block_verification
from losslesscheck.rules.broken import PATTERNS
from losslesscheck.rules.chain import chain
from losslesscheck.rules.chain_kernel import chain_kernel
from losslesscheck.rules.naive_sampling import naive_sampling
from losslesscheck.rules.point_mass import point_mass
from losslesscheck.rules.specinfer import specinfer
from losslesscheck.rules.target_only import target_only
from losslesscheck.rules.without_replacement import without_replacement
from losslesscheck.tree import Tree

HALF, THIRD, QUARTER = Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)

SIXTEEN = Tree.from_parents([-1, -1, -1, 0, 0, 0, 1, 1, 3, 3, 4, 6, 8, 8, 10, 12])
"""A tree of 16 draft tokens, of depth 5, with one to three siblings at a node."""


def context_model(chance: random.Random, vocabulary: int, depth: int, zeros: bool = False) -> Model:
    """A distribution of its own for every context of at most ``depth`` tokens."""
    table = []
    for _ in range(sum(vocabulary**length for length in range(depth + 1))):
        weights = [chance.randint(0 if zeros else 1, 20) for _ in range(vocabulary)]
        weights[chance.randrange(vocabulary)] += 1
        table.append([Fraction(weight, sum(weights)) for weight in weights])
    return Model.table(table)


def law_of(r: Rule, p: Any, q: Any, tree: Tree) -> dict[tuple[Any, ...], Fraction]:
    """The exact law for rows that are the same at every context, as fractions."""
    law = exact_law(r, Model.constant(p), Model.constant(q), r.fit(tree, len(p)))
    return {outcome: Fraction(int(mass.p), int(mass.q)) for outcome, mass in law.items()}


def is_lossless(r: Rule, target: Model, draft: Model, tree: Tree) -> bool:
    law = exact_law(r, target, draft, r.fit(tree, target.vocabulary))
    assert sum(law.values(), fmpq(0)) == 1
    return UNDEFINED not in law and not any(
        difference != 0
        for row in rows(law, target.vocabulary, vectors(target))
        for difference in row.differences
    )


def test_leviathans_rule_by_hand() -> None:
    law = law_of(chain, [HALF, HALF], [Fraction(1), Fraction(0)], Tree.chain(1))
    assert law == {(0, 0): QUARTER, (0, 1): QUARTER, (1,): HALF}


def test_two_drafts_by_hand() -> None:
    p, q = [HALF, HALF], [QUARTER, 3 * QUARTER]
    law = law_of(chain, p, q, Tree.chain(2))
    reject = QUARTER  # q(1) · (1 − p(1)/q(1)); the residual is token 0
    assert law[(0,)] == reject
    assert law[(0, 0)] == QUARTER * reject
    assert law[(1, 0)] == HALF * reject
    assert law[(1, 1, 1)] == HALF * HALF * HALF
    assert sum(law.values()) == 1


def test_two_siblings_by_hand() -> None:
    """MSS at p = (.618, .354, .028), q = (.373, .580, .047): acceptance 169277/200000."""
    p = [Fraction(a, 1000) for a in (618, 354, 28)]
    q = [Fraction(a, 1000) for a in (373, 580, 47)]
    law = law_of(specinfer, p, q, Tree.regular((2,)))
    assert sum(mass for outcome, mass in law.items() if len(outcome) == 2) == Fraction(169277, 200000)


@pytest.mark.parametrize(
    ("r", "vocabulary", "tree"),
    [
        (chain, 4, Tree.chain(3)),
        (chain, 2, Tree.chain(12)),
        (chain, 8, Tree.chain(2)),
        (chain_kernel, 3, Tree.chain(2)),
        (specinfer, 3, SIXTEEN),
        (specinfer, 2, Tree.regular((3, 2))),
        (without_replacement, 3, Tree.regular((3, 1))),
        (point_mass, 4, Tree.regular((3, 2))),
        (target_only, 4, Tree.regular((3, 2))),
        (naive_sampling, 3, Tree.regular((2, 2))),
        (block_verification, 3, Tree.chain(3)),
    ],
    ids=lambda value: value.name if isinstance(value, Rule) else str(value),
)
@pytest.mark.parametrize("zeros", [False, True], ids=["positive", "zeros"])
def test_lossless_rules_meet_the_criterion_on_random_models(
    r: Rule, vocabulary: int, tree: Tree, zeros: bool
) -> None:
    chance = random.Random(f"{r.name} {vocabulary} {tree}")
    contexts = 4 if vocabulary == 2 else 2  # deeper contexts select rows by their last tokens
    target, draft = (
        folded(context_model(chance, vocabulary, contexts, zeros), vocabulary, contexts) for _ in range(2)
    )
    assert is_lossless(r, target, draft, tree)


def folded(model: Model, vocabulary: int, depth: int) -> Model:
    """The same rows at contexts of any length, chosen by the last ``depth`` tokens."""
    index = model.index
    model.index = lambda context: index(context[-depth:])
    return model


BROKEN_BY_DRAWS = ["resample_target", "residual_never_updated", "one_coin", "bonus_previous_row"]


@pytest.mark.parametrize("name", BROKEN_BY_DRAWS)
def test_broken_rules_fail_the_criterion(name: str) -> None:
    chance = random.Random(name)
    r = PATTERNS[name]
    depth = r.tree.depth + 1
    assert not is_lossless(r, context_model(chance, 3, depth), context_model(chance, 3, depth), r.tree)


def test_the_order_in_which_siblings_are_verified_matters() -> None:
    """Only a machine that hands out real tokens can run ``sorted``."""
    p, q = [HALF, THIRD, Fraction(1, 6)], [Fraction(1, 6), THIRD, HALF]
    assert not is_lossless(
        PATTERNS["sorted_siblings"], Model.constant(p), Model.constant(q), Tree.regular((2,))
    )


def test_tokens_are_plain_integers() -> None:
    @rule
    def plain(m: Any, p: Any, q: Any, tree: Tree) -> Any:
        """Draws two tokens and passes them through Python's containers."""
        x, y = m.draw(p(())), m.draw(p(()))
        seen = {x, y}
        names = {token: -token for token in seen}
        assert sorted(names) == sorted(seen)
        best = min(seen, key=names.__getitem__)
        return (best,) if len(seen) == 2 else (x, [y, x][0])

    law = law_of(plain, [HALF, THIRD, Fraction(1, 6)], [HALF, HALF, Fraction(0)], Tree())
    assert law == {
        (0, 0): QUARTER,
        (1, 1): Fraction(1, 9),
        (2, 2): Fraction(1, 36),
        (1,): 2 * HALF * THIRD,
        (2,): 2 * (HALF + THIRD) / 6,
    }


def test_a_branch_of_probability_zero_is_never_run() -> None:
    @rule
    def careful(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
        x = m.draw(q)
        if m.flip(m.one):
            return accept(x)
        raise AssertionError("never here")

    law = law_of(careful, [HALF, HALF], [Fraction(1), Fraction(0)], Tree.chain(1))
    assert law == {(0, 0): HALF, (0, 1): HALF}


def test_undefined_values_are_reported_with_their_probability() -> None:
    r = without_replacement.bind(exhausted="undefined")
    q = [Fraction(1), Fraction(0)]
    law = law_of(r, [QUARTER, 3 * QUARTER], q, Tree.regular((2,)))
    assert law[UNDEFINED] == 3 * QUARTER
    assert sum(law.values()) == 1


@pytest.mark.parametrize(
    "value",
    [
        lambda m: m.norm(m.relu(m.point(0) - m.point(0))),
        lambda m: m.one / m.zero,
        lambda m: m.uniform(without=(0, 1)),
        lambda m: m.point(0) / m.zero,
    ],
    ids=["norm", "quotient", "uniform", "vector"],
)
def test_each_undefined_value_is_undefined(value: Callable[[Any], Any]) -> None:
    @rule
    def undefined(m: Any, p: Any, q: Any, tree: Tree) -> Any:
        if m.flip(m.number(THIRD)):
            return (value(m),)
        return (m.draw(p(())),)

    law = law_of(undefined, [HALF, HALF], [HALF, HALF], Tree())
    assert law == {UNDEFINED: THIRD, (0,): THIRD, (1,): THIRD}


def coin_rule(text: Callable[[Any, Any], Any]) -> dict[tuple[Any, ...], Fraction]:
    """Law of the token that ``text(m, p)`` returns at p = (1/2, 1/3, 1/6)."""

    @rule
    def tested(m: Any, p: Any, q: Any, tree: Tree) -> Any:
        return (text(m, p(())),)

    return law_of(tested, [HALF, THIRD, Fraction(1, 6)], [HALF, HALF, Fraction(0)], Tree())


def test_a_coin_remembers_what_it_was_compared_with() -> None:
    def twice(m: Any, p: Any) -> int:
        coin = m.coin()
        if coin < p[1]:
            return 0
        return 1 if coin <= p[0] else 2  # given coin ≥ 1/3

    assert coin_rule(twice) == {(0,): THIRD, (1,): HALF - THIRD, (2,): HALF}


def test_thresholds_outside_the_range_of_a_coin_decide_nothing() -> None:
    def outside(m: Any, p: Any) -> int:
        coin = m.coin()
        if coin < -p[0] or not coin < 1 + p[0]:
            return 0
        return 1 if coin < p[0] else 2 - int(coin < p[1])  # coin ≥ 1/2 can't be below 1/3

    assert coin_rule(outside) == {(1,): HALF, (2,): HALF}


def test_a_scaled_coin_is_compared_like_a_quotient() -> None:
    def scaled(m: Any, p: Any) -> int:
        return 0 if m.coin() * p[0] < p[1] else 1

    assert coin_rule(scaled) == {(0,): 2 * THIRD, (1,): THIRD}


def test_a_coin_times_zero_is_zero() -> None:
    def nothing(m: Any, p: Any) -> int:
        coin = m.coin()
        if coin * m.zero < m.zero:
            return 0
        return 1 if coin * m.zero < p[0] else 2

    assert coin_rule(nothing) == {(1,): Fraction(1)}


@pytest.mark.parametrize(
    ("compare", "expected"),
    [
        (lambda coin, p: coin < p[1], Fraction(2, 4)),  # 0, 1/4 < 1/3
        (lambda coin, p: coin < p[0], Fraction(2, 4)),  # 0, 1/4 < 1/2
        (lambda coin, p: coin <= p[0], Fraction(3, 4)),  # 0, 1/4, 1/2 ≤ 1/2
        (lambda coin, p: coin <= p[0] * 0, Fraction(1, 4)),  # 0 ≤ 0
        (lambda coin, p: coin < p[0] * 0, Fraction(0)),
        (lambda coin, p: coin * p[1] < p[2], Fraction(2, 4)),  # coin < 1/2
    ],
)
def test_a_coin_on_a_grid(compare: Callable[[Any, Any], bool], expected: Fraction) -> None:
    law = coin_rule(lambda m, p: 0 if compare(m.coin(4), p) else 1)
    assert law.get((0,), 0) == expected


def test_inverse_transform_of_a_fresh_coin_is_a_draw() -> None:
    assert coin_rule(lambda m, p: m.draw(p, m.coin())) == {(0,): HALF, (1,): THIRD, (2,): Fraction(1, 6)}


def test_inverse_transform_of_a_compared_coin_is_conditional() -> None:
    def compared(m: Any, p: Any) -> int:
        coin = m.coin()
        token = int(m.draw(p, coin)) if coin < p[1] else 2
        return token  # below 1/3 the coin chooses token 0

    assert coin_rule(compared) == {(0,): THIRD, (2,): 2 * THIRD}


def test_inverse_transform_on_a_grid() -> None:
    """Coins 0, 1/4 choose token 0; 1/2, 3/4 choose token 1; nothing reaches token 2."""
    assert coin_rule(lambda m, p: m.draw(p, m.coin(4))) == {(0,): HALF, (1,): HALF}


def test_vector_operations() -> None:
    m = Exact(3)
    p = exact_module.ExactVector([fmpq(1, 2), fmpq(1, 3), fmpq(1, 6)])
    u = m.uniform()
    assert m.min(p, u) == (fmpq(1, 3), fmpq(1, 3), fmpq(1, 6))
    assert m.relu(p - u) == (fmpq(1, 6), 0, 0)
    assert m.norm(m.relu(p - u)) == m.point(0)
    assert m.norm(p - p, otherwise=p) is p
    assert m.without(p, 0, 2) == (0, fmpq(1, 3), 0)
    assert 2 * p == p + p == p * 2
    assert p / 2 == p * fmpq(1, 2)
    assert m.sum(p) == 1
    assert m.top(u, 2) == (0, 1)
    assert m.argmax(p) == 0
    assert m.uniform(without=(1,)) == (fmpq(1, 2), 0, fmpq(1, 2))
    assert m.relu(fmpq(-1)) == 0
    assert m.min(m.one, fmpq(2)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (lambda m, p: 1 // [], "the rule raised TypeError"),
        (lambda m, p: m.draw(p + p), r"draws from \(1, 2/3, 1/3\), which is no distribution: it sums to 2"),
        (lambda m, p: m.draw(p * 3 - m.point(0) * 2), "draws from .*, which is no distribution"),
        (lambda m, p: m.draw([1, 0, 0]), "which is no vector"),
        (lambda m, p: int(m.flip(m.number(Fraction(3, 2)))), "flips with probability 3/2"),
        (lambda m, p: int(m.flip(-p[0])), "flips with probability -1/2"),
        (lambda m, p: int(m.flip(0.5)), "flips with probability 0.5, no exact number"),
        (lambda m, p: p[7], "the rule raised IndexError"),
        (lambda m, p: 3, "whose entry 0 is no token"),
        (lambda m, p: -1, "whose entry 0 is no token"),
        (lambda m, p: True, "whose entry 0 is no token"),
        (lambda m, p: p, "whose entry 0 is no token"),
        (lambda m, p: [], "whose entry 0 is no token"),
    ],
)
def test_a_rule_that_does_what_no_rule_may_do_is_an_error(text: Any, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        coin_rule(text)


@pytest.mark.parametrize("returned", [None, (), [0], 0, "0", ((0,),)])
def test_what_is_no_tuple_of_tokens_is_an_error(returned: Any) -> None:
    @rule
    def nonsense(m: Any, p: Any, q: Any, tree: Tree) -> Any:
        return returned

    with pytest.raises(RuleError, match="the rule returned"):
        law_of(nonsense, [HALF, HALF], [HALF, HALF], Tree())


def test_a_rule_that_flips_forever_is_an_error() -> None:
    def forever(m: Any, p: Any) -> int:
        while m.flip(p[0]):
            pass
        return 0

    with pytest.raises(RuleError, match="may never return"):
        coin_rule(forever)


def test_a_rule_whose_states_form_a_cycle_is_an_error() -> None:
    @rule
    def again(m: Any, p: Any, q: Any, tree: Tree) -> Any:
        def attempt() -> Any:
            return (0,) if m.flip(p(())[0]) else m.call(("attempt",), attempt)

        return attempt()

    with pytest.raises(RuleError, match="may never return"):
        law_of(again, [HALF, HALF], [HALF, HALF], Tree())


def test_a_state_is_evaluated_once() -> None:
    runs = []

    @rule
    def merged(m: Any, p: Any, q: Any, tree: Tree) -> Any:
        def rest() -> Any:
            runs.append(1)
            return (0,)

        m.draw(p(()))
        return m.call(("rest",), rest)

    assert law_of(merged, [HALF, HALF], [HALF, HALF], Tree()) == {(0,): Fraction(1)}
    assert runs == [1]


def test_forward_and_backward_evaluation_agree() -> None:
    chance = random.Random(5)
    for r, tree in itertools.product((chain, specinfer, block_verification), (Tree(), Tree.chain(2))):
        p, q = (vectors(context_model(chance, 3, 3, zeros=True)) for _ in range(2))
        forward, backward = Exact(3), Exact(3)
        law = forward.law(lambda: r.run(forward, p, q, tree))  # noqa: B023
        backward.choose = lambda options: replay.Replay.choose(backward, options)  # noqa: B023
        assert law == replay.Replay.law(backward, lambda: r.run(backward, p, q, tree))  # noqa: B023


def larger_instead_of_smaller(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Exact, "min", lambda self, a, b: max(a, b))


def no_relu(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Exact, "relu", lambda self, a: a)


def not_normalised(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Exact, "norm", lambda self, vector, otherwise=None: vector)


def complement_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Exact, "flip", lambda self, a: bool(self.choose([(True, a), (False, a)])))


def states_confused(patch: pytest.MonkeyPatch) -> None:
    call = replay.Forward.call
    patch.setattr(replay.Forward, "call", lambda self, state, rest: call(self, state[:1], rest))


def coin_not_narrowed(patch: pytest.MonkeyPatch) -> None:
    class Forgetful(coin_module.Coin):
        def __lt__(self, threshold: Any) -> bool:
            self.low, self.high = self.m.zero, self.m.one
            return super().__lt__(threshold)

    patch.setattr(exact_module, "Coin", Forgetful)


@pytest.mark.parametrize(
    ("fault", "r"),
    [
        (larger_instead_of_smaller, chain),
        (no_relu, chain),
        (not_normalised, chain),
        (complement_forgotten, chain),
        (states_confused, chain),
        (coin_not_narrowed, target_only),
    ],
    ids=lambda value: value.name if isinstance(value, Rule) else value.__name__,
)
def test_a_broken_machine_does_not_find_a_lossless_rule_lossless(
    fault: Callable[[pytest.MonkeyPatch], None], r: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(11)
    target, draft = context_model(chance, 3, 3), context_model(chance, 3, 3)
    tree = r.tree
    assert is_lossless(r, target, draft, tree)
    fault(monkeypatch)
    with pytest.raises((RuleError, AssertionError)):
        assert is_lossless(r, target, draft, tree)
