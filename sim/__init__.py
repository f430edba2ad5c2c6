"""What speed a rule buys: acceptance models, tokens per step, cost, tuning, fitting.

Imported as ``losslesscheck.sim``; its README.md is the guide. ``cost``, ``fit``, ``published``, ``simulate``
and ``tune`` are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from losslesscheck.sim.acceptance import Acceptance, ByPosition, BySibling, Constant, Correlated, Mixed
from losslesscheck.sim.tokens import Prediction, closed_forms, predict, predict_rule

if TYPE_CHECKING:
    from losslesscheck.sim import cost, fit, published, simulate, tune

__all__ = [
    "Acceptance",
    "ByPosition",
    "BySibling",
    "Constant",
    "Correlated",
    "Mixed",
    "Prediction",
    "closed_forms",
    "cost",
    "fit",
    "predict",
    "predict_rule",
    "published",
    "simulate",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in ("cost", "fit", "published", "simulate", "tune"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
