"""Whether a step rule is blind to how many tokens were tried before it.

The any-vocabulary reading runs such a rule with a stand-in for "any tokens tried before". The stand-in
refuses to be counted, but once it is unpacked, as in ``(*tried, x)``, Python hands out an ordinary tuple.
So the text is looked through for whatever could tell tuples of different lengths apart; a rule that
merely hands the tokens on has none of it, and takes entries at tokens only, which tuples do not have.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from types import CodeType, FunctionType
from typing import Any, Final

from losslesscheck.errors import Undecided
from losslesscheck.transparent import parsed

_REFUSED: Final = {
    "GET_ITER": "loops or comprehends",
    "MAKE_FUNCTION": "defines a function",
    "BUILD_SLICE": "takes a slice",
    "BINARY_SLICE": "takes a slice",
    "UNPACK_SEQUENCE": "unpacks",
    "UNPACK_EX": "unpacks",
    "IS_OP": "compares by identity",
    "CONTAINS_OP": "asks for membership",
    "LOAD_NAME": "uses names of elsewhere",
    "LOAD_DEREF": "uses names of elsewhere",
    "IMPORT_NAME": "imports",
}
_REFUSED_ATTRIBUTES: Final = {"count", "index"}


def require_blind(function: Callable[..., Any]) -> None:
    """Checks that a rule can only hand on the tokens tried before.

    Raises:
        Undecided: naming what in the text might count them.
    """
    default = inspect.signature(function).parameters["tried"].default
    if default != ():
        raise Undecided(f"tried: the default is {default!r}, not ()")
    if not isinstance(function, FunctionType):
        raise Undecided("the rule is no plain function")
    code: CodeType = function.__code__
    if code.co_exceptiontable:
        _refuse("catches exceptions")
    _require_tokens_as_indices(parsed(function))
    previous: Any = None
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        text_before, previous = isinstance(previous, str), value if name == "LOAD_CONST" else None
        if name in _REFUSED:
            _refuse(_REFUSED[name])
        if name == "COMPARE_OP" and any(sign in str(value) for sign in ("==", "!=")) and not text_before:
            _refuse("asks for equality")  # but with a literal string: no tuple is equal to one
        if name in ("LOAD_ATTR", "LOAD_METHOD") and (
            value in _REFUSED_ATTRIBUTES or str(value).startswith("__")
        ):
            _refuse(f"uses .{value}")
        if isinstance(value, slice):
            _refuse("takes a slice")
        if name == "LOAD_GLOBAL":
            known = function.__globals__.get(value, getattr(builtins, value, None))
            if known is not tuple and not isinstance(known, (int, Fraction)):
                _refuse(f"uses {value}")


def _require_tokens_as_indices(text: ast.FunctionDef | ast.Lambda) -> None:
    """Every index must be a token as it was drawn: a number is the place of an entry in a tuple."""
    stored, drawn = Counter[str](), Counter[str]()
    for node in ast.walk(text):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored[node.id] += 1
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                drawn.update(_drawn(target, node.value))
        elif isinstance(node, ast.MatchAs) and node.name is not None:
            stored[node.name] += 1
    arguments = {a.arg for a in ast.walk(text) if isinstance(a, ast.arg)}
    tokens = {name for name in stored if stored[name] == drawn[name]} - arguments
    if "token" in arguments and not stored["token"]:
        tokens.add("token")
    for node in ast.walk(text):
        if isinstance(node, ast.Subscript):
            index = node.slice
            if not (_draws(index) or (isinstance(index, ast.Name) and index.id in tokens)):
                _refuse("takes an entry at what may be no token")


def _drawn(target: ast.expr, value: ast.expr) -> list[str]:
    """The names that an assignment makes tokens."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [name for t, v in zip(target.elts, value.elts, strict=True) for name in _drawn(t, v)]
    return [target.id] if isinstance(target, ast.Name) and _draws(value) else []


def _draws(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("draw", "argmax")
    )


def _refuse(what: str) -> None:
    raise Undecided(f"the rule {what}, so that it may count the tokens tried before")
