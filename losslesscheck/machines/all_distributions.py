"""All distributions: proves a rule lossless for every real target and draft over V tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from losslesscheck.algebra.field import FieldFull
from losslesscheck.errors import RuleError, Undecided
from losslesscheck.law import UNDEFINED, rows
from losslesscheck.machines.cases import CaseFails, Cases
from losslesscheck.machines.domain import Domain, SymbolVector
from losslesscheck.machines.exact import exact_law
from losslesscheck.machines.symbolic import NotShown, Symbolic
from losslesscheck.model import Model
from losslesscheck.proof import Proof
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

CAPACITY = 12
"""Generators of the first field that is tried; polynomials get slower with every one."""


class Unit:
    """A rule on one tree with everything below the root's children cut off, or a whole rule."""

    def __init__(self, rule: Rule, tree: Tree, vocabulary: int, positive_draft: bool) -> None:
        self.rule, self.tree = rule, tree
        capacity = CAPACITY
        while True:
            try:
                self.domain = Domain(vocabulary, capacity, positive_draft)
                self._evaluate()
                return
            except FieldFull:
                capacity *= 2

    def _evaluate(self) -> None:
        rule, domain = self.rule, self.domain
        m = Symbolic(domain, stop_below=rule.form != "whole", greedy=rule.greedy)
        self.machine = m

        def p(context: tuple[int, ...]) -> SymbolVector:
            return domain.distribution("p", context)

        def q(context: tuple[int, ...]) -> SymbolVector:
            return domain.distribution("q", context)

        self.law = m.law(lambda: rule.run(m, p, q, self.tree))
        self.rows = [
            (row.context, row.differences) for row in rows(self.law, domain.vocabulary, self._demanded)
        ]

    def _demanded(self, context: tuple[int, ...]) -> SymbolVector:
        domain = self.domain
        target = domain.distribution("p", context)
        if not self.rule.greedy:
            return target
        greedy = Symbolic(domain).law(lambda: (greedy_machine.argmax(target),))
        return greedy

    def show(self) -> None: ...
