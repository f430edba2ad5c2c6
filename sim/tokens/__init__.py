"""Expected tokens per draft-and-verify step, and the law of how many draft tokens are accepted."""

from losslesscheck.sim.tokens import closed_forms
from losslesscheck.sim.tokens.prediction import Prediction, predict, predict_rule

__all__ = ["Prediction", "closed_forms", "predict", "predict_rule"]
