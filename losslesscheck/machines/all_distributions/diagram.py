"""The certificate of an all-distributions proof: the rule's decision diagram and why its law is right.

``losslesscheck.checker.all_distributions`` documents the format and shares no code with this module.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from losslesscheck.algebra.field import Rational
from losslesscheck.law import UNDEFINED
from losslesscheck.machines.all_distributions.cases import Case
from losslesscheck.machines.all_distributions.symbolic import Entered, Node
from losslesscheck.rule import Rule, Value
from losslesscheck.tree import Tree

if TYPE_CHECKING:
    from losslesscheck.machines.all_distributions import Unit

MOST_BYTES = 5_000_000
"""The largest certificate that is written."""


def certificate(
    rule: Rule, tree: Tree, vocabulary: int, positive_draft: bool, statement: str, units: Sequence[Unit]
) -> dict[str, Any] | str:
    """The certificate, or why there is none."""
    if not rule.greedy and any(unit.domain.repeated for unit in units):
        return "a comparison is made in several states: the checker has no format for that"
    content = {
        "kind": "all-distributions",
        "statement": statement,
        "rule": rule.name,
        "hash": rule.hash,
        "form": rule.form,
        "fixed_tokens": rule.fixed_tokens,
        "greedy": rule.greedy,
        "takes_tree": rule.takes_tree,
        "parameters": {name: _parameter(value) for name, value in rule.settings.items()},
        "vocabulary": vocabulary,
        "positive_draft": positive_draft,
        "tree": _tree(tree),
        "units": [_unit(unit) for unit in units],
    }
    size = len(json.dumps(content))
    if size > MOST_BYTES:
        return f"the certificate would have {size} bytes, more than {MOST_BYTES}"
    return content


def _parameter(value: Value) -> Any:
    return {"number": str(value)} if isinstance(value, Fraction) else value


def _tree(tree: Tree) -> list[Any]:
    return [tree.token, [_tree(child) for child in tree.children]]


def _unit(unit: Unit) -> dict[str, Any]:
    domain = unit.domain
    text = domain.field.one.text
    return {
        "tree": _tree(unit.tree),
        "distributions": [
            [model, list(context), [str(value) for value in vector]]
            for (model, context), vector in domain.distributions.items()
        ],
        "atoms": [[atom.name, text(atom.definition)] for atom in domain.atoms],
        "indicators": [[i.name, text(-i.core if i.flipped else i.core)] for i in domain.indicators],
        "states": [_node(state.node) for state in unit.machine.states],
        "root": unit.root,
        "demanded": [[list(context), number] for context, number in unit.demanded.items()],
        "rows": [
            [list(context), _case(unit, case)]
            for (context, _), case in zip(unit.rows, unit.cases, strict=True)
        ]
        + [[list(context), {}] for context in sorted(unit.machine.met)],
        "obligations": [
            {
                "what": owed.what,
                "divisor": text(owed.divisor),
                "given": [[text(g.condition.polynomial), g.condition.relation] for g in owed.given],
                "because": how,
            }
            for owed, how in unit.machine.ledger.discharged
        ],
    }


def _node(node: Node) -> dict[str, Any]:
    if node.kind != "end":
        return {
            "choose": node.kind,
            "options": [[value, str(weight), _node(below)] for value, weight, below in node.options],
        }
    if isinstance(node.outcome, int):
        return {"state": node.outcome}
    if node.outcome == UNDEFINED:
        return {"undefined": True}
    if isinstance(node.outcome, Entered):
        return {
            "enter": list(node.outcome.context),
            "children": [_tree(child) for child in node.outcome.children],
        }
    return {"emit": list(node.outcome)}


def _case(unit: Unit, case: Case) -> dict[str, Any]:
    text = unit.domain.field.one.text
    if case.definition is None:
        return {} if not case.points else {"points": [_fraction(unit, value) for value in case.points]}
    return {
        "split": text(case.definition),
        "fixed": case.fixed,
        "branches": [[sign, _case(unit, below)] for sign, below in case.branches],
    }


def _fraction(unit: Unit, value: Rational) -> list[str]:
    return [value.text(value.numerator), value.text(value.denominator)]
