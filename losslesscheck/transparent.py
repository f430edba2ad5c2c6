"""Whether a rule's text uses nothing but the vocabulary, so that a symbolic reading sees all that it does.

A proof holds for the rule only if every machine hands the text the same answers. Python offers ways
past the vocabulary: identity, hashes, types and texts of values differ from machine to machine, an
exception can be swallowed, a global list can remember. A text that uses one of these is not read
symbolically; it can still be run on numbers.

What is looked through is the source that Python finds for a function, and what its names mean while the proof
runs. Code that is made at run time to hide from both is beyond this.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import dataclasses
import inspect
import symtable
import textwrap
import typing
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from types import FunctionType, MemberDescriptorType
from typing import Any, Final, NoReturn, cast

from flint import fmpq

from losslesscheck import errors
from losslesscheck.errors import Undecided
from losslesscheck.machines import vocabulary
from losslesscheck.machines.coin import Coin
from losslesscheck.machines.exact import Exact, ExactVector
from losslesscheck.machines.vocabulary import Machine
from losslesscheck.rule import Rule
from losslesscheck.source import is_what_runs
from losslesscheck.tree import Tree
from losslesscheck.walk import walk_nodes, walk_steps

_BUILTINS: Final = {
    *("abs", "all", "any", "bool", "enumerate", "filter", "iter", "len", "list", "map", "max", "min"),
    *("next", "range", "reversed", "sorted", "sum", "tuple", "zip", "set", "dict"),
}
_HARMLESS: Final = (cast, partial, Tree, Fraction, walk_nodes, walk_steps)
_ANNOTATIONS: Final = [
    value
    for value in (*vars(typing).values(), *vars(vocabulary).values())
    if type(value).__module__ == "typing"
    or (isinstance(value, type) and value.__module__ in ("typing", vocabulary.__name__))
]
_PRIMITIVES: Final = {name for name in vars(Machine) if not name.startswith("_")}
_ATTRIBUTES: Final = {
    *(name for name in vars(Tree) if not name.startswith("_")),
    *("append", "extend", "insert", "pop", "reverse", "sort", "index", "count", "copy"),
    *("get", "items", "keys", "values", "add", "update", "function", "apply"),
}
_INSIDE: Final = {
    name for value in (Exact(1), ExactVector(), fmpq(), Coin(Exact(1)), 0) for name in dir(value)
} - _PRIMITIVES
"""Attributes of the machines' values, which a field of the same name would give access to."""

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
    ast.MatchClass: "asks for a type",
    ast.MatchSequence: "asks for a type",
    ast.MatchMapping: "asks for a type",
    ast.Mod: "uses %",
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
    tree = texts[function] = parsed(function)
    known = {
        **vars(builtins),
        **function.__globals__,
        **inspect.getclosurevars(function).nonlocals,
    }
    for name in sorted(_outer_names(tree)):
        if name in known:
            _check_value(name, known[name], texts, attributes)
    # A default belongs to the function, and is the same at every call.
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        _check_value("a default", value, texts, attributes)


def parsed(function: FunctionType) -> ast.FunctionDef | ast.Lambda:
    """The function's text, without what says nothing about what a run gives.

    Raises:
        Undecided: if there is none.
    """
    if hasattr(function, "__wrapped__"):
        _refuse("is wrapped in another function")
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        current = is_what_runs(function)
    except (OSError, TypeError, SyntaxError):
        _refuse("has no source text that could be looked through")
    body: Any = tree.body[0]
    if function.__code__.co_name == "<lambda>":
        lambdas = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)]
        body = lambdas[0] if len(lambdas) == 1 else None
    elif not isinstance(body, ast.FunctionDef) or body.name != function.__code__.co_name:
        body = None
    if body is None:
        _refuse("has no source text of its own")
    if not current:
        _refuse("runs other code than its source text: was the file changed after it was imported?")
    body.args.defaults = [ast.Constant(None)] * len(body.args.defaults)
    body.args.kw_defaults = [default and ast.Constant(None) for default in body.args.kw_defaults]
    # Annotations of inner functions are evaluated where they are not postponed.
    postponed = function.__code__.co_flags & __future__.annotations.compiler_flag
    if isinstance(body, ast.FunctionDef):
        body.decorator_list = []
        _strip_annotations(body)
    for node in ast.walk(body):
        if isinstance(node, ast.FunctionDef):
            if postponed or all(isinstance(a, (ast.Name, ast.Constant)) for a in _annotations(node)):
                _strip_annotations(node)
        elif isinstance(node, ast.AnnAssign):  # in a function never evaluated
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.Raise):  # whatever is raised ends the run
            node.exc = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            node.cause = None
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = function.__globals__.get(node.func.id)
            if called is cast and not _binds(body, "cast"):
                node.args[:1] = [ast.Constant(None)]  # a type, for readers
            elif (
                isinstance(called, type) and issubclass(called, Exception) and not _binds(body, node.func.id)
            ):
                node.args = [a for a in node.args if not _is_message(a)]
    return cast(ast.FunctionDef | ast.Lambda, body)


def _is_message(node: ast.expr) -> bool:
    """Whether it is a text with names in it, which nobody can read once it is in an exception."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    values = [part.value for part in parts if isinstance(part, ast.FormattedValue) and not part.format_spec]
    texts = [part for part in parts if isinstance(part, ast.Constant)]
    return len(values) + len(texts) == len(parts) and all(isinstance(value, ast.Name) for value in values)


def _arguments(function: ast.FunctionDef) -> list[ast.arg]:
    a = function.args
    more = [argument for argument in (a.vararg, a.kwarg) if argument is not None]
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *more]


def _annotations(function: ast.FunctionDef) -> list[ast.expr]:
    found = [function.returns, *(argument.annotation for argument in _arguments(function))]
    return [annotation for annotation in found if annotation is not None]


def _strip_annotations(function: ast.FunctionDef) -> None:
    function.returns = None
    for argument in _arguments(function):
        argument.annotation = None


def _outer_names(text: ast.FunctionDef | ast.Lambda) -> set[str]:
    """The names that the text, or a function in it, takes from outside."""

    return {s.get_name() for s in _symbols(text) if s.is_global() and s.is_referenced()}


def _binds(text: ast.FunctionDef | ast.Lambda, name: str) -> bool:
    """Whether the name means something of the text's own, somewhere in it."""
    return any(s.get_name() == name and not s.is_global() for s in _symbols(text))


def _symbols(text: ast.FunctionDef | ast.Lambda) -> Iterator[symtable.Symbol]:
    """The names in the text, scope by scope."""
    scopes = symtable.symtable(ast.unparse(text), "<rule>", "exec").get_children()
    for scope in scopes:  # grows as inner scopes are found
        yield from scope.get_symbols()
        scopes += scope.get_children()


def _check_value(
    name: str, value: Any, texts: dict[Callable[..., Any], ast.AST], attributes: set[str]
) -> None:
    """A value from outside the function: a function is looked through, a constant is harmless."""
    if any(value is known for known in (*_HARMLESS, *_ANNOTATIONS)) or _is_constant(value):
        return
    if type(value) is Rule:
        _collect(value.function, texts, attributes)
    elif isinstance(value, FunctionType):
        _collect(value, texts, attributes)
    elif type(value) is type and dataclasses.is_dataclass(value):
        _check_dataclass(value, texts, attributes)
    elif isinstance(value, type) and issubclass(value, Exception):
        if value.__module__ not in ("builtins", errors.__name__):
            _refuse(f"uses {name}, which is an exception of its own")
    elif getattr(builtins, name, None) is value:
        if name not in _BUILTINS:
            _refuse(f"uses {name}")
    else:
        _refuse(f"uses {name}, which is no function and no constant")


def _is_constant(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_constant, value))
    return value is None or type(value) in (bool, int, float, str, Fraction)


def _check_dataclass(
    value: type[Any], texts: dict[Callable[..., Any], ast.AST], attributes: set[str]
) -> None:
    """A class that only holds fields: what is its own, and not made by ``dataclass``, is looked through."""
    for base in value.__mro__[:-1]:
        for name, member in vars(base).items():
            if name == "__repr__":
                continue  # no text that is read can ask for it, and dataclass may wrap the one it makes
            if isinstance(member, property):
                _collect(member.fget, texts, attributes)
            elif isinstance(member, (FunctionType, staticmethod, classmethod)):
                function: Any = member if isinstance(member, FunctionType) else member.__func__
                if function.__code__.co_filename not in ("<string>", dataclasses.__file__):
                    _collect(function, texts, attributes)
            elif not name.startswith("__") and not isinstance(member, MemberDescriptorType):
                _check_value(f"{value.__name__}.{name}", member, texts, attributes)
    for of in dataclasses.fields(value):
        if of.name in _INSIDE or of.name.startswith("_"):
            _refuse(f"uses a field {of.name}")
        for default in (of.default, of.default_factory):
            if default is not dataclasses.MISSING and default not in (list, dict):
                _check_value(f"the default of {of.name}", default, texts, attributes)
        attributes.add(of.name)


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
    elif isinstance(node, ast.FunctionDef) and node.decorator_list:
        _refuse("decorates a function")


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _refuse(what: str) -> NoReturn:
    raise Undecided(f"the rule's text {what}, which a symbolic reading cannot see through")
