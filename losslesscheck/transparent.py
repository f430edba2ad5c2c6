"""Whether a rule's text uses nothing but the vocabulary, so that a symbolic reading sees all that it does.

A proof holds for the rule only if every machine hands the text the same answers. Python offers ways
past the vocabulary: identity, hashes, types and texts of values differ from machine to machine, an
exception can be swallowed, a global list can remember. A text that uses one of these is not read
symbolically; it can still be run on numbers.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import partial
from types import FunctionType
from typing import Any, Final, cast

from losslesscheck.errors import Undecided
from losslesscheck.machines.vocabulary import Machine
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree
from losslesscheck.walk import walk_nodes, walk_steps

_BUILTINS: Final = {
    *("abs", "all", "any", "bool", "enumerate", "filter", "iter", "len", "list", "map", "max", "min"),
    *("next", "range", "reversed", "sorted", "sum", "tuple", "zip", "set", "dict"),
}
_HARMLESS: Final = (cast, partial, Tree, Fraction, walk_nodes, walk_steps)
_PRIMITIVES: Final = {name for name in vars(Machine) if not name.startswith("_")}
_ATTRIBUTES: Final = {
    *(name for name in vars(Tree) if not name.startswith("_")),
    *("append", "extend", "insert", "pop", "reverse", "sort", "index", "count", "copy"),
    *("get", "items", "keys", "values", "add", "update", "function", "apply"),
}
_REFUSED: Final[dict[type[ast.AST], str]] = {
    ast.Try: "catches exceptions",
    ast.TryStar: "catches exceptions",
    ast.With: "uses a context manager",
    ast.JoinedStr: "formats text",
    ast.Yield: "is a generator",
    ast.YieldFrom: "is a generator",
    ast.Await: "awaits",
    ast.Global: "assigns a global name",
    ast.Nonlocal: "assigns a name of an outer function",
    ast.ClassDef: "defines a class",
    ast.Import: "imports",
    ast.ImportFrom: "imports",
    ast.Delete: "deletes a name",
}


def require_transparent(rule: Rule) -> None:
    """Checks that the rule's text, and the functions that it calls, keep to the vocabulary.

    Raises:
        Undecided: naming what in the text a symbolic reading cannot see through.
    """
    texts: dict[Callable[..., Any], ast.AST] = {}
    attributes = set(_ATTRIBUTES)
    _collect(rule.function, texts, attributes)
    for text in texts.values():
        for node in ast.walk(text):
            _check_node(node, attributes)


def _collect(function: Any, texts: dict[Callable[..., Any], ast.AST], attributes: set[str]) -> None:
    """The text of the function and of all that it calls; the attributes of the classes that it uses."""
    if function in texts:
        return
    if not isinstance(function, FunctionType):
        _refuse(f"calls {function!r}")
    tree = texts[function] = _parsed(function)
    # A name that is local somewhere may be global elsewhere in the text: what it could mean is checked.
    known = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    loaded = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for name in sorted(loaded):
        if name in known:
            _check_value(name, known[name], texts, attributes)
        elif name not in _bound_names(tree) and hasattr(builtins, name):
            _check_value(name, getattr(builtins, name), texts, attributes)


def _parsed(function: FunctionType) -> ast.AST:
    try:
        text = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError):
        _refuse("has no source text that could be looked through")
    found = [
        n
        for n in ast.walk(tree)
        if (isinstance(n, ast.FunctionDef) and n.name == function.__name__)
        or (isinstance(n, ast.Lambda) and function.__name__ == "<lambda>")
    ]
    if len(found) != 1:
        _refuse("has no source text of its own")
    body: ast.AST = found[0]
    if isinstance(body, ast.FunctionDef):
        # Decorators, annotations and the texts of errors say nothing about what a run gives.
        body.decorator_list, body.returns = [], None
        for argument in ast.walk(body):
            if isinstance(argument, ast.arg):
                argument.annotation = None
            elif isinstance(argument, ast.AnnAssign):
                argument.annotation = ast.Constant(None)
            elif isinstance(argument, ast.Raise):
                argument.exc = argument.cause = None
    return body


def _bound_names(tree: ast.AST) -> set[str]:
    names = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    names |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names | {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def _check_value(
    name: str, value: Any, texts: dict[Callable[..., Any], ast.AST], attributes: set[str]
) -> None:
    """A name from outside the function: a function is looked through, a constant is harmless."""
    if value in _HARMLESS or _is_constant(value) or _is_annotation(value):
        return
    if isinstance(value, Rule):
        _collect(value.function, texts, attributes)
    elif isinstance(value, FunctionType):
        _collect(value, texts, attributes)
    elif isinstance(value, type) and is_dataclass(value):
        attributes.update(f.name for f in fields(value))
    elif isinstance(value, type) and issubclass(value, Exception):
        return
    elif getattr(builtins, name, None) is value:
        if name not in _BUILTINS:
            _refuse(f"uses {name}")
    else:
        _refuse(f"uses {name}, which is no function and no constant")


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return value is None or isinstance(value, (int, float, str, Fraction))


def _is_annotation(value: Any) -> bool:
    """Whether the value comes from ``typing`` or names a type of the vocabulary."""
    return getattr(value, "__module__", "") in ("typing", "losslesscheck.machines.vocabulary")


def _check_node(node: ast.AST, attributes: set[str]) -> None:
    if (what := _REFUSED.get(type(node))) is not None:
        _refuse(what)
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for operator, a, b in zip(node.ops, operands, operands[1:], strict=False):
            if isinstance(operator, (ast.Is, ast.IsNot)) and not (_is_none(a) or _is_none(b)):
                _refuse("compares by identity")
    elif isinstance(node, ast.Attribute):
        if isinstance(node.ctx, ast.Store):
            _refuse(f"sets the attribute {node.attr}")
        if node.attr not in _PRIMITIVES and node.attr not in attributes:
            _refuse(f"uses the attribute {node.attr}")
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        _refuse("uses %")
    elif isinstance(node, ast.FunctionDef) and node.decorator_list:
        _refuse("decorates a function")


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _refuse(what: str) -> Any:
    raise Undecided(f"the rule's text {what}, which a symbolic reading cannot see through")
