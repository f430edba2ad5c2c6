"""losslesscheck settles whether speculative decoding is lossless."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from losslesscheck import rules as rules
    from losslesscheck.budget import Budget as Budget
    from losslesscheck.errors import InputError as InputError
    from losslesscheck.errors import LosslesscheckError as LosslesscheckError
    from losslesscheck.errors import RuleError as RuleError
    from losslesscheck.ladder import verify as verify
    from losslesscheck.model import Model as Model
    from losslesscheck.rule import Parameter as Parameter
    from losslesscheck.rule import Rule as Rule
    from losslesscheck.tree import Tree as Tree
    from losslesscheck.verdict import Verdict as Verdict

__version__ = "0.1.0"

_HOMES = {
    "Budget": "losslesscheck.budget",
    "InputError": "losslesscheck.errors",
    "LosslesscheckError": "losslesscheck.errors",
    "Model": "losslesscheck.model",
    "Parameter": "losslesscheck.rule",
    "Rule": "losslesscheck.rule",
    "RuleError": "losslesscheck.errors",
    "Tree": "losslesscheck.tree",
    "Verdict": "losslesscheck.verdict",
    "verify": "losslesscheck.ladder",
}

__all__ = [*_HOMES, "rules"]


def __getattr__(name: str) -> Any:
    # Names are looked up when they are used: a command's --help must not import a prover.
    if name == "rules":
        return import_module("losslesscheck.rules")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'losslesscheck' has no attribute {name!r}")
