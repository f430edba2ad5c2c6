"""Certificates in files: written by `verify`, rechecked by the independent `losslesscheck.checker`."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from losslesscheck import __version__, rules
from losslesscheck.budget import Budget, WorkFailed
from losslesscheck.checker import check
from losslesscheck.errors import InputError, Undecided
from losslesscheck.rule import Rule

FORMAT = 1


def write(path: Path, rule: Rule, certificates: Sequence[dict[str, Any]]) -> None:
    """Writes the certificates of one rule; the file appears whole or not at all.

    Raises:
        InputError: if it cannot be written.
    """
    content = {
        "format": FORMAT,
        "version": __version__,
        "rule": {
            "reference": reference(rule),
            "hash": rule.hash,
            "parameters": {name: str(value) for name, value in rule.settings.items()},
        },
        "certificates": list(certificates),
    }
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(json.dumps(content, ensure_ascii=False, indent=1))
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"certificates: cannot write {path}: {error.strerror}") from None


def recheck(path: str | Path) -> dict[str, Any]:
    """Rechecks every certificate of a file against the rule's text as it is now.

    Returns:
        ``{"rule", "accepted", "certificates": [{"kind", "statement", "theorem", "problems"}]}``. A file
        without certificates is not accepted.

    Raises:
        InputError: if the file is no certificate file, or its rule is not to be found.
    """

    try:
        content = json.loads(Path(path).read_text())
        facts, certificates = content["rule"], content["certificates"]
        name, known_hash, parameters = facts["reference"], facts["hash"], facts["parameters"]
        kinds = [(c["kind"], c.get("statement", "")) for c in certificates]
    except OSError as error:
        raise InputError(f"certificates: cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"certificates: {path} is no certificate file: {error!r}") from None
    if content.get("format") != FORMAT:
        raise InputError(f"certificates: {path} has format {content.get('format')!r}, not {FORMAT}")
    if not isinstance(name, str) or not isinstance(parameters, dict):
        raise InputError(
            f"certificates: {path} is no certificate file: {name!r} with {parameters!r} is no rule"
        )
    rule = rules.resolve(name).bind(**parameters)
    stale = [] if rule.hash == known_hash else ["the rule's text has changed since the proof"]
    entries = [
        {
            "kind": kind,
            "statement": statement,
            "theorem": certificate.get("theorem"),
            "problems": [*stale, *_other_rule(certificate, rule), *_problems(certificate, rule)],
        }
        for certificate, (kind, statement) in zip(certificates, kinds, strict=True)
    ]
    accepted = bool(entries) and not any(entry["problems"] for entry in entries)
    return {"rule": name, "accepted": accepted, "certificates": entries}


def _other_rule(certificate: dict[str, Any], rule: Rule) -> list[str]:
    """Where a certificate speaks of another rule, or of other parameters, than its file says."""
    own = certificate["rule"] if isinstance(certificate.get("rule"), dict) else certificate
    known: dict[str, Any] = {
        "hash": rule.hash,
        "parameters": {name: str(value) for name, value in rule.settings.items()},
    }
    parameters = own.get("parameters") or {}
    said = {
        "hash": own.get("hash"),
        "parameters": {n: str(v["number"] if isinstance(v, dict) else v) for n, v in parameters.items()},
    }
    for name in ("greedy", "fixed_tokens", "distinct_siblings"):
        if name in certificate:
            known[name], said[name] = getattr(rule, name), certificate[name]
    return [
        f"{name} is {said[name]!r}, but the rule's is {known[name]!r}"
        for name in known
        if said[name] != known[name]
    ]


def _problems(certificate: dict[str, Any], rule: Rule) -> list[str]:
    try:
        return Budget().run(partial(check, certificate, rule.function))
    except (Undecided, WorkFailed) as error:
        return [f"the check did not come to an end: {error}"]


def reference(rule: Rule) -> str:
    """How to find the rule again: its name, or ``file.py:function``."""
    if rule.name in (*rules.names(), *rules.broken()) and rules.get(rule.name).hash == rule.hash:
        return rule.name
    return f"{inspect.getsourcefile(rule.function)}:{rule.function.__qualname__}"
