"""No prover says "holds" of a refuted rule: attacks, one by one, and every small mutant of some texts.

A wrong "holds" is the worst that this project can do. An attack is a lossy rule (or one that is undefined, or
no rule at all) that a reading could be fooled by: through Python that the machines do not see (truth
values, identity, text, hashes, exceptions), through boundaries that have no volume, through zero
divisors, through vocabularies smaller than the number of tokens in play.
"""

from __future__ import annotations

import ast
import copy
import itertools
import linecache
import random
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from losslesscheck import instances
from losslesscheck.errors import LosslesscheckError, RuleError
from losslesscheck.machines import all_distributions, any_vocabulary
from losslesscheck.rule import Rule, rule
from losslesscheck.search import examine
from losslesscheck.tree import Tree

ATTACKS: dict[str, Rule] = {}

NEEDS_A_LARGE_VOCABULARY = ("needs_more_tokens_than_there_are",)
"""Lossless for a vocabulary that is large enough; a proof must say so."""


def attack(widths: tuple[int, ...] = (1,), **facts: Any) -> Callable[[Callable[..., Any]], Rule]:
    def made(function: Callable[..., Any]) -> Rule:
        found = rule(tree=Tree.regular(widths), **facts)(function)
        ATTACKS[found.name] = found
        return found

    return made


def executed(source: str, name: str) -> Callable[..., Any]:
    """The function of that name, with a source that ``inspect`` finds: else it would never be read."""
    file = f"<{name} {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"Fraction": Fraction, "verify": verify}
    exec(compile(source, file, "exec"), names)
    function: Callable[..., Any] = names[name]
    return function


def verify(m, p, q, accept, reject, x):
    """The lossless rest of an attack: Leviathan et al.'s test of the draft token x."""
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


# Python that a machine does not see


@attack()
def truth_of_a_token(m, p, q, accept, reject):
    x = m.draw(q)
    return verify(m, p, q, accept, reject, x) if x else accept(x)


@attack((2,), distinct_siblings=True)
def sibling_that_is_falsy(m, p, siblings, accept, end):
    y, found = m.draw(p), None
    for token in siblings:
        if token == y:
            found = token
    return accept(found) if found else end(m.draw(m.norm(m.without(p, *siblings), otherwise=p)))


@attack((1,), distinct_siblings=True)
def default_for_a_falsy_token(m, p, siblings, accept, end):
    return end(m.draw(p) or m.draw(p))


@attack()
def identity_of_tokens(m, p, q, accept, reject):
    x, y = m.draw(q), m.draw(q)
    return accept(x) if x is y else verify(m, p, q, accept, reject, x)


@attack()
def identity_of_numbers(m, p, q, accept, reject):
    x, y = m.draw(q), m.draw(q)
    return accept(x) if p[x] is p[y] else verify(m, p, q, accept, reject, x)


@attack()
def identity_of_a_minimum(m, p, q, accept, reject):
    x = m.draw(q)
    least = m.min(p[x], q[x])
    return accept(x) if least is p[x] else verify(m, p, q, accept, reject, x)


@attack()
def text_of_a_token(m, p, q, accept, reject):
    x = m.draw(q)
    return accept(x) if f"{x}" == "0" else verify(m, p, q, accept, reject, x)


@attack()
def hash_of_a_token(m, p, q, accept, reject):
    x = m.draw(q)
    return accept(x) if hash(x) == 0 else verify(m, p, q, accept, reject, x)


@attack()
def type_of_a_token(m, p, q, accept, reject):
    x = m.draw(q)
    return accept(x) if isinstance(x, int) else verify(m, p, q, accept, reject, x)


@attack()
def looks_at_the_machine(m, p, q, accept, reject):
    x = m.draw(q)
    return accept(x) if hasattr(m, "vocabulary") else verify(m, p, q, accept, reject, x)


@attack((2,))
def order_of_a_set(m, p, q, tree):
    residual, draft = p(()), q(())
    x, y = m.draw(draft), m.draw(draft)
    for token in list({x, y}) if x != y else [x, y]:
        if m.flip(m.min(m.one, residual[token] / draft[token])):
            return (token,)
        residual = m.norm(m.relu(residual - draft))
    return (m.draw(residual),)


@attack()
def set_of_numbers(m, p, q, accept, reject):
    x = m.draw(q)
    return reject(m.point(0)) if p[x] in {q[x]} else verify(m, p, q, accept, reject, x)


@attack((2,))
def text_of_the_tried(m, p, q, accept, reject, tried=()):
    x = m.draw(q)
    if f"{(*tried, x)}" == "(1, 0)" or m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)), tried=(*tried, x))


@attack((4,))
def place_among_the_tried(m, p, q, accept, reject, tried=()):
    """The draft token, unless three tokens were tried before: then the last of these."""
    x = m.draw(q)
    chosen = (*tried, x, x, x)[2]
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(chosen)
    return reject(m.norm(m.relu(p - q)), tried=(*tried, x))


@attack((4,))
def computed_place_among_the_tried(m, p, q, accept, reject, tried=()):
    x, two = m.draw(q), 1 + 1
    chosen = (*tried, x, x, x)[two]
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(chosen)
    return reject(m.norm(m.relu(p - q)), tried=(*tried, x))


@attack()
def swallows_what_is_undecided(m, p, q, accept, reject):
    x = m.draw(q)
    try:
        if p[x] < q[x]:
            return accept(x)
    except Exception:
        pass
    return verify(m, p, q, accept, reject, x)


@attack()
def swallows_a_full_field(m, p, q, accept, reject):
    x = m.draw(q)
    test, surplus = m.min(m.one, p[x] / q[x]), m.relu(p - q)
    try:
        for factor in range(2, 40):
            m.sum(m.relu(p * factor - q))
        return accept(x)
    except Exception:
        pass
    return accept(x) if m.flip(test) else reject(m.norm(surplus))


@attack()
def needs_more_tokens_than_there_are(m, p, siblings, accept, end):
    y = m.draw(p)
    m.draw(m.uniform(without=(*siblings, y)))
    return accept(y) if y in siblings else end(y)


# The walk over the tree


@attack((1, 1))
def returns_its_own_tuple(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return (m.draw(m.norm(m.relu(p - q))),)


@attack((2, 1))
def returns_its_own_tuple_at_a_node(m, p, siblings, accept, end):
    y = m.draw(p)
    return accept(y) if y in siblings else (y,)


@attack()
def names_a_state_as_the_walk_does(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return m.call(("enter", (x,), ()), lambda: (x, x))
    return reject(m.norm(m.relu(p - q)))


@attack((1,))
def emits_a_second_token_only_if_new(m, p, q, tree):
    x = m.draw(q(()))
    if m.flip(m.min(m.one, p(())[x] / q(())[x])):
        y = m.draw(p((x,)))
        return (x,) if y == x else (x, y)
    return (m.draw(m.norm(m.relu(p(()) - q(())))),)


@attack((1, 1))
def looks_at_the_depth(m, p, q, tree):
    x = m.draw(q(()))
    accepted = tree.depth > 1 or m.flip(m.min(m.one, p(())[x] / q(())[x]))
    return (x,) if accepted else (m.draw(m.norm(m.relu(p(()) - q(())))),)


# Numbers: what is no probability, divisors, boundaries without a volume


@attack()
def sum_below_zero(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.point(x) * (p[x] - q[x]), otherwise=m.norm(m.relu(p - q))))


@attack()
def constant_beyond_one(m, p, q, accept, reject):
    return reject(p) if m.flip(m.number(2)) else accept(m.draw(p))


@attack()
def beyond_one_at_some_distributions(m, p, q, accept, reject):
    x = m.draw(q)
    return reject(p) if m.flip(p[x] + q[x]) else accept(m.draw(p))


@attack()
def negative_at_some_distributions(m, p, q, accept, reject):
    if m.flip(m.number(Fraction(1, 2))):
        return reject(p * 2 - q)
    return reject(q)


@attack()
def sums_to_one_on_average(m, p, q, accept, reject):
    return reject(p * 2) if m.flip(m.number(Fraction(1, 2))) else reject(p * 0)


@attack()
def two_divisors_vanish_together(m, p, q, accept, reject):
    x = m.draw(q)
    share = (p[x] * q[x]) / (p[x] * q[x])
    return reject(p) if m.flip(share) else accept(x)


@attack()
def divisor_behind_an_alternative(m, p, q, accept, reject):
    residual = m.norm(m.relu(p - q), otherwise=m.norm(m.relu(q - p)))
    x = m.draw(q)
    return accept(x) if m.flip(m.min(m.one, p[x] / q[x])) else reject(residual)


@attack((3,))
def draft_used_up(m, p, q, accept, reject, tried=()):
    draft = m.norm(m.without(q, *tried))
    x = m.draw(draft)
    if m.flip(m.min(m.one, p[x] / draft[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - draft)), tried=(*tried, x))


@attack((2,), distinct_siblings=True)
def divisors_that_vanish_at_one_point_only(m, p, siblings, accept, end):
    """0/0 with probability 1/2 where a = b = 0: the mass of reaching a + b is (a + b) · f / d, and the other
    divisor, d, shares no factor with a + b but is zero there, too."""
    if len(siblings) < 2:
        return end(m.draw(p))
    a, b = p[siblings[0]], p[siblings[1]]
    half = m.flip(m.number(Fraction(1, 2)))
    if half or (m.flip(a) and m.flip(b) and m.flip(a * a / (a * a + a * b + b * b * b * b))):
        m.flip(a / (a + b))
    return end(m.draw(p))


@attack()
def alternative_to_what_sums_to_zero(m, p, q, accept, reject):
    return reject(m.norm(p - q, otherwise=p))


@attack()
def norm_of_what_may_be_negative(m, p, q, accept, reject):
    surplus = m.norm(p * 2 - q)
    x = m.draw(p)
    m.flip(m.min(m.one, m.relu(surplus[x])))
    return accept(x)


BOUNDARY = """
def {name}(m, p, q, accept, reject):
    x = m.draw(q)
    if {condition}:
        return reject(m.point(m.argmax(q)))
    return verify(m, p, q, accept, reject, x)
"""
"""A rule that is wrong where the condition holds, which has no volume, and lossless elsewhere."""


for _name, _condition in {
    "wrong_where_p_and_q_agree_at_the_draft": "p[x] <= q[x] and q[x] <= p[x]",
    "wrong_where_the_draft_is_impossible": "p[x] <= 0",
    "wrong_where_the_draft_is_certain": "q[x] >= 1",
    "wrong_where_p_is_q": "m.sum(m.min(p, q)) >= 1",
    "wrong_where_nothing_is_left": "m.sum(m.relu(p - q)) <= 0",
    "wrong_where_the_supports_are_disjoint": "m.sum(m.min(p, q)) <= 0",
    "wrong_at_one_half": "(p[0] * 2 - 1) * (p[0] * 2 - 1) <= 0",
    "wrong_at_a_third": "p[0] * 3 >= 1 and p[0] * 3 <= 1",
    "wrong_at_two_zeros": "p[0] + q[1] <= 0",
    "wrong_where_a_product_vanishes": "p[x] * q[x] <= 0",
    "wrong_at_equal_argmaxes": "m.argmax(p) == x and m.argmax(q) == x",
}.items():
    attack()(executed(BOUNDARY.format(name=_name, condition=_condition), _name))


# Refutation


def trees(of: Rule) -> list[Tree]:
    """The rule's own tree, and a few like it that its proofs speak of, too."""
    own = of.fit(None, 3)
    if of.form == "node":
        return [own, Tree.siblings((0,)), Tree.siblings((1, 0)), Tree()]
    return [own]


def refuted(of: Rule, on: list[Tree], vocabulary: int) -> str:
    """How the rule fails on some instance, as text; empty if on none."""
    fitting = [t for t in on if t.width <= vocabulary or not of.fixed_tokens]
    small = (instances.small(of, fitting, [vocabulary], d) for d in (1, 2, 3))
    some = [instances.arbitrary(of, t, vocabulary, seed) for t in fitting for seed in range(12)]
    for instance in itertools.chain(*small, some):
        try:
            found = examine(of, instance)
        except RuleError as error:
            return f"V = {vocabulary}: {error}"
        if found is not None:
            return f"V = {vocabulary}, tree {instance.tree}: TV {found.tv}, undefined {found.undefined}"
    return ""


def proved_everywhere(of: Rule) -> bool:
    try:
        return any_vocabulary.prove(of).holds
    except LosslesscheckError:
        return False


def proved_at(of: Rule, tree: Tree, vocabulary: int) -> bool:
    try:
        return all_distributions.prove(of, tree, vocabulary).holds
    except LosslesscheckError:
        return False


def wrongly_proved(of: Rule) -> list[str]:
    """The proofs of the rule that are refuted."""
    wrong = []
    on = trees(of)
    if proved_everywhere(of):
        wrong += [f"any vocabulary, but {how}" for v in (2, 3) if (how := refuted(of, on, v))]
    for vocabulary in (2, 3):
        if not proved_at(of, on[0], vocabulary):
            break
        if how := refuted(of, on[:1], vocabulary):
            wrong.append(f"all distributions, but {how}")
    return wrong


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_lossy(name):
    """Otherwise it attacks nothing."""
    of = ATTACKS[name]
    assert refuted(of, trees(of), 3) or refuted(of, trees(of), 2)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_not_proved_for_any_vocabulary(name):
    of = ATTACKS[name]
    nothing_is_claimed = of.form == "whole" and of.tree.depth > 1
    if name in NEEDS_A_LARGE_VOCABULARY:
        assert "supposing that the vocabulary has more than" in any_vocabulary.prove(of).statement
    else:
        assert nothing_is_claimed or not proved_everywhere(of)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_not_proved_for_all_distributions(name):
    of = ATTACKS[name]
    for vocabulary in (2, 3):
        own = of.fit(None, vocabulary)
        if proved_at(of, own, vocabulary):
            assert not refuted(of, [own], vocabulary)


# Mutants

TEXTS = """
def step(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))

def two_draws(m, p, q, accept, reject):
    x, y = m.draw(q), m.draw(q)
    if x == y:
        return reject(p)
    if m.flip(p[y]):
        return accept(y)
    return reject(m.norm(m.without(p, y)))

def mixture(m, p, q, accept, reject):
    x = m.draw((p + q) / 2)
    if m.flip(m.min(m.one, p[x] / ((p + q) / 2)[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))

def token_step(m, p, token, accept, reject):
    if m.flip(p[token]):
        return accept(token)
    return reject(m.norm(m.without(p, token), otherwise=p))

def history(m, p, token, accept, reject, tried=()):
    if m.flip(p[token]):
        return accept(token)
    return reject(m.norm(m.without(p, token)), tried=(*tried, token))

def node(m, p, siblings, accept, end):
    u, c = m.coin(), m.zero
    for token in siblings:
        c = c + p[token]
        if u < c:
            return accept(token)
    return end(m.draw(m.norm(m.without(p, *siblings))))

def naive(m, p, siblings, accept, end):
    y = m.draw(p)
    for token in siblings:
        if token == y:
            return accept(token)
    return end(y)

def whole(m, p, q, tree):
    target, draft = p(()), q(())
    x = m.draw(draft)
    if m.flip(m.min(m.one, target[x] / draft[x])):
        return (x, m.draw(p((x,))))
    return (m.draw(m.norm(m.relu(target - draft))),)
"""

VECTORS = {"p", "q", "target", "draft"}
TOKENS = {"x", "y", "token"}


def mutants(text: ast.FunctionDef) -> Iterator[str]:
    """The sources that differ from the text by one small change."""
    bound = {n.id for n in ast.walk(text) if isinstance(n, ast.Name)} | {a.arg for a in text.args.args}
    whole = "tree" in bound
    for number, node in enumerate(ast.walk(text)):
        for change in _changes(node, bound - {"p", "q"} if whole else bound):
            mutant = copy.deepcopy(text)
            change(next(itertools.islice(ast.walk(mutant), number, None)))
            yield ast.unparse(ast.fix_missing_locations(mutant))


def _changes(node: ast.AST, bound: set[str]) -> Iterator[Callable[[Any], None]]:
    def become(new: Callable[[Any], ast.AST]) -> Callable[[Any], None]:
        def change(old: Any) -> None:
            made = new(copy.deepcopy(old))
            old.__class__ = made.__class__
            old.__dict__ = made.__dict__

        return change

    def put(name: str, value: Any) -> Callable[[Any], None]:
        return lambda old: setattr(old, name, value)

    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        for kind in (VECTORS, TOKENS):
            if node.id in kind:
                yield from (put("id", other) for other in sorted(kind & bound - {node.id}))
    elif isinstance(node, ast.BinOp):
        yield become(lambda old: ast.BinOp(old.right, old.op, old.left))
        yield put("op", ast.Mult() if isinstance(node.op, ast.Div) else ast.Add())
        yield become(lambda old: old.left)
    elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.Eq):
        yield put("ops", [ast.GtE() if isinstance(node.ops[0], ast.Lt) else ast.NotEq()])
    elif isinstance(node, ast.If):
        yield put("test", ast.UnaryOp(ast.Not(), node.test))
        yield put("test", ast.parse("m.flip(m.number(Fraction(1, 2)))", mode="eval").body)
    elif isinstance(node, ast.Attribute) and node.attr in ("one", "zero"):
        yield put("attr", "zero" if node.attr == "one" else "one")
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("relu", "norm", "min", "without"):
            yield become(lambda old: old.args[0])
        if node.func.attr == "norm" and not node.keywords and {"p", "siblings"} & bound:
            otherwise = ast.parse("p" if "tree" not in bound else "target", mode="eval").body
            yield put("keywords", [ast.keyword("otherwise", otherwise)])
        if node.func.attr == "draw" and "token" in bound:
            yield put("args", [ast.parse("m.uniform()", mode="eval").body])


def made(source: str, name: str) -> Rule:
    return rule(tree=Tree.regular((1,)), distinct_siblings=True)(executed(source, name))


@pytest.mark.parametrize("text", ast.parse(TEXTS).body, ids=lambda text: text.name)
def test_a_text_is_proved_before_it_is_changed(text):
    """Otherwise a mutant may go unproved for no good reason."""
    of = made(ast.unparse(text), text.name)
    assert proved_everywhere(of)
    assert proved_at(of, of.fit(None, 2), 2)


@pytest.mark.parametrize("text", ast.parse(TEXTS).body, ids=lambda text: text.name)
def test_no_mutant_is_wrongly_proved(text):
    tally = Counter[str]()
    for source in dict.fromkeys(mutants(text)):
        mutant = made(source, text.name)
        wrong = wrongly_proved(mutant)
        assert not wrong, f"{wrong}\n{source}"
        tally[bool(refuted(mutant, trees(mutant), 2))] += 1
    assert tally[True] >= 4  # there was something to be fooled by


def test_random_pairs_of_changes_are_not_wrongly_proved():
    rng = random.Random(5)
    texts = [text for text in ast.parse(TEXTS).body if isinstance(text, ast.FunctionDef)]
    for _ in range(24):
        text = rng.choice(texts)
        for _ in range(2):
            text = ast.parse(rng.choice(list(mutants(text)))).body[0]
        source = ast.unparse(text)
        mutant = made(source, text.name)
        wrong = wrongly_proved(mutant)
        assert not wrong, f"{wrong}\n{source}"


def test_a_prover_without_obligations_is_caught(monkeypatch):
    """The tests above can fail."""
    monkeypatch.setattr(any_vocabulary, "obligations", lambda root, fixed, c: [])

    def zero_over_zero(m, p, q, accept, reject):
        x = m.draw(q)
        if m.flip(m.min(m.one, p[x] / q[x]) * (p[x] / p[x])):
            return accept(x)
        return reject(m.norm(m.relu(p - q)))

    assert wrongly_proved(rule(zero_over_zero, tree=Tree.regular((1,))))


def test_a_prover_that_lets_cofactors_be_infinite_is_caught(monkeypatch):
    monkeypatch.setattr(any_vocabulary, "_finite", lambda cofactor, before: True)
    assert wrongly_proved(ATTACKS["divisors_that_vanish_at_one_point_only"])


def test_siblings_that_a_rule_takes_away_are_still_siblings():
    def takes_away(m, p, siblings, accept, end):
        y = m.draw(p)
        while siblings:
            token = siblings.pop(0)
            if token == y:
                return accept(token)
        return end(y)

    of = rule(tree=Tree.regular((2, 2)))(takes_away)
    assert proved_everywhere(of)
    assert not refuted(of, [of.fit(None, 3)], 3)
