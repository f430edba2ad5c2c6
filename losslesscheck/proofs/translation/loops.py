"""Loops of a rule's text: ``each`` of loop.v, with the variables that the body changes as its state."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from losslesscheck.proofs.translation.conditions import Conditions
from losslesscheck.proofs.translation.gallina import (
    IN_COQ,
    Term,
    applied,
    indented,
    natural,
    of_known_type,
    operated,
    renamed,
    scoped,
    variable,
)
from losslesscheck.proofs.translation.values import Function, Names, Value, assigned, kind_of

_CARRIED: Final = {"number", "vector", "token", "tokens", "nat", "bool", "coin"}


@dataclass(frozen=True)
class Flow:
    """Where a block goes on: at its end, and at the ``continue`` and ``break`` of the loop around it."""

    end: Callable[[Names], str]
    next: Callable[[Names], str] | None = None
    after: Callable[[Names], str] | None = None


class Loops(Conditions):
    """The loops of one function, which returns programs of a type that ``returns`` says in Coq."""

    returns: str
    fixed: set[str]

    def block(self, statements: Sequence[ast.stmt], names: Names, flow: Flow) -> str:
        """The program that the statements are."""
        raise NotImplementedError

    def require_free(self, node: ast.AST, name: str, names: Names) -> None:
        if name in self.fixed or isinstance(names.get(name), Function):
            self.refuse(node, f"`{name}` is given another meaning")

    def loop(self, node: ast.For, names: Names, go_on: Callable[[Names], str]) -> str:
        """``each`` item; its state is the variables from before the loop that the body changes."""
        if node.orelse or not isinstance(node.target, ast.Name):
            self.refuse(node, "a loop with an else, or over several variables, is not translated")
        item = node.target.id
        if item != "_":
            self.require_free(node, item, names)
        if item in names:
            self.refuse(node, f"`{item}` has a value before the loop over it")
        mentioned = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        coins = {word for word in mentioned & {*names} if kind_of(names[word]) == "coin"}
        changed = coins.union(assigned(node.body))
        carried = [word for word in names if word in changed]
        terms = {}
        for word in carried:
            self.require_free(node, word, names)
            value = names[word]
            if not isinstance(value, Term) or value.type not in _CARRIED:
                self.refuse(node, f"`{word}` is a {kind_of(value)}, and the loop changes it")
            terms[word] = value
        inside = {**names, **{w: renamed(replace(t, least=0), variable(w)) for w, t in terms.items()}}
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
            within = inside if item == "_" else {**inside, item: of}
            body = self.block(node.body, within, Flow(next_item, next_item, leave))
            binds = of.text if item in self.loaded else "_"
            head = f"each {items} {state(names)} (fun {binds} {binder} next =>"
            loop = f"{head}\n{indented(body)})"
            rest = go_on(inside)
            if not left_early:
                return f"{loop}\n{scoped(f'(fun {binder} =>', rest)}"
            kinds = [f"({IN_COQ[t.type]})" if t.type == "coin" else IN_COQ[t.type] for t in terms.values()]
            state_type = " * ".join(kinds) or "unit"
            after = f"let after : {state_type} -> program W ({self.returns}) := fun {binder} =>"
            return f"{after}\n{indented(rest)} in\n{loop}\nafter"

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
            return self.typed(
                node.iter,
                "tokens",
                names,
                lambda of: then(of_known_type(of).within(0), Term("token", word)),
            )
        bounds = self.arguments(node.iter, min(2, max(1, len(node.iter.args))))
        match bounds:
            case [ast.Constant(value=a), ast.BinOp(left=b, op=ast.Add(), right=ast.Constant(value=c))] if (
                type(a) is type(c) is int and a == c
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


def _tuple(parts: Sequence[str], empty: str, before: str = "") -> str:
    if len(parts) < 2:
        return parts[0] if parts else empty
    return f"{before}({', '.join(parts)})"
