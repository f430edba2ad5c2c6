"""The any-vocabulary reading: the law of the next token, for every finite vocabulary at once.

A step rule is called once, with arbitrary distributions p (the running residual) and q (the draft), and
its two continuations are replaced by what the theorem's induction gives: ``accept(x)`` emits x,
``reject(r)`` goes on to emit a token with law r. If the next token then has law p, so it has in every tree. A
node rule is called with up to so many distinct fixed siblings; of a rule that is written whole only
trees of one level are read, and only the law of the first token.

What is checked: the law equals the target's as a rational function, with minima and sums as free symbols
(``algebra.signs`` says why that suffices); every vector that is drawn from or handed on is
a distribution and every probability lies in [0, 1], by known signs; every divisor is zero only where
the probability of getting to it is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from losslesscheck.algebra.coordinates import PLACE
from losslesscheck.algebra.field import FieldFull, Rational
from losslesscheck.errors import RuleError, Undecided
from losslesscheck.machines.any_certificate import Obligation, Settled, certificate, facts
from losslesscheck.machines.any_values import Token, Tried, Vector
from losslesscheck.machines.blind import require_blind
from losslesscheck.machines.decisions import Entries, Node, Reached, law, nodes, obligations, second_law
from losslesscheck.machines.generic import Case, Ending, Generic, tried
from losslesscheck.proof import Proof
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

CAPACITIES = (24, 48, 96, 192)
"""How many symbols a proof may use; more are tried when fewer do not suffice."""

MOST_ARGMAXES = 3
MOST_PATTERNS = 300


@dataclass(frozen=True)
class Scene:
    """One way in which a rule is called.

    Attributes:
        call: what a certificate says of it.
        where: what a reason for failure says of it.
        fixed: the fixed tokens.
        run: calls the rule on a machine and returns the law of the next token.
    """

    call: dict[str, Any]
    where: str
    fixed: tuple[str, ...]
    run: Callable[[Generic], Ending]


def prove(rule: Rule, siblings: int = 3) -> Proof:
    """Proves that the next token follows the target's law for every finite vocabulary.

    Args:
        rule: the rule with its parameters bound.
        siblings: the largest number of siblings at a node, for a rule that is not written as a step.

    Raises:
        RuleError: if the rule raises, or returns what no rule may return.
    """
    statement = _statement(rule, siblings)
    every_tree = rule.form == "step"
    try:
        settled = [done for scene in _scenes(rule, siblings) for done in _settle(rule, scene)]
    except Undecided as undecided:
        return Proof(False, statement, every_tree, str(undecided))
    supposed = dict.fromkeys(s for done in settled for s in done.machine.suppositions)
    if supposed:
        statement += f"; supposing that {' and '.join(supposed)}"
    return Proof(True, statement, every_tree, "", facts(settled), certificate(rule, settled))


def _statement(rule: Rule, siblings: int) -> str:
    law = "is the target's argmax" if rule.greedy else "follows the target's law"
    if rule.form == "step":
        return f"any vocabulary: the next token {law} at every node of every tree"
    if rule.form == "node":
        kind = "distinct siblings" if rule.distinct_siblings else "siblings"
        return f"any vocabulary: the next token {law} at nodes of up to {siblings} {kind}, at every depth"
    if not rule.takes_tree:
        return f"any vocabulary: the first token {law} on the rule's own tree; nothing about deeper tokens"
    drafts = "one draft" if rule.single_path else f"1 to {siblings} drafts"
    return f"any vocabulary: every token {law} on one level of {drafts}; nothing about deeper trees"


def _scenes(rule: Rule, siblings: int) -> Iterator[Scene]:
    if rule.form == "step":
        if rule.greedy:
            raise Undecided("a greedy rule that is written as a step has no step identity")
        yield _step(rule, None)
        if rule.takes_tried:
            require_blind(rule.function)
            # Two pieces of history besides one: a rule that told them apart would be seen to.
            yield _step(rule, 1)
            yield _step(rule, 2)
    elif rule.form == "node":
        for count in range(siblings + 1):
            for names in _siblings(rule, count):
                yield _node(rule, names)
    elif not rule.takes_tree:
        yield _whole(rule, None, ())
    else:
        for count in range(1, 2 if rule.single_path else siblings + 1):
            for names in _siblings(rule, count) if rule.fixed_tokens else [()]:
                yield _whole(rule, count, names)


def _siblings(rule: Rule, count: int) -> list[tuple[str, ...]]:
    """Names for fixed siblings: in every pattern of equal ones, unless the claim needs distinct ones."""
    patterns: list[tuple[int, ...]] = [()]
    for _ in range(count):
        patterns = [(*p, i) for p in patterns for i in range(1, max(p, default=0) + 2)]
        if rule.distinct_siblings:
            patterns = patterns[-1:]  # all different
        if len(patterns) > MOST_PATTERNS:
            raise Undecided(f"{count} siblings can be equal in more than {MOST_PATTERNS} ways")
    return [tuple(f"t{i}" for i in pattern) for pattern in patterns]


def _step(rule: Rule, history: int | None) -> Scene:
    def run(m: Generic) -> Ending:
        def reject(residual: Vector, **state: Any) -> Ending:
            m.require_distribution(residual, "rejects with")
            _require_state(rule, state)
            return Ending(residual.entries)

        draft = Token("t1") if rule.fixed_tokens else m.distribution("q")
        state = {"tried": tried(history)} if rule.takes_tried else {}
        return _ending(rule.apply(m, m.distribution("p"), draft, _emit(m), reject, **state))

    where = "" if history is None else "after other siblings were tried: "
    call = {"form": "step"} | ({"tried": history or 0} if rule.takes_tried else {})
    return Scene(call, where, ("t1",) if rule.fixed_tokens else (), run)


def _node(rule: Rule, names: tuple[str, ...]) -> Scene:
    def run(m: Generic) -> Ending:
        emit = _emit(m)

        def accept(token: Token) -> Ending:
            if not isinstance(token, Token) or token.name not in names:
                raise Undecided(f"the rule accepts {token!r}, which is none of the siblings")
            return emit(token)

        return _ending(rule.apply(m, m.distribution("p"), [Token(name) for name in names], accept, emit))

    where = f"siblings {', '.join(names) or 'none'}: "
    return Scene({"form": "node", "siblings": list(names)}, where, _distinct(names), run)


def _whole(rule: Rule, count: int | None, names: tuple[str, ...]) -> Scene:
    def run(m: Generic) -> Ending:
        p, q = _model(m, "p"), _model(m, "q")
        p(()), q(())
        if count is None:
            outcome = rule.apply(m, p, q)
        else:
            tokens: Any = [Token(name) for name in names]
            outcome = rule.apply(m, p, q, Tree.siblings(tokens) if names else Tree.regular((count,)))
        if not isinstance(outcome, tuple) or not outcome or not all(isinstance(t, Token) for t in outcome):
            raise RuleError(f"the rule returned {outcome!r}, not a non-empty tuple of tokens")
        if count is not None and len(outcome) > 2:
            raise Undecided(f"the rule emits {len(outcome)} tokens on a tree of one level")
        return Ending(m.point(outcome[0]).entries, tuple(token.name for token in outcome))

    where = "" if count is None else f"{count} draft{'s'[: count != 1]}: "
    call = {"form": "whole", "width": count} | ({"siblings": list(names)} if names else {})
    return Scene(call, where, _distinct(names), run)


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _model(m: Generic, name: str) -> Callable[[tuple[Token, ...]], Vector]:
    """A model as a function of the context: after every context an arbitrary distribution of its own."""
    rows: dict[tuple[str, ...], Vector] = {}

    def at(context: tuple[Token, ...]) -> Vector:
        key = tuple(token.name for token in context)
        if key not in rows:
            rows[key] = m.distribution("_".join((name, *key)), hidden=context)
        return rows[key]

    return at


def _ending(outcome: Any) -> Ending:
    if not isinstance(outcome, Ending):
        raise RuleError(f"the rule returned {outcome!r}, not what one of its continuations returned")
    return outcome


def _emit(m: Generic) -> Callable[[Token], Ending]:
    def emit(token: Token) -> Ending:
        if not isinstance(token, Token):
            raise RuleError(f"the rule emits {token!r}, which is no token")
        return Ending(m.point(token).entries)

    return emit


def _require_state(rule: Rule, state: dict[str, Any]) -> None:
    for name, value in state.items():
        if name != "tried" or not rule.takes_tried:
            raise Undecided(f"the rule hands {name} on to the next sibling")
        if not isinstance(value, tuple) or not all(isinstance(t, (Token, Tried)) for t in value):
            raise Undecided("the rule hands on as tried what is no tuple of tokens")


def _settle(
    rule: Rule, scene: Scene, largest: dict[str, str] | None = None, fixed: tuple[str, ...] | None = None
) -> Iterator[Settled]:
    """Proves a scene, in every case of which fixed token an argmax is."""
    largest, fixed = largest or {}, scene.fixed if fixed is None else fixed
    for capacity in CAPACITIES:
        m = Generic(capacity, fixed, largest)
        try:
            yield _settled(rule, scene, m)
        except FieldFull:
            continue
        except Case as case:
            if len(largest) == MOST_ARGMAXES:
                raise Undecided("the rule asks for the argmax of too many distributions") from None
            new = f"a{len(largest)}"
            for token in (*fixed, new):
                longer = fixed if token in fixed else (*fixed, new)
                yield from _settle(rule, scene, {**largest, case.of: token}, longer)
        except Undecided as undecided:
            raise Undecided(f"{scene.where}{undecided}") from None
        return
    raise Undecided(f"{scene.where}the proof needs more than {CAPACITIES[-1]} symbols")


def _settled(rule: Rule, scene: Scene, m: Generic) -> Settled:
    m.distribution("p")  # the first symbol, so that formulas read alike
    target = m.point(m.argmax(m.distribution("p"))).entries if rule.greedy else m.distribution("p").entries
    root = m.decide(lambda: scene.run(m))
    _require_identity(root, target, m)
    seconds = _seconds(root, m, rule.greedy) if scene.call.get("width") else {}
    met = [_met(reached, m) for reached in obligations(root, m.fixed, m.coordinates)]
    return Settled(scene.call, m, root, target, seconds, met)


def _require_identity(root: Node, target: Entries, m: Generic) -> None:
    found = law(root, m.coordinates)
    for token in (PLACE, *m.fixed):
        is_, should = found.entry(m.coordinates, token), target.entry(m.coordinates, token)
        if not (is_ - should).is_zero():
            raise Undecided(
                f"the next token is {token} with probability {_short(is_)}, which differs from "
                f"{should} by {_short(is_ - should)}{_legend(m)}"
            )


def _seconds(root: Node, m: Generic, greedy: bool) -> dict[str, Rational]:
    """Checks the law of a second token: the target's after the first one.

    Returns:
        For every token that may come first the probability that a second one follows it.
    """
    firsts = dict.fromkeys(node.emitted[0] for node in nodes(root) if len(node.emitted) > 1)
    masses: dict[str, Rational] = {}
    for first in firsts:
        found = second_law(root, first, m.coordinates)
        mass = found.total(m.coordinates)
        after = m.distribution(f"p_{first}", hidden=[Token(first)])
        target = m.point(m.argmax(after)).entries if greedy else after.entries
        for token in dict.fromkeys((PLACE, first, *m.fixed, *found.at)):
            is_, should = found.entry(m.coordinates, token), mass * target.entry(m.coordinates, token)
            if not (is_ - should).is_zero():
                raise Undecided(
                    f"after the token {first} the next is {token} with joint probability {_short(is_)}, "
                    f"not {_short(should)}{_legend(m)}"
                )
        masses[first] = mass
    return masses


def _met(reached: Reached, m: Generic) -> Obligation:
    """Checks that the mass of reaching a divisor is zero wherever the divisor is."""
    divisor, mass = reached.divisor, reached.mass
    known = (divisor, mass, tuple(sorted(reached.kept)), reached.after)
    cofactor = mass * divisor.inverse()
    if cofactor.denominator.gcd(divisor.numerator).is_constant():
        return Obligation(*known, cofactor)
    size = divisor if m.signs.nonnegative(divisor) else -divisor
    if m.signs.nonnegative(size) and m.signs.nonnegative(size - mass):
        return Obligation(*known, None)
    exhausted = any("without" in m.definitions.get(name, {}) for name in m.summed_vectors(divisor))
    raise Undecided(
        f"{'the draft may be exhausted: ' if exhausted else ''}the rule divides by {_short(divisor)}, which "
        f"may be zero while the probability of getting there, {_short(mass)}, is not{_legend(m)}"
    )


def _legend(m: Generic) -> str:
    parts = [f"{a.name}{'[y]' if a.vector else ''} = min({a.of}, 0)" for a in m.signs.atoms.values()]
    parts += [f"{name} = Σ {what}" for name, what in m.coordinates.sums.items()]
    return f" ({_short('; '.join(parts))})" if parts else ""


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 300 else f"{text[:300]}…"
