"""Subjects by name: ``pkg.module:object`` or ``path/to/file.py:object``."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.testing.subject import Subject


def load(reference: str, *, rule: str | None = None, **facts: str) -> Subject:
    """The subject of that name, with its rule.

    Args:
        reference: where it stands. A module is looked for where Python looks, then in the current
            directory; an imported file may import what stands beside it.
        rule: what it implements, as ``rules.resolve`` takes it; by default what the subject says
            itself, or ``chain``.
        **facts: ``array``, ``dtype`` and ``device`` of a plain callable, see ``Subject``.

    Raises:
        InputError: if there is no such module, file, object or rule, if the module does not import, if
            the object is no callable that takes a subject's arguments, or if it is a ``Subject`` and
            facts are given.
    """
    place, _, attributes = reference.rpartition(":")
    if not place or not attributes:
        raise InputError(f"subject: {reference!r} is neither pkg.module:object nor path/to/file.py:object")
    found: Any = _imported(place)
    for attribute in attributes.split("."):
        if not hasattr(found, attribute):
            raise InputError(f"subject: there is no {attributes!r} in {place}")
        found = getattr(found, attribute)
    if inspect.isclass(found):
        with _explained(f"{reference}() raised"):
            found = found()
    if not callable(found):
        raise InputError(f"subject: {reference} is {type(found).__name__!r}, which cannot be called")
    if isinstance(found, Subject) and facts:
        raise InputError(f"{next(iter(facts))}: {reference} is a Subject, which says that itself")
    # Subject checks that the facts are what it knows.
    subject = found if isinstance(found, Subject) else Subject(found, **facts)  # type: ignore[arg-type]
    subject.require_device()
    implemented = subject.rule or rules.get("chain") if rule is None else rules.resolve(rule)
    return replace(subject, rule=implemented)


def _imported(place: str) -> ModuleType:
    path = Path(place)
    if path.suffix != ".py":
        _search(Path.cwd())
        with _explained(f"{place} does not import:", missing=place):
            return importlib.import_module(place)
    if not path.is_file():
        raise InputError(f"subject: there is no file {place!r}")
    _search(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(f"losslesscheck_subject_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # as an import would: dataclasses and pickle look there
    with _explained(f"{place} does not import:"):
        spec.loader.exec_module(module)
    return module


def _search(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # last, so that it hides nothing


@contextlib.contextmanager
def _explained(what: str, missing: str = "") -> Iterator[None]:
    """Makes one line of whatever the subject's own code raises when it is loaded."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: a script that calls sys.exit
        if isinstance(error, ModuleNotFoundError) and f"{missing}.".startswith(f"{error.name}."):
            raise InputError(f"subject: there is no module {error.name!r}") from None
        described = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"subject: {what} {described}") from error


def defined_at(function: Callable[..., Any]) -> tuple[Path, int] | None:
    """The file and the line, counted from 1, where a subject's function or its class is defined."""
    code: Any = inspect.unwrap(function)
    if not (inspect.isroutine(code) or inspect.isclass(code)):
        code = type(code)
    try:
        file = inspect.getsourcefile(code)
        _, line = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return None
    return None if file is None else (Path(file), line)
