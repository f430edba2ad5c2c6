"""The text that a rule is: its own file, and those of the functions that it calls."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from losslesscheck.rule import Rule
from losslesscheck.source import is_what_runs

_PACKAGE = Path(__file__).parents[1]
_RULES = _PACKAGE / "rules"


def text_hash(rule: Rule) -> str:
    """SHA-256 of ``Rule.hash`` and of the other files that the rule's function reaches by name.

    Python's own library is left out, and so is this package but for its rules (see ``rule_source.CODE``).
    """
    files = {Path(part.__file__ or "") for part in _reached(rule) if isinstance(part, ModuleType)}
    files |= {Path(part.__code__.co_filename) for part in _reached(rule) if isinstance(part, FunctionType)}
    contents = sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file())
    return hashlib.sha256("\n".join([rule.hash, *contents]).encode()).hexdigest()


def runs_its_text(rule: Rule) -> bool:
    """Whether these functions are what their files say now, as far as they have files."""
    for part in _reached(rule):
        if isinstance(part, FunctionType) and not hasattr(part, "__wrapped__"):
            with contextlib.suppress(OSError, TypeError):
                if not is_what_runs(part):
                    return False
    return True


def _reached(rule: Rule) -> list[FunctionType | ModuleType]:
    found: list[FunctionType | ModuleType] = []
    waiting: list[Any] = [rule]
    while waiting:
        part = waiting.pop()
        part = part.function if isinstance(part, Rule) else part
        if part in found or not isinstance(part, FunctionType | ModuleType) or _is_other(part):
            continue
        found.append(part)
        if isinstance(part, FunctionType):
            waiting.append(getattr(part, "__wrapped__", None))
            for cell in part.__closure__ or ():
                with contextlib.suppress(ValueError):  # nothing is in it yet
                    waiting.append(cell.cell_contents)
            names = set(_names(part.__code__))
            known = [part.__globals__[name] for name in names if name in part.__globals__]
            waiting += known
            for module in known:
                if isinstance(module, ModuleType):
                    waiting += [vars(module)[name] for name in names if name in vars(module)]
    return found


def _is_other(part: FunctionType | ModuleType) -> bool:
    if isinstance(part, ModuleType):
        module, file = part.__name__, getattr(part, "__file__", None) or ""
    else:
        module, file = part.__module__ or "", part.__code__.co_filename
    if module.partition(".")[0] in sys.stdlib_module_names:
        return True
    return Path(file).is_relative_to(_PACKAGE) and not Path(file).is_relative_to(_RULES)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
