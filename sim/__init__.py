"""What speed a rule buys: acceptance models, tokens per step, cost, tuning, fitting.

Imported as ``losslesscheck.sim``. README.md beside this file is the guide.
"""

from losslesscheck.sim import cost, fit, published, simulate, tune
from losslesscheck.sim.acceptance import Acceptance, ByPosition, BySibling, Constant, Correlated, Mixed
from losslesscheck.sim.tokens import Prediction, closed_forms, predict, predict_rule

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
