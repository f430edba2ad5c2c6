"""What a run was and what came of it, as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from losslesscheck import __version__
from losslesscheck.errors import InputError
from losslesscheck.runs.record import device
from losslesscheck.testing import conformance
from losslesscheck.testing.subject import Subject

FORMAT = 1


def facts(reference: str, subject: Subject, settings: conformance.Settings) -> dict[str, Any]:
    """What is run on what, under which versions."""
    assert subject.rule is not None
    torch = sys.modules.get("torch")
    versions = {"losslesscheck": __version__, "numpy": np.__version__, "python": platform.python_version()}
    if torch is not None:
        versions["torch"] = str(torch.__version__)
    return {
        "format": FORMAT,
        "subject": reference,
        "rule": subject.rule.name,
        "rule_hash": subject.rule.hash,
        "parameters": {name: str(value) for name, value in subject.rule.settings.items()},
        "array": subject.array,
        "dtype": subject.dtype,
        "device": subject.device,
        "device_name": device_name(subject),
        "versions": versions,
        "seed": settings.seed,
        "settings": asdict(settings),
        "false_alarm": conformance.false_alarm(subject, settings),
    }


def device_name(subject: Subject) -> str:
    """The name of the processor or accelerator that the subject runs on."""
    if subject.array == "torch":
        import torch

        kind = torch.device(subject.device).type
        named = getattr(getattr(torch, kind, None), "get_device_name", None)
        if named is not None:
            return str(named(subject.device))
    return device()


def require_writable(path: Path) -> None:
    """Raises an ``InputError`` if a file cannot be written there."""
    if path.is_dir():
        raise InputError(f"json: {path} is a folder")
    partial = _partial(path)
    try:
        partial.touch()
        partial.unlink()
    except OSError as error:
        raise InputError(f"json: cannot write to {path}: {error.strerror}") from None


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Writes the results; the file appears whole or not at all."""
    partial = _partial(path)
    try:
        partial.write_text(json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n", "utf-8")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}.partial")
