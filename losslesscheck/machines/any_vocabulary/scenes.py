"""How the any-vocabulary reading calls a rule.

A step rule is called once, with arbitrary distributions p (the running residual) and q (the draft), and its
two continuations are replaced by what the theorem's induction gives: ``accept(x)`` emits x, ``reject(r)``
goes on to emit a token with law r. If the next token then has law p, so it has in every tree: this is the
hypothesis ``step_ok`` of the theorem ``tree_lossless`` (proofs/tree.v), for every draft. If the rule wants to
know the tokens tried before, it is called without any and with a stand-in for any; they may grow by one
token at a rejection (the theorem's ``grow``), so that with fewer siblings than tokens one is always left
(its ``admitted``).

A node rule is called with up to so many fixed siblings, equal ones among them unless its claim needs distinct
ones. Of a rule that is written whole only trees of one level are read, and the laws of the first
token and of the second one after it; of a rule that builds its own tree only the law of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from losslesscheck.errors import RuleError, Undecided
from losslesscheck.machines.any_vocabulary.blind import require_blind
from losslesscheck.machines.any_vocabulary.explorer import Ending
from losslesscheck.machines.any_vocabulary.generic import Generic
from losslesscheck.machines.any_vocabulary.values import History, Token, Tried, Vector
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

MOST_PATTERNS = 300
"""In how many ways siblings may be equal."""


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


def scenes_of(rule: Rule, siblings: int) -> Iterator[Scene]:
    """Every way in which the proof calls the rule.

    Raises:
        Undecided: if the rule cannot be read so.
    """
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
        state = {"tried": History(history) if history else ()} if rule.takes_tried else {}
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
        if sum(isinstance(t, Token) for t in value) > 1:
            raise Undecided("the rule hands on more than one token more as tried")
