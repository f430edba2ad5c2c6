"""Whether a function runs the text that Python finds for it.

Python looks a function's source up by file and line, when it is asked. If the file was edited after it was
imported, or the function's code was exchanged, that is another text.
"""

from __future__ import annotations
import __future__

import inspect
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

_FUTURES = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})


def is_what_runs(function: FunctionType) -> bool:
    """Whether the text that ``inspect.getsource`` gives compiles to the function's code.

    Raises:
        OSError, TypeError: if there is no text.
    """
    code = function.__code__
    lines, first = inspect.getsourcelines(function)
    if first != code.co_firstlineno or not lines:
        return False
    file, _ = inspect.findsource(function)
    return any(_same(one, code) for one in _compiled("".join(file), code.co_flags & _FUTURES))


@lru_cache(maxsize=8)
def _compiled(text: str, flags: int) -> tuple[CodeType, ...]:
    """The code of every function in a file; of the whole, since what is imported elsewhere in it matters."""
    try:
        return tuple(_codes(compile(text, "<text>", "exec", flags=flags, dont_inherit=True)))
    except (SyntaxError, ValueError):
        return ()


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _same(a: CodeType, b: CodeType) -> bool:
    return (
        a.co_name == b.co_name
        and a.co_firstlineno == b.co_firstlineno
        and a.co_code == b.co_code
        and a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and a.co_freevars == b.co_freevars
        and a.co_cellvars == b.co_cellvars
        and a.co_exceptiontable == b.co_exceptiontable
        and (a.co_argcount, a.co_posonlyargcount) == (b.co_argcount, b.co_posonlyargcount)
        and a.co_kwonlyargcount == b.co_kwonlyargcount
        and len(a.co_consts) == len(b.co_consts)
        and all(map(_same_constant, a.co_consts, b.co_consts))
    )


def _same_constant(a: Any, b: Any) -> bool:
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return _same(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same_constant, a, b))
    if isinstance(a, frozenset) and isinstance(b, frozenset):
        return sorted(map(repr, a)) == sorted(map(repr, b))
    return type(a) is type(b) and repr(a) == repr(b)  # 0.0 is not -0.0, nor 1 True
