"""Rechecks certificates of the all-distributions reading, sharing no code with the prover.

Format. A certificate has a *unit* for the tree as a whole or, for a step or node rule, one for every
distinct subtree, with everything below the root's children cut off. A unit has

- ``distributions``: [model, context, entries], the entries of p or q after a context in symbols;
- ``atoms``: [name, d], the name standing for min(d, 0); ``indicators``: [name, d], one where d ≤ 0;
- ``states``: decision diagrams; a node has ``choose`` and ``options`` [value, weight, node], or it
  emits (``emit``), accepts a draft token (``enter``), goes on in a ``state`` or is ``undefined``;
- ``rows``: [context, cases]: how the differences of the criterion vanish there;
- ``obligations``: divisors, and what holds where they are divided by.

What is checked
1. The weights of every choice sum to one, and the differences are zero: identically, or for the
   substitutions of every case; modulo 2¹²⁷ − 1 at three random points, through the diagram.
2. The cases that are left out have no point (by z3), and the others are fat or settled point by point.
3. The diagram is the rule's: at rational targets and drafts, zeros and p = q among them, the rule is
   replayed along every path of positive probability.
4. The obligations, at random points.
5. That the certificate is about this function: a hash of its source.
"""

from __future__ import annotations

import hashlib
import inspect
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

from losslesscheck.checker.cases import Branch, Cases
from losslesscheck.checker.expression import ExpressionError, evaluate, names
from losslesscheck.checker.replay import Machine, Mismatch, Row, follow, program

PRIME: Final = 2**127 - 1
POINTS: Final = 3
BOUNDARIES: Final = (
    "inside",
    "inside",
    "p = q",
    "p one-hot",
    "q one-hot",
    "zeros in p",
    "zeros in q",
    "zeros",
)


class Rejected(Exception):
    """The certificate does not hold up; the message says where."""


def check(certificate: dict[str, Any], function: Callable[..., Any]) -> list[str]:
    """The problems of a certificate, one line each; empty if it is accepted.

    Args:
        certificate: ``Proof.certificate`` of an all-distributions proof.
        function: the rule's function.
    """
    try:
        _check_head(certificate, function)
        for number, unit in enumerate(certificate["units"]):
            try:
                _Unit(certificate, unit, number).check(function)
            except (Rejected, Mismatch) as problem:
                return [f"unit {number}: {problem}"]
    except Rejected as problem:
        return [str(problem)]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ExpressionError) as error:
        return [f"malformed: {type(error).__name__}: {error}"]
    return []


def _check_head(certificate: dict[str, Any], function: Callable[..., Any]) -> None:
    path = inspect.getsourcefile(function)
    content = Path(path).read_bytes() if path else inspect.getsource(function).encode()
    if hashlib.sha256(content + b"\0" + function.__qualname__.encode()).hexdigest() != certificate["hash"]:
        raise Rejected("hash: the certificate is about another text")
    drafts = "every draft without a zero" if certificate["positive_draft"] else "every draft"
    claim = "greedy decoding of every target" if certificate["greedy"] else "every target"
    statement = f"V = {certificate['vocabulary']}, tree {_text(certificate['tree'])}: {claim} and {drafts}"
    if certificate["statement"] != statement:
        raise Rejected(f"statement: it should be {statement!r}")
    trees = [unit["tree"] for unit in certificate["units"]]
    if certificate["form"] == "whole":
        wanted = [certificate["tree"]]
    else:
        wanted = [[None, node[1]] for node in _nodes(certificate["tree"])]
    for tree in wanted:
        if tree not in trees:
            raise Rejected(f"units: none is about the tree {tree}")


def _text(tree: list[Any]) -> str:
    """A token tree in a statement: the widths of its levels, or brackets where they differ."""
    widths, level = [], [tree]
    while level:
        found = {len(children) for _, children in level}
        if len(found) > 1 or any(token is not None for token, _ in level):
            return _brackets(tree)
        widths.append(found.pop())
        level = [child for _, children in level for child in children]
    return ",".join(map(str, widths[:-1])) or "0"


def _brackets(tree: list[Any]) -> str:
    token, children = tree
    label = "" if token is None else str(token)
    return f"{label}[{' '.join(map(_brackets, children))}]" if children else label or "·"


def _nodes(tree: list[Any]) -> Iterator[list[Any]]:
    yield tree
    for child in tree[1]:
        yield from _nodes(child)


class _Unit:
    def __init__(self, certificate: dict[str, Any], unit: dict[str, Any], number: int) -> None:
        self.certificate, self.unit = certificate, unit
        self.vocabulary: int = certificate["vocabulary"]
        self.random = random.Random(f"{certificate['hash']} {number}")
        self.rows = {(model, tuple(context)): row for model, context, row in unit["distributions"]}
        self.symbols = self._symbols()
        self.atoms: dict[str, str] = dict(unit["atoms"])
        self.indicators: dict[str, str] = dict(unit["indicators"])
        self.states: list[dict[str, Any]] = unit["states"]
        self.demanded = {tuple(context): state for context, state in unit["demanded"]}
        known = set(self.symbols)
        for name, definition in self.atoms.items():
            if name in known or not names(definition) <= known:
                raise Rejected(f"atom {name} is not defined by earlier symbols")
            known.add(name)
        for name, definition in self.indicators.items():
            if name in known or not names(definition) <= known - set(self.indicators):
                raise Rejected(f"indicator {name} is not defined by symbols and atoms")

    def _symbols(self) -> list[str]:
        """The symbols; every distribution must have its own, all but the last entry."""
        found: list[str] = []
        for (model, context), row in self.rows.items():
            if model not in ("p", "q") or len(row) != self.vocabulary:
                raise Rejected(f"distribution {model} {context} is malformed")
            own = row[:-1]
            values = {name: self.random.randrange(PRIME) for name in own}
            if any(names(name) != {name} for name in own) or set(own) & set(found) or len(values) < len(own):
                raise Rejected(f"distribution {model} {context} has not its own symbols")
            if (sum(values.values()) + evaluate(row[-1], values, PRIME) - 1) % PRIME:
                raise Rejected(f"distribution {model} {context} does not sum to one")
            found += own
        return found

    def check(self, function: Callable[..., Any]) -> None:
        for _ in range(POINTS):
            values = self.free()
            for state in self.states:
                self._check_weights(state, values)
        outcomes = {outcome for outcome, _, _ in self.ends(self.unit["root"], None)}
        contexts = {outcome[:length] for outcome in outcomes for length in range(len(outcome))}
        rows = {tuple(context): case for context, case in self.unit["rows"]}
        cases = Cases(self.rows, self.atoms, self.indicators, self.certificate["positive_draft"], self.random)
        for context in sorted(contexts, key=lambda w: (len(w), w)):
            if context not in rows:
                raise Rejected(f"there is no row of context {context}")
            problem = cases.check(rows[context], partial(self.differences, context))
            if problem:
                raise Rejected(f"context {context}: {problem}")
        for where in BOUNDARIES:
            self._check_diagram(function, where)

    # 1: the identities

    def free(self, branch: Branch | None = None) -> dict[str, Any]:
        """Random values of all symbols, atoms and indicators, with a branch's substitutions."""
        values: dict[str, Any] = {name: self.random.randrange(PRIME) for name in self.symbols}
        for name, definition in self.atoms.items():
            given = branch.atoms.get(name) if branch else None
            if given is None:
                values[name] = self.random.randrange(PRIME)
            else:
                values[name] = evaluate(definition, values, PRIME) if given < 0 else 0
        for name in self.indicators:
            given = branch.indicators.get(name) if branch else None
            values[name] = self.random.randrange(PRIME) if given is None else given
        return values

    def _check_weights(self, node: dict[str, Any], values: dict[str, Any]) -> None:
        if "choose" not in node:
            return
        if sum(evaluate(weight, values, PRIME) for _, weight, _ in node["options"]) % PRIME != 1:
            raise Rejected(f"the weights of a {node['choose']} do not sum to one")
        if node["choose"] == "compare":
            for _, weight, _ in node["options"]:
                if not names(weight) <= set(self.indicators):
                    raise Rejected("a comparison's weight is no indicator")
        for _, _, below in node["options"]:
            self._check_weights(below, values)

    def law(self, number: int, values: dict[str, Any]) -> dict[tuple[int, ...], int]:
        """Outcome → weight modulo the prime; every state once."""
        known: dict[int, dict[tuple[int, ...], int]] = {}

        def state(number: int) -> dict[tuple[int, ...], int]:
            if number not in known:
                known[number] = node(self.states[number])
            return known[number]

        def node(here: dict[str, Any]) -> dict[tuple[int, ...], int]:
            if "state" in here:
                return state(here["state"])
            if "choose" not in here:
                return {} if "undefined" in here else {_outcome(here): 1}
            total: dict[tuple[int, ...], int] = {}
            for _, weight, below in here["options"]:
                factor = evaluate(weight, values, PRIME)
                for outcome, mass in node(below).items():
                    total[outcome] = int((total.get(outcome, 0) + factor * mass) % PRIME)
            return total

        return state(number)

    def ends(
        self, number: int, values: dict[str, Any] | None, decided: dict[str, int] | None = None
    ) -> Iterator[tuple[tuple[int, ...], int, dict[str, int]]]:
        """Every path's outcome, weight and answers; an indicator that has been asked for keeps its value.

        Without ``values`` only the outcomes count, and every state is entered once.
        """
        entered = {number}
        waiting = [(self.states[number], 1, decided or {})]
        while waiting:
            here, mass, answers = waiting.pop()
            if "state" in here:
                if values is not None or here["state"] not in entered:
                    entered.add(here["state"])
                    waiting.append((self.states[here["state"]], mass, answers))
            elif "choose" not in here:
                if "undefined" not in here:
                    yield _outcome(here), mass, answers
            else:
                for _, weight, below in here["options"]:
                    if values is None:
                        waiting.append((below, mass, answers))
                        continue
                    more = answers
                    if here["choose"] == "compare":
                        (name,) = names(weight)
                        bit = int(evaluate(weight, {name: 1}))
                        if answers.get(name, bit) != bit:
                            continue
                        if name in answers:
                            waiting.append((below, mass, answers))
                            continue
                        more = {**answers, name: bit}
                    factor = int(evaluate(weight, values, PRIME))
                    waiting.append((below, mass * factor % PRIME, more))

    def differences(self, context: tuple[int, ...], branch: Branch) -> list[int]:
        """The criterion's differences at a context, at a random point of a branch."""
        values = self.free(branch)
        length = len(context)
        masses = [0] * self.vocabulary
        demanded = [0] * self.vocabulary
        if self.certificate["greedy"]:
            for outcome, mass, answers in self.ends(self.unit["root"], values):
                if outcome[:length] == context and len(outcome) > length:
                    masses[outcome[length]] += mass
                    for (token,), part, _ in self.ends(self.demanded[context], values, answers):
                        demanded[token] += mass * part
        else:
            for outcome, mass in self.law(self.unit["root"], values).items():
                if outcome[:length] == context and len(outcome) > length:
                    masses[outcome[length]] += mass
            target = [evaluate(entry, values, PRIME) for entry in self.rows["p", context]]
            demanded = [sum(masses) * int(entry) for entry in target]
        return [(a - b) % PRIME for a, b in zip(masses, demanded, strict=True)]

    # 3 and 4: the rule itself

    def _check_diagram(self, function: Callable[..., Any], where: str) -> None:
        values, rows = self._point(where)
        known: dict[str, Fraction] = {}

        def value(text: str) -> Fraction:
            if text not in known:
                known[text] = Fraction(evaluate(text, values))
            return known[text]

        machine = Machine(self.vocabulary)

        def model(name: str) -> Callable[[tuple[int, ...]], Row]:
            def at(context: tuple[int, ...]) -> Row:
                if (name, tuple(context)) not in rows:
                    raise Mismatch(f"the rule asks for {name} after {context}, the certificate does not")
                return rows[name, tuple(context)]

            return at

        p, q = model("p"), model("q")
        start = program(machine, self.certificate, self.unit["tree"], function, p, q)
        try:
            follow(machine, start, self.states, self.unit["root"], value)
            for context, state in self.demanded.items():
                target = p(context)
                follow(machine, lambda t=target: (machine.argmax(t),), self.states, state, value)  # type: ignore[misc]
        except Mismatch as problem:
            raise Rejected(f"at a point with {where}: {problem}") from None
        except ZeroDivisionError:
            raise Rejected(f"at a point with {where}: a weight is undefined on a live path") from None
        for owed in self.unit["obligations"]:
            if all(_holds(value(text), relation) for text, relation in owed["given"]) and not (
                names(owed["divisor"]) and value(owed["divisor"])
            ):
                raise Rejected(f"at a point with {where}: {owed['what']} is zero on a live path")

    def _point(self, where: str) -> tuple[dict[str, Any], dict[tuple[str, tuple[int, ...]], Row]]:
        """A rational point: the values of all names, and the distributions."""
        rows: dict[tuple[str, tuple[int, ...]], Row] = {}
        for key in self.rows:
            model, context = key
            other = ("q" if model == "p" else "p", context)
            zeros = where == "zeros" or where == f"zeros in {model}"
            support = range(self.vocabulary)
            if where == f"{model} one-hot":
                support = [self.random.choice(support)]  # type: ignore[assignment]
            elif zeros:
                support = self.random.sample(support, self.random.randint(1, self.vocabulary))  # type: ignore[assignment]
            if model == "q" and self.certificate["positive_draft"]:
                support = range(self.vocabulary)
            weights = [self.random.randint(1, 60) if t in support else 0 for t in range(self.vocabulary)]
            rows[key] = Row(Fraction(w, sum(weights)) for w in weights)
            if where == "p = q" and other in rows:
                rows[key] = rows[other]
        values: dict[str, Any] = {
            name: rows[key][token] for key, row in self.rows.items() for token, name in enumerate(row[:-1])
        }
        for name, definition in self.atoms.items():
            values[name] = min(Fraction(evaluate(definition, values)), Fraction(0))
        for name, definition in self.indicators.items():
            values[name] = int(evaluate(definition, values) <= 0)
        return values, rows


def _outcome(node: dict[str, Any]) -> tuple[int, ...]:
    return tuple(node["emit"] if "emit" in node else node["enter"])


def _holds(value: Fraction, relation: str) -> bool:
    return {">": value > 0, ">=": value >= 0, "<": value < 0, "<=": value <= 0, "==": value == 0}[relation]
