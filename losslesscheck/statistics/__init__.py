"""Tests of a sampled law against the law it should have, and bounds on how far off it is.

``SequentialTest`` (a known law) and ``TwoSampleTest`` (two samples) may be looked at after every batch
and say which context is biased; ``detectable_tv`` and ``samples_needed`` say what a number of samples
shows. All else is what they are made of.
"""

from losslesscheck.statistics.bounds import (
    anytime_tv_bound,
    anytime_two_sample_tv_bound,
    tv_upper_bound,
    two_sample_tv_bound,
)
from losslesscheck.statistics.contexts import (
    combination_handicap,
    combined_log_e_value,
    combined_log_e_values,
    context_weights,
)
from losslesscheck.statistics.e_process import CONCENTRATIONS, log_e_value, log_e_values, mixture
from losslesscheck.statistics.evidence import Look
from losslesscheck.statistics.power import MARGIN, detectable_tv, samples_needed
from losslesscheck.statistics.sequential import SequentialTest
from losslesscheck.statistics.two_sample import TwoSampleTest, two_sample_log_e_values

__all__ = [
    "CONCENTRATIONS",
    "MARGIN",
    "Look",
    "SequentialTest",
    "TwoSampleTest",
    "anytime_tv_bound",
    "anytime_two_sample_tv_bound",
    "combination_handicap",
    "combined_log_e_value",
    "combined_log_e_values",
    "context_weights",
    "detectable_tv",
    "log_e_value",
    "log_e_values",
    "mixture",
    "samples_needed",
    "tv_upper_bound",
    "two_sample_log_e_values",
    "two_sample_tv_bound",
]
