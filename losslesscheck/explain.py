"""What `losslesscheck rules` says: the list of the rules, and one rule explained."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from losslesscheck import rules
from losslesscheck.rule import Parameter, Rule, Value

WIDTH = 80

_FORMS = {
    "step": "decides on one draft token at a time",
    "node": "decides on all siblings of a node at a time",
    "whole": "decides on everything that was drafted at once",
}


def list_dict() -> dict[str, Any]:
    """The rules and the broken patterns, ready for JSON."""
    return {
        "rules": [
            {"name": r.name, "form": r.form, "greedy": r.greedy, "claim": r.claim, "paper": r.paper}
            for r in map(rules.get, rules.names())
        ],
        "broken": [
            {"name": r.name, "form": r.form, "broken": r.broken} for r in map(rules.get, rules.broken())
        ],
    }


def list_text(width: int = WIDTH) -> str:
    """The rules as a table, name, form and claim; below it the broken patterns."""
    good, bad = map(rules.get, rules.names()), map(rules.get, rules.broken())
    lines = ["Rules", *_table([(r.name, r.form, r.claim) for r in good], width), ""]
    lines += ["Broken patterns, which `losslesscheck verify` refutes"]
    lines += _table([(r.name, r.form, r.broken) for r in bad], width)
    lines += ["", *(f"{form}: {what}" for form, what in _FORMS.items()), ""]
    lines += ["losslesscheck rules NAME explains one."]
    return "\n".join(lines)


def explain_dict(rule: Rule) -> dict[str, Any]:
    """Everything that ``explain_text`` says, ready for JSON; fractions are strings.

    Keys: ``name``, ``form``, ``paper``, ``claim``, ``claims_lossless``, ``broken``, ``conditions``,
    ``greedy``, ``tree``, ``parameters``, ``algorithm``, ``text``, ``identity`` (``text`` and
    ``latex``, or null, and a ``note``), ``evidence`` (tier → what it can be expected to show).
    """
    from losslesscheck.machines.formula import identity
    from losslesscheck.machines.formula.notation import latex, pretty

    found = identity(rule)
    return {
        "name": rule.name,
        "form": rule.form,
        "paper": rule.paper,
        "claim": rule.claim,
        "claims_lossless": rule.claims_lossless,
        "broken": rule.broken,
        "conditions": list(rule.conditions),
        "greedy": rule.greedy,
        "tree": str(rule.tree) if rule.takes_tree else "",
        "parameters": {
            name: {
                "value": _plain(rule.settings[name]),
                "default": _plain(parameter.default),
                "description": parameter.description,
                "allowed": _allowed(parameter),
            }
            for name, parameter in rule.parameters.items()
        },
        "algorithm": " ".join(inspect.cleandoc(rule.function.__doc__ or "").split()),
        "text": algorithm(rule),
        "identity": {
            "text": None if found.equation is None else pretty(found.equation, WIDTH - 4),
            "latex": None if found.equation is None else latex(found.equation),
            "note": found.note,
        },
        "evidence": evidence(rule),
    }


def explain_text(rule: Rule, width: int = WIDTH, latex: bool = False) -> str:
    """The rule explained in plain text: algorithm, claim, conditions, parameters, step identity and
    which evidence to expect.

    Args:
        width: the most columns a line may have (formulas and long words may need more).
        latex: show the step identity in LaTeX.
    """
    facts = explain_dict(rule)
    lines = [f"{rule.name}: {_FORMS[rule.form]}", *_wrapped(rule.paper, width), ""]
    if rule.broken:
        lines += ["What is wrong", *_wrapped(rule.broken, width, "  "), ""]
    if facts["algorithm"]:
        lines += ["Algorithm", *_wrapped(facts["algorithm"], width, "  "), ""]
    for line in facts["text"].splitlines():
        lines += _folded(f"  {line}", width)
    lines.append("")
    if rule.claim and not rule.broken:
        lines += ["Claim", *_wrapped(rule.claim, width, "  ")]
        if not rule.claims_lossless:
            lines += _wrapped("Not claimed with these parameters: see the conditions.", width, "  ")
        lines.append("")
    if rule.conditions and not rule.broken:
        lines.append("Conditions")
        for condition in rule.conditions:
            lines += _wrapped(condition, width, "  - ", "    ")
        lines.append("")
    if rule.parameters:
        lines.append("Parameters")
        for name, fact in facts["parameters"].items():
            allowed = f"  ({fact['allowed']})" if fact["allowed"] else ""
            lines.append(f"  {name} = {fact['value']}{allowed}")
            lines += _wrapped(fact["description"], width, "    ")
        lines.append("")
    lines += _identity_text(rule, facts["identity"], width, latex)
    lines.append("Evidence to expect")
    lines += _table([(tier, what) for tier, what in facts["evidence"].items()], width)
    return "\n".join(line.rstrip() for line in lines)


def algorithm(rule: Rule) -> str:
    """The rule's source as an algorithm: without decorator, types and docstring (a lambda as it is)."""
    source = textwrap.dedent(rule.text)
    if rule.function.__name__ == "<lambda>" or not source:
        return source.rstrip()
    function = next(n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef))
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    if arguments.kwonlyargs:
        names += ["*", *(a.arg for a in arguments.kwonlyargs)]
    start = function.body[0].lineno - 1
    if ast.get_docstring(function) is not None:
        start = function.body[0].end_lineno or start
    body = source.splitlines()[start : function.end_lineno]
    return "\n".join([f"def {function.name}({', '.join(names)}):", *body])


def evidence(rule: Rule) -> dict[str, str]:
    """What each reading can be expected to show, from the rule's form alone."""
    shape = "draft length" if rule.single_path else "tree"
    size = f"on the tree {rule.tree}" if rule.takes_tree else "on the tree that it builds"
    every = "every target" if rule.form == "node" or rule.fixed_tokens else "every target and draft"
    if rule.broken or not rule.claims_lossless:
        nothing = "nothing: what does not hold cannot be proved"
        return {
            "theorem": nothing,
            "any-vocabulary": nothing,
            "all-distributions": nothing,
            "exact": "a small counterexample, in fractions",
            "monte-carlo": "a bias, if it is large enough to be seen in the samples",
        }
    any_vocabulary = {
        "step": f"the step identity, for every vocabulary and every {shape}",
        "node": "the identity of a node, for every vocabulary, with a few siblings",
        "whole": "one level of drafts, for every vocabulary; nothing about deeper trees",
    }[rule.form]
    return {
        "theorem": _theorem(rule),
        "any-vocabulary": any_vocabulary,
        "all-distributions": f"{every}, for a small vocabulary, {size}",
        "exact": "the exact law for rational distributions, small ones and random ones",
        "monte-carlo": "the law of many runs, with the smallest bias that would have shown",
    }


def _theorem(rule: Rule) -> str:
    from losslesscheck.proof import THEOREM_OF
    from losslesscheck.proofs.theorems import SCOPES, of_text
    from losslesscheck.proofs.translate import matching

    general, own = THEOREM_OF.get(rule.form), matching(rule)
    if own is not None:
        return f"{of_text(own)}: {SCOPES[own]}"
    if general is None:
        return "nothing: no theorem speaks of this text"
    few = " with a few siblings at a node" if rule.form == "node" else ""
    return f"{general}: any vocabulary and any tree{few}, if its hypothesis is established"


def _identity_text(rule: Rule, found: dict[str, Any], width: int, latex: bool) -> list[str]:
    if found["text"] is None:
        return ["Step identity", *_wrapped(f"None: {found['note']}.", width, "  "), ""]
    title = "Step identity"
    if rule.broken or not rule.claims_lossless:
        title += ", which would have to hold for every p"
        title += " and q" if rule.form == "step" and not rule.fixed_tokens else ""
    if latex:
        shown = _wrapped(found["latex"], width, "    ")
    else:
        shown = [f"    {line}" for line in found["text"].splitlines()]
    lines = [title, *shown]
    if found["note"]:
        lines += _wrapped(f"({found['note']})", width, "  ")
    return [*lines, ""]


def _table(rows: Iterable[tuple[str, ...]], width: int) -> list[str]:
    """Rows in columns two spaces apart, the last one wrapped."""
    rows = list(rows)
    sizes = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        head = "  " + "".join(f"{cell:{size}}  " for cell, size in zip(row, sizes, strict=False))
        lines += _wrapped(row[-1], width, head, " " * len(head))
    return lines


def _wrapped(text: str, width: int, first: str = "", later: str | None = None) -> list[str]:
    """The text in lines; short formulas in parentheses stay in one piece."""
    lines = textwrap.wrap(
        re.sub(r"\([^()]{1,14}\)", lambda found: found[0].replace(" ", "\xa0"), text),
        width,
        initial_indent=first,
        subsequent_indent=first if later is None else later,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\xa0", " ") for line in lines]


def _folded(line: str, width: int) -> list[str]:
    """A line of code, continued below with more indentation if it is too long."""
    if len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return _wrapped(line.strip(), width, indent, indent + " " * 8)


def _allowed(parameter: Parameter) -> str:
    if parameter.choices:
        return " or ".join(parameter.choices)
    low, high = parameter.minimum, parameter.maximum
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"at least {low}" if low is not None else f"at most {high}" if high is not None else ""


def _plain(value: Value) -> int | str:
    return str(value) if isinstance(value, Fraction) else value
