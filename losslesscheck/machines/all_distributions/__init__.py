"""The all-distributions reading: a rule proved lossless for every target and draft over V tokens.

The law of the whole rule on the whole token tree is computed as rational functions of p and q (see
``domain`` and ``symbolic``), and the criterion of ``law`` is shown to hold identically, or case by case
(``cases``). No theorem about the rule is used. Two facts about the criterion are:

*It is linear.* A sub-walk whose law meets it adds nothing to a difference at or below its context.

*Contexts can be shifted.* A step or node rule sees a context only through p and q at that context. The
walk below a node is therefore the walk over the node's subtree with p and q shifted by the context, and it
is enough to look once at every distinct subtree, with everything below the root's children cut off.

Why a formula decides at every point, also where q has zeros or p = q
    Fix a true point x, that is p and q with ν = min(d, 0), and the indicators' values β at x. The formula
    F with these β is the law of the decision tree at every point y of the relaxed domain's interior at
    which no denominator is zero: there all weights are in [0, 1] and sum to one, since that has been
    shown from facts that hold on the relaxed domain (or from answers of comparisons that stay true near
    x). Let y → x. A path that is alive at x meets no zero divisor at x; that is what the obligations say.
    So its weights converge to the true ones. A path that is dead at x has a weight that goes to zero,
    and the weights below it are at most one. Hence F(y) → the true law at x, along every such sequence.
    (i) If the difference is zero as a rational function, it is zero at x.
    (ii) If it is N/D in lowest terms, N vanishes for the ν of a case and D does not, take y in that case,
    with those ν; then points of the interior near y. Such y exist if x is a limit of points of the case:
    for atoms every point is a limit of some strict case, for indicators the case has to be fat.
    (iii) If D(x) ≠ 0 and N(x) = 0, the difference at x is zero. This serves the cases that are not fat.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

from losslesscheck.algebra.field import FieldFull, Rational
from losslesscheck.errors import RuleError, Undecided
from losslesscheck.law import UNDEFINED, rows
from losslesscheck.machines.all_distributions.cases import Case, CaseFails, Cases
from losslesscheck.machines.all_distributions.diagram import certificate
from losslesscheck.machines.all_distributions.domain import Domain, SymbolVector
from losslesscheck.machines.all_distributions.obligations import NotShown
from losslesscheck.machines.all_distributions.symbolic import Symbolic
from losslesscheck.machines.exact import exact_law
from losslesscheck.model import Model
from losslesscheck.proof import Proof
from losslesscheck.rule import Rule
from losslesscheck.transparent import require_transparent
from losslesscheck.tree import Tree

CAPACITY = 12
"""Generators of the first field that is tried; polynomials get slower with every one."""


def prove(
    rule: Rule, tree: Tree, vocabulary: int, assume_positive_draft: bool = False, certify: bool = False
) -> Proof:
    """Proves that a rule is lossless on ``tree`` for every target and draft over ``vocabulary`` tokens.

    For a greedy rule: that it emits what the target's greedy decoding does.

    Args:
        rule: with its parameters bound.
        tree: as ``rule.fit`` returns it.
        vocabulary: the number of tokens V, at least one.
        assume_positive_draft: only for drafts without a zero; the statement then says so.
        certify: also write the certificate.

    Returns:
        The proof. Where it fails because something undefined may be reached, ``facts["undefined_at"]``
        holds a target and a draft (the same after every context) at which the exact machine reaches it,
        if a simple one was found.

    Raises:
        RuleError: if the rule raises, or does what no rule may do.
    """
    drafts = "every draft without a zero" if assume_positive_draft else "every draft"
    claim = "greedy decoding of every target" if rule.greedy else "every target"
    statement = f"V = {vocabulary}, tree {tree}: {claim} and {drafts}"
    facts: dict[str, Any] = {"paths": 0, "atoms": 0, "cases": 0, "obligations": 0, "symbols": 0}
    units: list[Unit] = []
    try:
        require_transparent(rule)
        for part in parts(rule, tree):
            unit = evaluated(rule, part, vocabulary, assume_positive_draft)
            unit.show()
            units.append(unit)
            for name, count in unit.counts().items():
                facts[name] += count
    except (NotShown, CaseFails, Undecided) as failure:
        reason = str(failure)
        if isinstance(failure, NotShown):
            found = undefined_at(rule, tree, vocabulary, assume_positive_draft)
            if found is not None:
                facts["undefined_at"] = found
        return Proof(False, statement, reason=reason, facts=facts)
    if not certify:
        return Proof(True, statement, facts=facts)
    written = certificate(rule, tree, vocabulary, assume_positive_draft, statement, units)
    if isinstance(written, str):
        return Proof(True, statement, facts={**facts, "certificate": written})
    return Proof(True, statement, facts=facts, certificate=written)


def parts(rule: Rule, tree: Tree) -> list[Tree]:
    """The trees on which the rule has to be looked at: every distinct subtree, or the tree as a whole."""
    if rule.form == "whole":
        return [tree]
    return [Tree(children) for children in dict.fromkeys(node.children for _, node in tree.nodes())]


class Unit:
    """A rule on one tree, with everything below the root's children cut off unless the rule is whole.

    Attributes:
        law: emitted tuple, or context below which the walk goes on, → weight.
        rows: (context, differences that must vanish).
        root: the number of the state in which the rule begins.
        demanded: of a greedy rule, context → the state that decides which token is demanded there.
        cases: the case tree of each row.
    """

    def __init__(self, rule: Rule, tree: Tree, domain: Domain) -> None:
        self.rule, self.tree, self.domain = rule, tree, domain
        self.machine = Symbolic(domain, stop_below=rule.form != "whole", greedy=rule.greedy)
        self.law = self.machine.law(lambda: rule.run(self.machine, self._p, self._q, tree))
        self.root = len(self.machine.states) - 1
        self.demanded: dict[tuple[int, ...], int] = {}
        found = rows(self.law, domain.vocabulary, self._demanded)
        self.rows = [(row.context, row.differences) for row in found]
        self.cases: list[Case] = []
        self._leaves = 0

    def _p(self, context: tuple[int, ...]) -> SymbolVector:
        return self.domain.distribution("p", context)

    def _q(self, context: tuple[int, ...]) -> SymbolVector:
        return self.domain.distribution("q", context)

    def _demanded(self, context: tuple[int, ...]) -> SymbolVector:
        """What the next token's law has to be."""
        target = self._p(context)
        if not self.rule.greedy:
            return target
        m = self.machine
        greedy: dict[Any, Rational] = m.law(lambda: (m.argmax(target),))
        self.demanded[context] = len(m.states) - 1
        return SymbolVector([greedy.get((token,), m.zero) for token in range(self.domain.vocabulary)])

    def show(self) -> None:
        """Shows that every difference vanishes.

        Raises:
            CaseFails: for one that is not shown to.
        """
        cases = Cases(self.domain, self.machine.ledger.relied)
        for context, differences in self.rows:
            try:
                self.cases.append(cases.show(differences))
            except CaseFails as failure:
                raise CaseFails(f"at context {context}, tree {self.tree}: {failure}") from None
        self._leaves = cases.count

    def counts(self) -> dict[str, int]:
        """The facts that a report gives."""
        return {
            "paths": self.machine.paths,
            "atoms": len(self.domain.atoms),
            "cases": self._leaves,
            "obligations": len(self.machine.ledger.discharged),
            "symbols": len(self.domain.field.names) - len(self.domain.atoms) - len(self.domain.indicators),
        }


def evaluated(rule: Rule, tree: Tree, vocabulary: int, positive_draft: bool) -> Unit:
    """The unit, in a field with no more room than it needs.

    Raises:
        NotShown: if the rule owes something that does not follow.
    """
    capacity = CAPACITY
    while True:
        try:
            return Unit(rule, tree, Domain(vocabulary, capacity, positive_draft))
        except FieldFull:
            capacity *= 2


def undefined_at(rule: Rule, tree: Tree, vocabulary: int, positive: bool = False) -> dict[str, Any] | None:
    """A simple target and draft, the same after every context, at which the rule reaches 0/0.

    Returns:
        ``target`` and ``draft`` as fractions, and the ``probability`` of it; ``None`` if none is found.
    """
    for q in _simple(vocabulary):
        if positive and 0 in q:
            continue
        for p in _simple(vocabulary):
            try:
                law = exact_law(rule, Model.constant(p), Model.constant(q), tree)
            except RuleError:
                continue
            if UNDEFINED in law:
                mass = law[UNDEFINED]
                probability = Fraction(int(mass.p), int(mass.q))
                return {"target": p, "draft": q, "probability": probability}
    return None


def _simple(vocabulary: int) -> Iterator[list[Fraction]]:
    """The uniform distributions on one token, on two and on all."""
    for size in dict.fromkeys((1, 2, vocabulary)):
        for support in combinations(range(vocabulary), size):
            yield [Fraction(int(token in support), size) for token in range(vocabulary)]
