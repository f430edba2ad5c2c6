"""Statements of a rule's text as one program, each branch with a copy of all that follows it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from losslesscheck.proofs.translation.conditions import Conditions
from losslesscheck.proofs.translation.gallina import (
    IN_COQ,
    Term,
    Type,
    applied,
    identifiers,
    indented,
    let,
    natural,
    operated,
    scoped,
    variable,
)
from losslesscheck.proofs.translation.values import (
    NOTHING,
    Constant,
    Function,
    Names,
    Special,
    Value,
    assigned,
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
_CARRIED: Final = {"number", "vector", "token", "tokens", "nat", "bool", "coin"}


@dataclass(frozen=True)
class Flow:
    """Where a block goes on: at its end, and at the ``continue`` and ``break`` of the loop around it."""

    end: Callable[[Names], str]
    next: Callable[[Names], str] | None = None
    after: Callable[[Names], str] | None = None


class Statements(Conditions):
    """The statements of a rule."""

    def __init__(self, rule: Rule, text: ast.FunctionDef) -> None:
        super().__init__(rule.function, text, rule.name)  # type: ignore[arg-type]
        self.rule, self.text = rule, text
        self.fixed = {*_CONTINUATIONS[rule.form], *rule.settings, "_"}
        self.takes_tried = False

    # The function

    def definition(self, name: str) -> str:
        for word in self.used:
            if not word.isascii():
                self.refuse(self.text, f"`{word}` is a name that Coq may not read")
        names, head = self.arguments_of_rule()
        body = self.block(self.text.body, names, Flow(self.fallen_off))
        return f"Definition {name}_text{head}\n{indented(body)}."

    def fallen_off(self, names: Names) -> str:
        self.refuse(self.text, "the text may end without returning")

    def arguments_of_rule(self) -> tuple[dict[str, Value], str]:
        """The arguments' values, and the head of the definition, which binds them."""
        form, a, text = self.rule.form, self.text.args, self.text
        last, defaults = _CONTINUATIONS[form], self.rule.function.__defaults__
        places = [argument.arg for argument in (*a.posonlyargs, *a.args)]
        self.takes_tried = form == "step" and places[-1:] == ["tried"]
        if self.takes_tried:
            places.pop()
        if form == "whole" and len(places) == 3:
            self.refuse(text, "it is handed no token tree, and builds its own")
        if a.vararg or a.kwarg or "tried" in places or tuple(places[3:]) != last:
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
        first, rest = statements[0], statements[1:]
        self.count(first)

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

    def require_free(self, node: ast.AST, name: str, names: Names) -> None:
        if name in self.fixed or isinstance(names.get(name), Function):
            self.refuse(node, f"`{name}` is given another meaning")

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
        return let(word, term, go_on({**names, name: _renamed(term, word)}))

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
            new = {w: _renamed(term, variable(w)) for w, term in zip(words, terms, strict=True)}
            body = go_on({**names, **new})
            if any(variable(w) in identifiers(t.text) for i, w in enumerate(words) for t in terms[i + 1 :]):
                pattern = ", ".join(map(variable, words))
                return f"let '({pattern}) := ({', '.join(t.text for t in terms)}) in\n{body}"
            for word, term in reversed([*zip(words, terms, strict=True)]):
                body = let(variable(word), term, body)
            return body

        return self.values(values, names, bind)

    # Loops

    def loop(self, node: ast.For, names: Names, go_on: Callable[[Names], str]) -> str:
        """``each`` item; its state is the variables from before the loop that the body changes."""
        if node.orelse or not isinstance(node.target, ast.Name):
            self.refuse(node, "a loop with an else, or over several variables, is not translated")
        item = node.target.id
        if item != "_":
            self.require_free(node, item, names)
        if item in names:
            self.refuse(node, f"`{item}` has a value before the loop over it")
        changed = {*assigned(node.body)}
        words = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        loaded = {word.id for word in words if isinstance(word.ctx, ast.Load)}
        carried = [w for w, v in names.items() if w in changed or (kind_of(v) == "coin" and w in loaded)]
        terms = {}
        for word in carried:
            self.require_free(node, word, names)
            value = names[word]
            if not isinstance(value, Term) or value.type not in _CARRIED:
                self.refuse(node, f"`{word}` is a {kind_of(value)}, and the loop changes it")
            terms[word] = value
        inside = {**names, **{w: _renamed(replace(t, least=0), variable(w)) for w, t in terms.items()}}
        binder = _tuple([variable(w) for w in carried], "_", "'")
        left_early = False

        def state(at: Names) -> str:
            return _tuple([self.still(node, w, at[w], t).text for w, t in terms.items()], "tt")

        def next_item(at: Names) -> str:
            return f"next {state(at)}"

        def leave(at: Names) -> str:
            nonlocal left_early
            left_early = True
            return f"after {state(at)}"

        def program(items: str, of: Term) -> str:
            within = {**inside, item: of}
            body = self.block(node.body, within, Flow(next_item, next_item, leave))
            binds = of.text if item in loaded else "_"
            head = f"each {items} {state(names)} (fun {binds} {binder} next =>"
            loop = f"{head}\n{indented(body)})"
            rest = go_on(inside)
            if not left_early:
                return f"{loop}\n{scoped(f'(fun {binder} =>', rest)}"
            kinds = (
                " * ".join(
                    f"({IN_COQ[t.type]})" if t.type == "coin" else IN_COQ[t.type] for t in terms.values()
                )
                or "unit"
            )
            returns = f"program W ({_OUTCOMES[self.rule.form]})"
            return f"let after : {kinds} -> {returns} := fun {binder} =>\n{indented(rest)} in\n{loop}\nafter"

        return self.items(node, names, program)

    def still(self, node: ast.AST, word: str, value: Value, before: Term) -> Term:
        """The value of a variable at the end of a loop's body, which must have the type it had before."""
        if not isinstance(value, Term) or value.type != before.type:
            self.refuse(node, f"`{word}` is a {before.type} before the loop and a {kind_of(value)} in it")
        return value if value.level == 0 else replace(value, text=f"({value.text})", level=0)

    def items(self, node: ast.For, names: Names, then: Callable[[str, Term], str]) -> str:
        """The items of the loop, and one of them."""
        assert isinstance(node.target, ast.Name)
        word = variable(node.target.id)
        if not (isinstance(node.iter, ast.Call) and self.is_builtin(node.iter.func, "range", names)):
            return self.typed(node.iter, "tokens", names, lambda of: then(of.within(0), Term("token", word)))
        bounds = self.arguments(node.iter, min(2, max(1, len(node.iter.args))))
        match bounds:
            case [ast.Constant(value=a), ast.BinOp(left=b, op=ast.Add(), right=ast.Constant(value=c))] if (
                a == c
            ):
                bounds, shift = [bounds[0], b], True  # range(a, b + a)
            case _:
                shift = False

        def counted(values: list[Value]) -> str:
            first = self.as_type(bounds[0], values[0], "nat") if len(values) == 2 else natural(0)
            end = self.as_type(bounds[-1], values[-1], "nat")
            # Where b is below a, b - a is 0 for natural numbers, and range(a, b) is empty.
            return numbers(first, end if shift or len(values) == 1 else operated("nat", end, "-", first))

        def numbers(first: Term, count: Term) -> str:
            listed = applied("tokens", "iota", Term("nat", first.counted(0)), count)
            return then(f"({listed.text})", Term("nat", word, least=first.least))

        return self.values(bounds, names, counted)

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


def _renamed(term: Term, name: str) -> Term:
    """The variable that stands for the term."""
    return Term("coin" if term.type == "fresh coin" else term.type, name, least=term.least)


def _tuple(parts: Sequence[str], empty: str, before: str = "") -> str:
    if len(parts) < 2:
        return parts[0] if parts else empty
    return f"{before}({', '.join(parts)})"
