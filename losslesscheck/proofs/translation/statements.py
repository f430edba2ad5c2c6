"""Statements of a rule's text as one program, each branch with a copy of all that follows it."""

from __future__ import annotations
import __future__

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from losslesscheck.proofs.translation.gallina import (
    Term,
    Type,
    applied,
    identifiers,
    indented,
    let,
    renamed,
    variable,
)
from losslesscheck.proofs.translation.loops import Flow, Loops
from losslesscheck.proofs.translation.values import (
    NOTHING,
    Constant,
    Function,
    Names,
    Special,
    Value,
    kind_of,
    shown,
    special,
)
from losslesscheck.rule import Form, Rule

_OUTCOMES: Final[dict[Form, str]] = {"step": "outcome W", "node": "decision W", "whole": "context W"}
_CONTINUATIONS: Final[dict[Form, tuple[str, ...]]] = {
    "step": ("accept", "reject"),
    "node": ("accept", "end"),
    "whole": ("tree",),
}


class Statements(Loops):
    """The statements of a rule."""

    def __init__(self, rule: Rule, text: ast.FunctionDef) -> None:
        super().__init__(rule.function, text, rule.name)  # type: ignore[arg-type]
        self.rule, self.text = rule, text
        self.fixed = {*_CONTINUATIONS[rule.form], *rule.settings, "_"}
        self.returns = _OUTCOMES[rule.form]
        self.takes_tried = False

    # The function

    def definition(self, name: str) -> str:
        for word in sorted(self.used):
            if not word.isascii():
                self.refuse(self.text, f"`{word}` is a name that Coq may not read")
        for word in sorted(self.bound):
            # Of calls of an exception's name ``parsed`` leaves out what would be its message.
            other = self.function.__globals__.get(word)
            if isinstance(other, type) and issubclass(other, BaseException):
                self.refuse(self.text, f"`{word}` is also the name of an exception outside the rule")
        self.require_harmless_annotations()
        names, head = self.arguments_of_rule()
        body = self.block(self.text.body, names, Flow(self.fallen_off))
        return f"Definition {name}_text{head}\n{indented(body)}."

    def require_harmless_annotations(self) -> None:
        """Of the rule's own functions; Python evaluates them where it defines the function."""
        if self.function.__code__.co_flags & __future__.annotations.compiler_flag:
            return
        # ``parsed`` leaves them out.
        source = ast.parse(textwrap.dedent(inspect.getsource(self.function))).body[0]
        for own in ast.walk(source):
            if not isinstance(own, ast.FunctionDef) or own is source:
                continue
            arguments = [part for part in ast.walk(own.args) if isinstance(part, ast.arg)]
            for written in (own.returns, *(argument.annotation for argument in arguments)):
                known = isinstance(written, ast.Name) and self.outside(written.id) is not None
                if not (written is None or isinstance(written, ast.Constant) or known):
                    self.refuse(
                        written, f"`{shown(written)}` is an annotation that is evaluated and may fail"
                    )

    def fallen_off(self, names: Names) -> str:
        self.refuse(self.text, "the text may end without returning")

    def arguments_of_rule(self) -> tuple[dict[str, Value], str]:
        """The arguments' values, and the head of the definition, which binds them."""
        form, a, text = self.rule.form, self.text.args, self.text
        last, defaults = _CONTINUATIONS[form], self.rule.function.__defaults__
        places = [argument.arg for argument in a.args]
        self.takes_tried = form == "step" and places[-1:] == ["tried"]
        if self.takes_tried:
            places.pop()
        if form == "whole" and len(places) == 3:
            self.refuse(text, "it is handed no token tree, and builds its own")
        if a.posonlyargs or a.vararg or a.kwarg or "tried" in places or tuple(places[3:]) != last:
            self.refuse(text, f"the arguments are not (m, p, q, {', '.join(last)})")
        if (defaults or ()) != (((),) if self.takes_tried else ()):
            self.refuse(text, "an argument has a default value other than tried = ()")
        if {argument.arg for argument in a.kwonlyargs} != set(self.rule.settings) or "tried" in self.fixed:
            self.refuse(text, "the keyword-only arguments are not the rule's parameters")
        machine, first, second = places[:3]
        self.fixed.add(machine)
        names: dict[str, Value] = {machine: Special("machine"), **{word: Special(word) for word in last}}
        names |= {word: self.parameter(word, value) for word, value in self.rule.settings.items()}
        p, q = variable(first), variable(second)
        if form == "whole":
            names |= {first: Term("model", p), second: Term("model", q)}
            return names, f" ({p} {q} : model W) (length : nat) : program W (context W) :="
        names[first] = Term("vector", p)
        if form == "node":
            return {**names, second: Term("tokens", q)}, f" : node_rule W := fun {p} {q} =>"
        if self.takes_tried:
            names["tried"] = Term("tokens", "tried")
        draft: Type = "token" if self.rule.fixed_tokens else "vector"
        return {**names, second: Term(draft, q)}, f" : step W ({draft} W) := fun {p} tried {q} =>"

    def parameter(self, name: str, value: Fraction | int | str) -> Value:
        if not isinstance(value, Fraction):
            return Constant(value)
        if value not in (0, 1):
            self.refuse(self.text, f"{name} = {value}: of fractions only 0 and 1 are translated")
        return Term("number", str(value))

    # Statements

    def block(self, statements: Sequence[ast.stmt], names: Names, flow: Flow) -> str:
        """The program that the statements are, each branch with a copy of all that follows it."""
        if not statements:
            return flow.end(names)
        self.count(statements[0])
        return self.limited(statements[0], self.statement(statements[0], statements[1:], names, flow))

    def statement(self, first: ast.stmt, rest: Sequence[ast.stmt], names: Names, flow: Flow) -> str:
        """The same of the first one and the rest."""

        def go_on(names: Names) -> str:
            return self.block(rest, names, flow)

        match first:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                return go_on(names)
            case ast.FunctionDef(name=name):
                self.require_free(first, name, names)
                if name in names or not _is_plain(first):
                    self.refuse(first, f"`{name}` has a value already, or other than plain arguments")
                return go_on({**names, name: Function(first)})
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self.assign(first, name, value, names, go_on)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return self.assign(first, name, value, names, go_on)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                return self.assign_all(first, targets, values, names, go_on)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                if kind_of(names.get(name, NOTHING)) not in ("number", "vector", "nat"):
                    self.refuse_this(first)
                operation = ast.copy_location(ast.BinOp(ast.Name(name, ast.Load()), op, value), first)
                return self.assign(first, name, ast.fix_missing_locations(operation), names, go_on)
            case ast.If(test=test, body=yes, orelse=no):
                inner = replace(flow, end=go_on)
                return self.branch(
                    test, names, lambda: self.block(yes, names, inner), lambda: self.block(no, names, inner)
                )
            case ast.For():
                return self.loop(first, names, go_on)
            case ast.Continue() if flow.next is not None:
                return flow.next(names)
            case ast.Break() if flow.after is not None:
                return flow.after(names)
            case ast.Return(value=ast.expr() as value):
                return self.returned(value, names)
        self.refuse(first, f"`{shown(first)}` is a statement that is not translated")

    def assign(
        self, node: ast.stmt, name: str, value: ast.expr, names: Names, go_on: Callable[[Names], str]
    ) -> str:
        self.require_free(node, name, names)
        match value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=m), attr="draw")) if names.get(m) == Special(
                "machine"
            ):
                return self.draw(value, names, lambda token: go_on({**names, name: token}), variable(name))
        return self.value(value, names, lambda v: self.bound_to(node, name, v, names, go_on))

    def bound_to(
        self, node: ast.stmt, name: str, value: Value, names: Names, go_on: Callable[[Names], str]
    ) -> str:
        if value == NOTHING or (isinstance(value, Term) and value.text == "length"):
            return go_on({**names, name: value})
        term = self.storable(node, value)
        word = variable(name)
        return let(word, term, go_on({**names, name: renamed(term, word)}))

    def storable(self, node: ast.stmt, value: Value) -> Term:
        """The value as a term that a variable can stand for."""
        if isinstance(value, Term) and value.type != "coin":
            return value
        if isinstance(value, Constant) and isinstance(value.value, int):
            return self.as_type(node, value, "bool" if isinstance(value.value, bool) else "nat")
        self.refuse(node, f"`{shown(node)}` gives a {kind_of(value)} another name")

    def assign_all(
        self,
        node: ast.stmt,
        targets: Sequence[ast.expr],
        values: Sequence[ast.expr],
        names: Names,
        go_on: Callable[[Names], str],
    ) -> str:
        """Several at once: one after the other, if none is part of a later one's new value."""
        words = [target.id for target in targets if isinstance(target, ast.Name)]
        if not len(words) == len(targets) == len(values) == len(set(words)):
            self.refuse_this(node)
        for word in words:
            self.require_free(node, word, names)

        def bind(found: list[Value]) -> str:
            terms = [self.storable(node, value) for value in found]
            new = {w: renamed(term, variable(w)) for w, term in zip(words, terms, strict=True)}
            body = go_on({**names, **new})
            if any(variable(w) in identifiers(t.text) for i, w in enumerate(words) for t in terms[i + 1 :]):
                pattern = ", ".join(map(variable, words))
                return f"let '({pattern}) := ({', '.join(t.text for t in terms)}) in\n{body}"
            for word, term in reversed([*zip(words, terms, strict=True)]):
                body = let(variable(word), term, body)
            return body

        return self.values(values, names, bind)

    # Returning

    def returned(self, node: ast.expr, names: Names) -> str:
        if isinstance(node, ast.IfExp):
            return self.branch(
                node.test,
                names,
                lambda: self.returned(node.body, names),
                lambda: self.returned(node.orelse, names),
            )
        if self.rule.form == "whole":
            return self.typed(node, "tokens", names, lambda v: f"Return {v.within(0)}")
        if isinstance(node, ast.Call):
            match special(node.func, names):
                case "accept" | "end" as kind:
                    (of,) = self.arguments(node, 1)
                    head = "Stop" if kind == "end" else "Take" if self.rule.form == "node" else "Accept"
                    return self.typed(of, "token", names, lambda v: f"Return ({head} {v.within(0)})")
                case "reject":
                    return self.rejected(node, names)
        self.refuse(node, f"`return {shown(node)}` returns what is not translated")

    def rejected(self, node: ast.Call, names: Names) -> str:
        residual, *tried = self.arguments(node, 1, "tried")
        if tried and (len(node.args) > 1 or not self.takes_tried):
            self.refuse(node, f"`{shown(node)}` hands on tokens tried that the rule does not take")

        def written(values: list[Value]) -> str:
            r = self.as_type(residual, values[0], "vector")
            t = self.as_type(tried[0], values[1], "tokens") if tried else Term("tokens", "[::]")
            return f"Return ({applied('tokens', 'Reject', r, t).text})"

        return self.values([residual, *tried], names, written)


def _is_plain(definition: ast.FunctionDef) -> bool:
    """Whether defining the function does nothing, and it has as many arguments as it names."""
    a = definition.args
    annotations = [definition.returns, *(argument.annotation for argument in a.args)]
    others = (a.posonlyargs, a.kwonlyargs, a.vararg, a.kwarg, a.defaults, definition.decorator_list)
    return not any(others) and not any(annotations)
