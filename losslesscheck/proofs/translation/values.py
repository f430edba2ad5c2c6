"""What the translation of a rule knows of the values of its names and expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from losslesscheck.errors import Undecided
from losslesscheck.proofs.translation.gallina import LARGEST, Term, Type, natural


class Untranslatable(Undecided):
    """A rule's text is outside what is translated; the message names the line and the construct."""


@dataclass(frozen=True)
class Constant:
    """A value that is known: a literal, or a parameter of the rule that is no machine's number."""

    value: int | str | bool | None


@dataclass(frozen=True)
class Function:
    """A function that the rule defines for itself.

    Attributes:
        scope: the values of the rule's names, for a call inside another such function, whose own names
            it must not see; ``None`` elsewhere, where the names are the rule's own.
    """

    definition: ast.FunctionDef
    scope: Names | None = None


@dataclass(frozen=True)
class Special:
    """An argument that is no value: the machine, the tree, a continuation."""

    kind: str


Value = Term | Constant | Function | Special
Names = Mapping[str, Value]


TRUE, FALSE, NOTHING = Constant(True), Constant(False), Constant(None)

_WORDS = {"tokens": "tuple of tokens", "nat": "natural number"}


def converted(value: Value, kind: Type) -> Term | None:
    """The value as a term of the type; ``None`` if it is of another."""
    if isinstance(value, Term):
        return value if value.type == kind else None
    if isinstance(value, Constant):
        known = value.value
        if kind == "bool" and isinstance(known, bool):
            return Term("bool", "true" if known else "false")
        if kind == "number" and type(known) is int and known in (0, 1):
            return Term("number", str(known))
        if kind == "nat" and type(known) is int and 0 <= known <= LARGEST:
            return natural(known)
    return None


def kind_of(value: Value) -> str:
    """The type of a term; what the value is otherwise."""
    if isinstance(value, Term):
        return value.type
    if isinstance(value, Special):
        return value.kind
    return "function" if isinstance(value, Function) else f"constant {value.value!r}"


def in_words(kind: str) -> str:
    """The kind as messages say it."""
    return _WORDS.get(kind, kind)


def is_integer(value: Value) -> bool:
    return isinstance(value, Constant) and type(value.value) is int


def special(node: ast.expr, names: Names) -> str:
    """Which of the arguments that are no values the expression is; empty if it is none."""
    value = names.get(node.id) if isinstance(node, ast.Name) else None
    return value.kind if isinstance(value, Special) else ""


def bound_by(node: ast.AST) -> Iterator[str]:
    """The name that the node alone binds, if it binds one, where it stands."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    name = getattr(node, "name", None)  # of a function, a captured pattern, an import
    if isinstance(name, str):
        yield name


def assigned(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that the statements bind, reached or not; of the functions among them the names, but not
    what is bound inside these."""
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        yield from bound_by(node)
        inside = node.body if isinstance(node, ast.FunctionDef) else []
        waiting += [part for part in ast.iter_child_nodes(node) if part not in inside]


def shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."
