"""Fitting: acceptance, with intervals, from what engines report and from this project's own records."""

from losslesscheck.sim.fit.estimate import Estimate, by_position, clopper_pearson, constant
from losslesscheck.sim.fit.fit import Fit, fit, read
from losslesscheck.sim.fit.goodness import Goodness, goodness_of_fit
from losslesscheck.sim.fit.histogram import Histogram, total
from losslesscheck.sim.fit.mean import MeanFit, alpha_of_mean, from_means
from losslesscheck.sim.fit.records import record, records
from losslesscheck.sim.fit.sglang import sglang_log, sglang_metrics, sglang_responses
from losslesscheck.sim.fit.vllm import vllm

__all__ = [
    "Estimate",
    "Fit",
    "Goodness",
    "Histogram",
    "MeanFit",
    "alpha_of_mean",
    "by_position",
    "clopper_pearson",
    "constant",
    "fit",
    "from_means",
    "goodness_of_fit",
    "read",
    "record",
    "records",
    "sglang_log",
    "sglang_metrics",
    "sglang_responses",
    "total",
    "vllm",
]
