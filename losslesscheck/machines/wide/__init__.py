"""The exact law of one node of the token tree, a level of siblings, at a vocabulary of real size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from flint import fmpq

from losslesscheck.algebra.integer_row import IntegerRow
from losslesscheck.errors import InputError, RuleError, Undecided
from losslesscheck.machines.wide.machine import Ending, Wide
from losslesscheck.machines.wide.vectors import WideVector
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

__all__ = ["IntegerRow", "NodeLaw", "node_law"]


@dataclass(frozen=True, eq=False)
class NodeLaw:
    """What a rule does at one node of the token tree, exactly.

    Attributes:
        accepted: probability that a draft token is accepted and is t, for every t.
        emitted: probability that the next token is t.
        target: what ``emitted`` has to be: the target's row, or for a rule that claims greedy
            decoding the target's most likely token.
        undefined: probability of reaching 0/0 or a draw from an empty support; ``emitted`` sums to
            one minus this.
    """

    accepted: IntegerRow
    emitted: IntegerRow
    target: IntegerRow
    undefined: Fraction

    @property
    def acceptance(self) -> Fraction:
        """Probability that some sibling is accepted; for one draft of ``chain``, Σ min(p, q)."""
        return self.accepted.total

    @cached_property
    def differs_at(self) -> list[int]:
        """The tokens whose probability is not the target's."""
        differences, _ = self.emitted.differences(self.target)
        return [int(t) for t in np.flatnonzero(differences != 0)]

    @property
    def holds(self) -> bool:
        """Whether the next token follows the target's law, to the last digit."""
        return self.undefined == 0 and not self.differs_at

    @cached_property
    def tv(self) -> Fraction:
        """Total variation to the target's law, the undefined outcome counting as a token of its own."""
        differences, denominator = self.emitted.differences(self.target)
        return (Fraction(int(np.abs(differences).sum()), denominator) + self.undefined) / 2


def node_law(
    rule: Rule,
    target: IntegerRow | Sequence[Fraction],
    draft: IntegerRow | Sequence[Fraction] | None,
    siblings: int | Sequence[int],
) -> NodeLaw:
    """The exact law of the next token at one node, from the rule's own text.

    Args:
        rule: a step or node rule, with its parameters bound.
        target: the target's next-token distribution, length V.
        draft: the draft's, for a rule that draws siblings from it.
        siblings: how many are drawn, or the fixed tokens in the order in which they are tried.

    Raises:
        InputError: if lengths, tokens or siblings do not fit.
        RuleError: if the rule does what no rule may do.
        Undecided: for a rule that decides on a whole path, or where a residual depends on the tokens
            drawn before.

    >>> from losslesscheck.rules.chain import chain
    >>> half = Fraction(1, 2)
    >>> law = node_law(chain, [half, half], [Fraction(1), Fraction(0)], 1)
    >>> law.acceptance, law.emitted[1], law.holds
    (Fraction(1, 2), Fraction(1, 2), True)
    """
    if rule.form == "whole":
        raise Undecided(f"{rule.name} decides on a whole path at once: it has no law of one node")
    p = _row(target, "target")
    tokens = _siblings(rule, siblings, len(p))
    m = Wide(len(p))
    law = _Sum(m)
    if rule.form == "node":
        _visit(m, rule, m.vector(p), tokens, law)
    elif rule.fixed_tokens:
        _attempts(m, rule, m.vector(p), tokens, law)
    else:
        drafts = [_draft(m, rule, draft)] * len(tokens) if tokens else []
        _attempts(m, rule, m.vector(p), drafts, law)
    if rule.greedy:
        p = m.point(m.argmax(m.vector(p))).row()
    undefined = Fraction(int(law.undefined.p), int(law.undefined.q))
    return NodeLaw(law.accepted.row(), law.emitted.row(), p, undefined)


class _Sum:
    """The law, as path after path is added to it."""

    def __init__(self, m: Wide) -> None:
        self.accepted: WideVector = m.vector_of_zeros()
        self.emitted: WideVector = self.accepted
        self.undefined: fmpq = m.zero

    def accept(self, masses: WideVector) -> None:
        self.accepted = self.accepted + masses
        self.emit(masses)

    def emit(self, masses: WideVector) -> None:
        self.emitted = self.emitted + masses


def _attempts(m: Wide, rule: Rule, p: WideVector, drafts: Sequence[Any], law: _Sum) -> None:
    """The siblings of a step rule, one after the other; what is rejected meets the next one."""

    def accept(token: Any) -> Ending:
        return Ending("accept", token)

    def reject(residual: WideVector, **state: Any) -> Ending:
        if not isinstance(residual, WideVector):
            raise RuleError(f"the rule rejects with {residual!r}, which is no vector")
        return Ending("reject", residual, tuple(state.items()))

    waiting: list[tuple[WideVector, tuple[tuple[str, Any], ...], fmpq]] = [(p, (), m.one)]
    for draft in drafts:
        rejected: list[tuple[WideVector, tuple[tuple[str, Any], ...], fmpq]] = []
        for residual, state, mass in waiting:
            step = partial(rule.apply, m, residual, draft, accept, reject, **dict(state))
            for ending in m.paths(step):
                if ending.how == "accept":
                    law.accept(m.law(ending.value).times(mass))
                elif ending.how == "undefined":
                    law.undefined = law.undefined + m.total() * mass
                else:
                    _add(rejected, ending, m.total() * mass)
        waiting = rejected
    for residual, _, mass in waiting:
        residual.check()
        law.emit(residual.times(mass))


def _add(
    rejected: list[tuple[WideVector, tuple[tuple[str, Any], ...], fmpq]], ending: Ending, mass: fmpq
) -> None:
    """Adds the mass to the same residual and state if they were met before."""
    for place, (residual, state, before) in enumerate(rejected):
        if residual is ending.value and _same(state, ending.state):
            rejected[place] = (residual, state, before + mass)
            return
    rejected.append((ending.value, ending.state, mass))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return a is b or (type(a) is type(b) and isinstance(a, (int, str)) and a == b)


def _visit(m: Wide, rule: Rule, p: WideVector, siblings: list[int], law: _Sum) -> None:
    """All siblings of a node rule at once."""

    def accept(token: Any) -> Ending:
        return Ending("accept", token)

    def end(token: Any) -> Ending:
        return Ending("end", token)

    for ending in m.paths(partial(rule.apply, m, p, siblings, accept, end)):
        if ending.how == "undefined":
            law.undefined = law.undefined + m.total()
            continue
        masses = m.law(ending.value)
        if ending.how == "end":
            law.emit(masses)
            continue
        if masses.without(*siblings).total != 0:
            raise RuleError(f"the rule accepts a token that is none of the siblings {siblings}")
        law.accept(masses)


def _row(row: IntegerRow | Sequence[Fraction], name: str) -> IntegerRow:
    if not isinstance(row, IntegerRow):
        return IntegerRow.from_fractions(row, name)
    if row.total != 1:
        raise InputError(f"{name} sums to {row.total}, not to 1")
    return row


def _draft(m: Wide, rule: Rule, draft: IntegerRow | Sequence[Fraction] | None) -> WideVector:
    if draft is None:
        raise InputError(f"draft: {rule.name} draws its tokens from the draft, but there is none")
    row = _row(draft, "draft")
    if len(row) != m.vocabulary:
        raise InputError(f"draft: {len(row)} tokens, but the target has {m.vocabulary}")
    return m.vector(row)


def _siblings(rule: Rule, siblings: int | Sequence[int], vocabulary: int) -> list[int]:
    """The fixed tokens; for a rule that draws them, one entry for each sibling."""
    fixed = rule.fixed_tokens
    if isinstance(siblings, int):
        if fixed:
            raise InputError(f"siblings: {rule.name} needs the tokens, not their number")
        if siblings < 0:
            raise InputError(f"siblings: {siblings} is negative")
        return [0] * siblings
    if not fixed:
        raise InputError(f"siblings: {rule.name} draws its tokens; give their number")
    tree = rule.fit(Tree.siblings([int(token) for token in siblings]), vocabulary)
    return [child.token for child in tree.children if child.token is not None]
