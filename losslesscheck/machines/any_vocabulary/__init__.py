"""The any-vocabulary reading: the law of the next token, for every finite vocabulary at once.

``scenes`` says how a rule is called and what stands for the continuations of a step. What is checked: the
law equals the target's as a rational function, with minima and sums as free symbols (``algebra.signs``
says why that suffices); every vector that is drawn from or handed on is a distribution and every
probability lies in [0, 1], by known signs; every divisor is zero only where the probability of getting
to it is zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from losslesscheck.algebra.field import FieldFull, Rational
from losslesscheck.errors import Undecided
from losslesscheck.machines.any_vocabulary.certificate import Obligation, Settled, certificate, facts
from losslesscheck.machines.any_vocabulary.coordinates import PLACE
from losslesscheck.machines.any_vocabulary.decisions import (
    Entries,
    Node,
    Reached,
    law,
    nodes,
    obligations,
    second_law,
)
from losslesscheck.machines.any_vocabulary.generic import Case, Generic
from losslesscheck.machines.any_vocabulary.scenes import Scene, scenes_of
from losslesscheck.machines.any_vocabulary.values import Token
from losslesscheck.proof import Proof
from losslesscheck.rule import Rule
from losslesscheck.transparent import require_transparent

CAPACITIES = (24, 48, 96, 192)
"""How many symbols a proof may use; more are tried when fewer do not suffice."""

MOST_ARGMAXES = 3


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
        require_transparent(rule)
        settled = [done for scene in scenes_of(rule, siblings) for done in _settle(rule, scene)]
    except Undecided as undecided:
        return Proof(False, statement, every_tree, str(undecided))
    supposed = dict.fromkeys(s for done in settled for s in done.machine.suppositions)
    if supposed:
        statement += f"; supposing that {' and '.join(supposed)}"
    found = facts(settled) | {"suppositions": list(supposed)}
    return Proof(True, statement, every_tree, "", found, certificate(rule, settled))


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


def _settle(rule: Rule, scene: Scene, supposed: Supposed | None = None) -> Iterator[Settled]:
    """Proves a scene, in every case of which fixed token an argmax is."""
    supposed = supposed or Supposed(scene.fixed)
    for capacity in CAPACITIES:
        m = Generic(capacity, supposed.fixed, supposed.largest, supposed.either)
        try:
            yield _settled(rule, scene, m)
        except FieldFull:
            continue
        except Case as case:
            for longer in supposed.cases(case.of):
                yield from _settle(rule, scene, longer)
        except _Unmet as unmet:
            if unmet.divisor not in m.alternatives:
                raise Undecided(f"{scene.where}{unmet}") from None
            yield from _settle(rule, scene, replace(supposed, either=supposed.either | {unmet.divisor}))
        except Undecided as undecided:
            if not m.alternatives:
                raise Undecided(f"{scene.where}{undecided}") from None
            try:
                either = supposed.either.union(m.alternatives)
                yield from _settle(rule, scene, replace(supposed, either=either))
            except Undecided:
                raise Undecided(f"{scene.where}{undecided}") from None
        return
    raise Undecided(f"{scene.where}the proof needs more than {CAPACITIES[-1]} symbols")


@dataclass(frozen=True)
class Supposed:
    """The case of a scene; see ``Generic`` for the attributes."""

    fixed: tuple[str, ...]
    largest: dict[str, str] = field(default_factory=dict)
    either: frozenset[str] = frozenset()

    def cases(self, vector: str) -> Iterator[Supposed]:
        """Every case of where ``vector`` is largest: at a fixed token, or at a new one."""
        if len(self.largest) == MOST_ARGMAXES:
            raise Undecided("the rule asks for the argmax of too many distributions")
        new = f"a{len(self.largest)}"
        for token in (*self.fixed, new):
            fixed = tuple(dict.fromkeys((*self.fixed, token)))
            yield replace(self, fixed=fixed, largest={**self.largest, vector: token})


class _Unmet(Undecided):
    """An obligation is not met."""

    def __init__(self, message: str, divisor: str) -> None:
        super().__init__(message)
        self.divisor = divisor


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
    known = (divisor, mass, tuple(sorted(reached.kept)), reached.after, reached.before)
    cofactor = mass * divisor.inverse()
    if _finite(cofactor, reached.before):
        return Obligation(*known, cofactor)
    size = divisor if m.signs.nonnegative(divisor) else -divisor
    if m.signs.nonnegative(size) and m.signs.nonnegative(size - mass):
        return Obligation(*known, None)
    without = any("without" in m.definitions.get(name, {}) for name in m.summed_vectors(divisor))
    exhausted = "the draft may be exhausted: " if without else ""
    raise _Unmet(
        f"{exhausted}the rule divides by {_short(divisor)}, which may be zero while the probability of "
        f"getting there, {_short(mass)}, is not{_legend(m)}",
        str(divisor),
    )


def _finite(cofactor: Rational, before: Sequence[Rational]) -> bool:
    """Whether a cofactor has a value wherever its divisor is reached.

    It is not enough that divisor and denominator have no factor in common: where both are zero the mass
    may be anything. So whatever is in the denominator must have been divided by on the way already.
    """
    _, factors = cofactor.denominator.factor()
    return all(any(not d.numerator.gcd(f).is_constant() for d in before) for f, _ in factors)


def _legend(m: Generic) -> str:
    parts = [f"{a.name}{'[y]' if a.vector else ''} = min({a.of}, 0)" for a in m.signs.atoms.values()]
    parts += [f"{name} = Σ {what}" for name, what in m.coordinates.sums.items()]
    return f" ({_short('; '.join(parts))})" if parts else ""


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 300 else f"{text[:300]}…"
