"""Expressions of a rule's text as Gallina terms.

An expression is translated in continuation-passing style: what is random in it is drawn before what it
is part of, in the order in which Python evaluates it, and ``then`` gives the program that goes on with
its value.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, Final, NoReturn

from losslesscheck.proofs.translation.gallina import (
    APPLIED,
    LOOSE,
    SUM,
    Term,
    Type,
    applied,
    is_bare,
    of_known_type,
    operated,
    related,
)
from losslesscheck.proofs.translation.values import (
    FALSE,
    TRUE,
    Constant,
    Function,
    Names,
    Untranslatable,
    Value,
    bound_by,
    converted,
    in_words,
    is_integer,
    kind_of,
    shown,
    special,
)

MOST_STEPS = 3000
"""Statements and conditions, counted again in every branch that they are written out in."""

LONGEST = 100_000
"""Characters of a text, or of a part of it."""

_LARGEST_FOLDED: Final = 2**64

_FOLDED: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_EQUAL: Final[Mapping[type[ast.cmpop], str]] = {ast.Eq: "==", ast.NotEq: "!="}
_MEMBER: Final[Mapping[type[ast.cmpop], str]] = {ast.In: "\\in", ast.NotIn: "\\notin"}
ORDER: Final[Mapping[type[ast.cmpop], str]] = {ast.Lt: "<", ast.LtE: "<="}
_TURNED: Final[Mapping[type[ast.cmpop], str]] = {ast.Gt: "<", ast.GtE: "<="}
_OPERATORS: Final[Mapping[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
_RANDOM: Final = {"draw", "flip", "coin"}


class Expressions:
    """The expressions of one function.

    Args:
        function: whose text is translated.
        text: that text, as ``transparent.parsed`` gives it.
        title: what messages call it.
    """

    def __init__(self, function: FunctionType, text: ast.FunctionDef, title: str) -> None:
        self.function, self.title = function, title
        parts = list(ast.walk(text))
        self.bound = {part.arg for part in parts if isinstance(part, ast.arg)}
        self.bound |= {name for part in parts for name in bound_by(part)}
        self.loaded = {p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)}
        self.used = self.loaded | self.bound
        self.made: list[str] = []  # names in scope that are no variables of the rule
        self.steps = 0

    def refuse(self, node: ast.AST, what: str) -> NoReturn:
        line = getattr(node, "lineno", 1) + self.function.__code__.co_firstlineno - 1
        raise Untranslatable(f"{self.title}, line {line}: {what}")

    def refuse_this(self, node: ast.AST) -> NoReturn:
        self.refuse(node, f"`{shown(node)}` is outside what is translated")

    def count(self, node: ast.AST) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            self.refuse(node, "there are too many branches to write each one out")

    def limited(self, node: ast.AST, text: str) -> str:
        """The text, which must not be too long."""
        if len(text) > LONGEST:
            self.refuse(node, f"the text has more than {LONGEST} characters in Coq")
        return text

    def value(self, node: ast.expr, names: Names, then: Callable[[Value], str]) -> str:
        """The program that evaluates the expression and goes on with its value."""

        def go_on(value: Value) -> str:
            if isinstance(value, Term):
                self.limited(node, value.text)
            return then(value)

        return self.limited(node, self.expression(node, names, go_on))

    def expression(self, node: ast.expr, names: Names, then: Callable[[Value], str]) -> str:
        """The same, of whatever length."""
        match node:
            case ast.Constant(value=bool() | int() | str() | None as known):
                return then(Constant(known))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=known)) if type(known) is int:
                return then(Constant(-known))
            case ast.Name():
                return then(self.name(node, names))
            case ast.Attribute():
                return then(self.attribute(node, names))
            case ast.BinOp(left=a, right=b):
                return self.values([a, b], names, lambda v: then(self.operation(node, v[0], v[1])))
            case ast.Tuple(elts=items):
                return self.display(node, items, names, then)
            case ast.Subscript(value=of, slice=ast.Slice() as part):
                return self.part(node, of, part, names, then)
            case ast.Subscript(value=of, slice=at):
                return self.values([of, at], names, lambda v: then(self.entry(node, v[0], v[1])))
            case ast.IfExp():
                return self.choice(node, names, then)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self.truth(node, names, then)
            case ast.Call():
                return self.call(node, names, then)
        self.refuse_this(node)

    def values(self, nodes: Sequence[ast.expr], names: Names, then: Callable[[list[Value]], str]) -> str:
        """The same of several, one after the other."""
        if not nodes:
            return then([])
        return self.value(nodes[0], names, lambda v: self.values(nodes[1:], names, lambda vs: then([v, *vs])))

    def typed(self, node: ast.expr, kind: Type, names: Names, then: Callable[[Term], str]) -> str:
        """The same of one that must have the type."""
        return self.value(node, names, lambda v: then(self.as_type(node, v, kind)))

    def as_type(self, node: ast.AST, value: Value, kind: Type) -> Term:
        found = converted(value, kind)
        if found is None:
            needed = "number (of literal ones 0 or 1)" if kind == "number" else in_words(kind)
            self.refuse(node, f"`{shown(node)}` is a {in_words(kind_of(value))} where a {needed} is needed")
        return found

    def call(self, node: ast.Call, names: Names, then: Callable[[Value], str]) -> str:
        """The same of a call."""
        raise NotImplementedError

    def branch(self, node: ast.expr, names: Names, yes: Callable[[], str], no: Callable[[], str]) -> str:
        """The program that evaluates the condition and goes on as it says."""
        raise NotImplementedError

    def coin(self, node: ast.expr, names: Names) -> tuple[Term, ast.expr | None] | None:
        """The coin that the expression is, and the factor that it is multiplied by, if any."""
        raise NotImplementedError

    def name(self, node: ast.Name, names: Names) -> Value:
        if node.id in names:
            return names[node.id]
        if node.id in self.bound:
            self.refuse(node, f"`{node.id}` may have no value here, or one from a loop that is over")
        self.refuse(node, f"`{node.id}` is taken from outside the rule")

    def attribute(self, node: ast.Attribute, names: Names) -> Value:
        match special(node.value, names), node.attr:
            case "machine", "zero":
                return Term("number", "0")
            case "machine", "one":
                return Term("number", "1")
            case "tree", "depth":
                return Term("nat", "length")
        self.refuse_this(node)

    def operation(self, node: ast.BinOp, a: Value, b: Value) -> Value:
        op, kinds = type(node.op), (kind_of(a), kind_of(b))

        def both(kind: Type) -> tuple[Term, Term]:
            return self.as_type(node.left, a, kind), self.as_type(node.right, b, kind)

        if isinstance(a, Constant) and isinstance(b, Constant):
            known = _folded(a.value, op, b.value)
            if known is not None:
                return known
        elif op in (ast.Add, ast.Sub) and "vector" in kinds:
            return applied("vector", "plus" if op is ast.Add else "minus", *both("vector"))
        elif op is ast.Mult and kinds[1] == "vector":
            v, factor = self.as_type(node.right, b, "vector"), self.as_type(node.left, a, "number")
            return applied("vector", "times", v, factor)
        elif op in (ast.Mult, ast.Div) and kinds[0] == "vector":
            v, factor = self.as_type(node.left, a, "vector"), self.as_type(node.right, b, "number")
            return applied("vector", "times" if op is ast.Mult else "divided", v, factor)
        elif op in _OPERATORS and "number" in kinds:
            x, y = both("number")
            return operated("number", x, _OPERATORS[op], y)
        elif op in (ast.Add, ast.Mult) and "nat" in kinds:
            x, y = both("nat")
            least = x.least + y.least if op is ast.Add else x.least * y.least
            return replace(operated("nat", x, _OPERATORS[op], y), least=least)
        elif op is ast.Sub and "nat" in kinds:
            x, y = both("nat")
            if not isinstance(b, Constant) or x.least < y.least:
                self.refuse(node, f"`{shown(node)}` could be below zero, for all that its text tells")
            return replace(operated("nat", x, "-", y), least=x.least - y.least)
        elif op is ast.Add and "tokens" in kinds:
            x, y = both("tokens")
            return Term("tokens", f"{x.within(SUM)} ++ {y.within(SUM)}", LOOSE)
        self.refuse_this(node)

    def display(
        self, node: ast.AST, items: Sequence[ast.expr], names: Names, then: Callable[[Term], str]
    ) -> str:
        """Tokens one by one, or after all those of a tuple."""
        start = items[0].value if items and isinstance(items[0], ast.Starred) else None
        rest = items[1:] if start is not None else items
        if any(isinstance(item, ast.Starred) for item in rest):
            self.refuse_this(node)

        def joined(values: list[Value]) -> str:
            tokens = [self.as_type(i, v, "token") for i, v in zip(rest, values[-len(rest) :], strict=True)]
            if start is None:
                return then(Term("tokens", f"[:: {'; '.join(t.within(SUM) for t in tokens)}]"))
            whole = self.as_type(start, values[0], "tokens")
            for token in tokens:
                whole = applied("tokens", "rcons", whole, token)
            return then(whole)

        if not items:
            return then(Term("tokens", "[::]"))
        if not rest:
            assert start is not None
            return self.typed(start, "tokens", names, then)
        return self.values([*([] if start is None else [start]), *rest], names, joined)

    def entry(self, node: ast.Subscript, of: Value, at: Value) -> Term:
        if isinstance(of, Term) and of.type == "vector":
            return applied("number", of.within(APPLIED), self.as_type(node.slice, at, "token"))
        tokens = self.as_type(node.value, of, "tokens")
        return applied("token", "nth x0", tokens, self.as_type(node.slice, at, "nat"))

    def part(
        self, node: ast.AST, of: ast.expr, part: ast.Slice, names: Names, then: Callable[[Term], str]
    ) -> str:
        """The first tokens of a tuple, or all but these."""
        if part.step is not None or (part.lower is None) == (part.upper is None):
            self.refuse_this(node)
        head, bound = ("take", part.upper) if part.lower is None else ("drop", part.lower)
        assert bound is not None

        def taken(values: list[Value]) -> str:
            tokens = self.as_type(of, values[0], "tokens")
            return then(applied("tokens", head, self.as_type(bound, values[1], "nat"), tokens))

        return self.values([of, bound], names, taken)

    def choice(self, node: ast.IfExp, names: Names, then: Callable[[Value], str]) -> str:
        """``a if condition else b``: one term where nothing is random in it.

        Only a condition that is known, so that nothing is evaluated for it, is left out.
        """
        reached: dict[ast.expr, Value | None] = {}
        evaluated = ""

        def reach(chosen: ast.expr) -> str:
            reached[chosen] = self.alone(chosen, names)
            return ""

        if not self.is_random(node.test, names):
            evaluated = self.branch(node.test, names, lambda: reach(node.body), lambda: reach(node.orelse))
        values = [value for value in reached.values() if value is not None]
        if not values or len(values) < len(reached):
            return self.branch(
                node.test,
                names,
                lambda: self.value(node.body, names, then),
                lambda: self.value(node.orelse, names, then),
            )
        if not evaluated:
            return then(values[0])
        kind = next(
            (v.type for v in values if isinstance(v, Term)), "nat" if is_integer(values[0]) else "bool"
        )
        terms = [self.as_type(chosen, value, kind) for chosen, value in zip(reached, values, strict=True)]
        if all(map(is_bare, terms)):
            terms = [of_known_type(term) for term in terms]
        texts = {chosen: term.text for chosen, term in zip(reached, terms, strict=True)}
        text = self.branch(node.test, names, lambda: texts[node.body], lambda: texts[node.orelse])
        least = min(term.least for term in terms)
        return then(Term(kind, text.replace("\n", " "), LOOSE, least=least))

    def alone(self, node: ast.expr, names: Names) -> Value | None:
        """The value of an expression that is a single term; ``None`` if it draws or branches."""
        found: list[Value] = []

        def note(value: Value) -> str:
            found.append(value)
            return ""

        program = self.value(node, names, note)
        return found[0] if not program and len(found) == 1 else None

    def is_random(self, node: ast.AST, names: Names) -> bool:
        """Whether a condition may draw, flip or narrow a coin."""
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and part.attr in _RANDOM:
                return True
            if isinstance(part, ast.Name):
                value = names.get(part.id)
                if isinstance(value, Function) or (isinstance(value, Term) and value.type == "coin"):
                    return True
        return False

    def truth(self, node: ast.expr, names: Names, then: Callable[[Value], str]) -> str:
        """The value of a condition: a term where it is a single comparison."""
        match node:
            case ast.Compare(left=a, ops=[op], comparators=[b]) if self.coin(a, names) is None:
                return self.values([a, b], names, lambda v: then(self.compared(node, v[0], op, v[1])))
        return self.branch(node, names, lambda: then(TRUE), lambda: then(FALSE))

    def compared(self, node: ast.AST, a: Value, op: ast.cmpop, b: Value) -> Value:
        kind, kinds = type(op), (kind_of(a), kind_of(b))

        def both(first: Type, second: Type) -> tuple[Term, Term]:
            x, y = converted(a, first), converted(b, second)
            if x is None or y is None:
                self.refuse(
                    node, f"`{shown(node)}` compares a {in_words(kinds[0])} with a {in_words(kinds[1])}"
                )
            return x, y

        if isinstance(a, Constant) and isinstance(b, Constant):
            types = {type(a.value), type(b.value)}
            if kind in _FOLDED and (types == {int} or (types == {str} and kind in _EQUAL)):
                return Constant(_FOLDED[kind](a.value, b.value))
        elif kind in _EQUAL:
            same: Type = "nat" if "nat" in kinds else "token"
            x, y = both(same, same)
            return related(x, _EQUAL[kind], y)
        elif kind in _MEMBER:
            x, y = both("token", "tokens")
            return related(x, _MEMBER[kind], y)
        elif kind in ORDER or kind in _TURNED:
            same = "nat" if "nat" in kinds else "number"
            x, y = both(same, same)
            return related(x, ORDER[kind], y) if kind in ORDER else related(y, _TURNED[kind], x)
        self.refuse_this(node)


def _folded(a: Any, op: type[ast.operator], b: Any) -> Constant | None:
    """An operation on two integers that are known, and not large."""
    if not (type(a) is int and type(b) is int and max(abs(a), abs(b)) <= _LARGEST_FOLDED):
        return None
    if op is ast.Add:
        return Constant(a + b)
    if op is ast.Sub:
        return Constant(a - b)
    return Constant(a * b) if op is ast.Mult else None
