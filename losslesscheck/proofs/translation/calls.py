"""Calls in a rule's text: the machine's primitives, models, and Python's ``len``."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Callable
from typing import Any

from losslesscheck.proofs.translation.expressions import Expressions
from losslesscheck.proofs.translation.gallina import APPLIED, Term, applied, of_known_type, scoped
from losslesscheck.proofs.translation.values import (
    FALSE,
    NOTHING,
    TRUE,
    Function,
    Names,
    Special,
    Value,
    is_integer,
    kind_of,
    shown,
    special,
)


class Calls(Expressions):
    """The calls of one function."""

    def call(self, node: ast.Call, names: Names, then: Callable[[Value], str]) -> str:
        if isinstance(node.func, ast.Attribute) and special(node.func.value, names) == "machine":
            return self.primitive(node, node.func.attr, names, then)
        if not isinstance(node.func, ast.Name):
            self.refuse_this(node)
        called = names.get(node.func.id)
        if isinstance(called, Function) or self.is_builtin(node.func, "bool", names):
            return self.truth_of_call(node, names, then)
        if self.is_builtin(node.func, "len", names):
            (of,) = self.arguments(node, 1)
            return self.typed(of, "tokens", names, lambda v: then(applied("nat", "size", of_known_type(v))))
        if isinstance(called, Term) and called.type == "model":
            (context,) = self.arguments(node, 1)
            return self.typed(
                context, "tokens", names, lambda c: then(applied("vector", called.within(APPLIED), c))
            )
        if isinstance(called, Special):
            self.refuse(node, f"`{shown(node)}` is not returned at once")
        self.refuse(node, f"`{shown(node.func)}` is called, which is outside what is translated")

    def truth_of_call(self, node: ast.Call, names: Names, then: Callable[[Value], str]) -> str:
        return self.branch(node, names, lambda: then(TRUE), lambda: then(FALSE))

    def is_builtin(self, node: ast.expr, name: str, names: Names) -> bool:
        """Whether the expression is Python's own function of that name."""
        return (
            isinstance(node, ast.Name)
            and node.id == name
            and name not in names
            and self.outside(name) is getattr(builtins, name)
        )

    def outside(self, name: str) -> Any:
        """The global or built-in value that the name means all over the text; ``None`` if it has none."""
        if name in self.bound or name in self.function.__code__.co_freevars:
            return None
        known = {**self.function.__builtins__, **self.function.__globals__}
        return known.get(name)

    def arguments(self, node: ast.Call, count: int, optional: str = "") -> list[ast.expr]:
        """The ``count`` positional arguments, and the optional one, if it is there, by place or name."""
        keywords = [keyword.value for keyword in node.keywords if keyword.arg == optional]
        found = [*node.args, *keywords]
        if (
            any(isinstance(argument, ast.Starred) for argument in node.args)
            or len(keywords) != len(node.keywords)
            or not count <= len(found) <= count + bool(optional)
            or len(node.args) < count
        ):
            self.refuse(node, f"`{shown(node)}` has other arguments than are translated")
        return found

    def primitive(self, node: ast.Call, name: str, names: Names, then: Callable[[Value], str]) -> str:
        """What the machine offers."""
        match name:
            case "draw":
                return self.draw(node, names, then)
            case "flip":
                return self.truth_of_call(node, names, then)
            case "coin":
                self.arguments(node, 0)
                return then(Term("fresh coin", "(0, 1)"))
            case "number":
                (of,) = self.arguments(node, 1)
                return self.value(of, names, lambda v: then(self.number(of, v)))
            case "sum":
                (of,) = self.arguments(node, 1)
                return self.typed(of, "vector", names, lambda v: then(applied("number", "sum", v)))
            case "argmax":
                (of,) = self.arguments(node, 1)
                return self.typed(of, "vector", names, lambda v: then(applied("token", "argmax x0", v)))
            case "point":
                (of,) = self.arguments(node, 1)
                return self.typed(of, "token", names, lambda v: then(applied("vector", "point", v)))
            case "relu":
                (of,) = self.arguments(node, 1)
                return self.value(of, names, lambda v: then(self.positive_part(of, v)))
            case "min":
                return self.values(
                    self.arguments(node, 2), names, lambda v: then(self.smaller(node, v[0], v[1]))
                )
            case "norm":
                return self.values(
                    self.arguments(node, 1, "otherwise"), names, lambda v: then(self.norm(node, *v))
                )
            case "uniform":
                found = self.arguments(node, 0, "without") or [ast.Tuple([], ast.Load())]
                return self.typed(
                    found[0], "tokens", names, lambda v: then(applied("vector", "uniform_without", v))
                )
            case "without":
                return self.without(node, names, then)
        self.refuse(node, f"`{shown(node.func)}` is no primitive that is translated")

    def number(self, node: ast.expr, value: Value) -> Term:
        if not is_integer(value):
            self.refuse(node, f"`{shown(node)}` is no integer that is known")
        return self.as_type(node, value, "number")

    def positive_part(self, node: ast.expr, value: Value) -> Term:
        if kind_of(value) == "vector":
            return applied("vector", "positive_part", self.as_type(node, value, "vector"))
        return applied("number", "relu", self.as_type(node, value, "number"))

    def smaller(self, node: ast.Call, a: Value, b: Value) -> Term:
        if kind_of(a) == "vector":
            x, y = self.as_type(node.args[0], a, "vector"), self.as_type(node.args[1], b, "vector")
            return applied("vector", "lesser", x, y)
        x, y = self.as_type(node.args[0], a, "number"), self.as_type(node.args[1], b, "number")
        return applied("number", "smaller", x, y)

    def norm(self, node: ast.Call, vector: Value, otherwise: Value = NOTHING) -> Term:
        v = self.as_type(node.args[0], vector, "vector")
        if otherwise == NOTHING:
            return applied("vector", "norm", v)
        return applied("vector", "norm_or", v, self.as_type(node, otherwise, "vector"))

    def without(self, node: ast.Call, names: Names, then: Callable[[Value], str]) -> str:
        if node.keywords or not node.args or isinstance(node.args[0], ast.Starred):
            self.refuse(node, f"`{shown(node)}` has other arguments than are translated")
        return self.typed(
            node.args[0],
            "vector",
            names,
            lambda v: self.display(
                node, node.args[1:], names, lambda ts: then(applied("vector", "without", v, ts))
            ),
        )

    def draw(
        self, node: ast.Call, names: Names, then: Callable[[Term], str], variable: str | None = None
    ) -> str:
        """A draw, and what follows with the token by the name of the variable, or by a new name."""
        vector, *coin = self.arguments(node, 1, "coin")
        if coin and not self.is_new_coin(coin[0], names):
            self.refuse(node, f"`{shown(node)}` draws with a coin that is not made for it, m.coin()")

        def drawn(v: Term) -> str:
            head = f"bind (inverse_transform {v.within(0)})" if coin else f"Draw {v.within(0)}"
            if variable is not None:
                return scoped(f"{head} (fun {variable} =>", then(Term("token", variable)))
            name, body = self.with_name(lambda name: then(Term("token", name)))
            return scoped(f"{head} (fun {name} =>", body)

        return self.typed(vector, "vector", names, drawn)

    def with_name(self, then: Callable[[str], str]) -> tuple[str, str]:
        """A name that nothing has that could be meant in what follows, and what follows with it."""
        taken = {*self.used, *self.made}
        counted = (letter + str(number) for number in itertools.count(1) for letter in "xyz")
        name = next(name for name in itertools.chain("xyz", counted) if name not in taken)
        self.made.append(name)
        body = then(name)
        self.made.pop()
        return name, body

    def is_new_coin(self, node: ast.expr, names: Names) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(value=m, attr="coin"), args=[], keywords=[]):
                return special(m, names) == "machine"
        return False
