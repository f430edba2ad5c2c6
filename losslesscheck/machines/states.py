"""Whether two continuations that a rule gives one name do the same.

The machines that enumerate evaluate every state once. A rule whose state does not name all that the
continuation depends on would get the law of whichever came first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CellType, FunctionType
from typing import Any

from losslesscheck import walk
from losslesscheck.errors import RuleError


def require_same(state: tuple[Any, ...], first: Callable[[], Any], second: Callable[[], Any]) -> None:
    """Checks that continuations of the same state have the same code and close over the same values.

    Raises:
        RuleError: naming the state, if they do not.
    """
    if getattr(second, "__module__", "") != walk.__name__ and not _same(first, second, set()):
        raise RuleError(f"the rule goes on in different ways from one state, {state!r}: it names too little")


def _same(a: Any, b: Any, compared: set[tuple[int, int]]) -> bool:
    if a is b or (id(a), id(b)) in compared:  # functions may refer to one another
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, FunctionType):
        compared.add((id(a), id(b)))
        return a.__code__ is b.__code__ and _same(_held(a), _held(b), compared)
    if isinstance(a, partial):
        return _same([a.func, a.args, a.keywords], [b.func, b.args, b.keywords], compared)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(_same(x, y, compared) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return _same(list(a.items()), list(b.items()), compared)
    try:
        return bool(a == b)
    except Exception:  # numbers of a symbolic reading, which are the same only if they are one object
        return False


def _held(function: FunctionType) -> list[Any]:
    """The values that a function brings along: defaults, and what it closes over."""
    return [function.__defaults__, function.__kwdefaults__, *map(_content, function.__closure__ or ())]


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return None
