"""The testing kit: prove an implementation of an acceptance rule in your own test suite."""

from losslesscheck.testing.assertion import GreedyReport, Report, assert_lossless
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.same_law import SameLaw, assert_same_law
from losslesscheck.testing.subject import Batch, Emitted, Subject, SubjectError, subject

__all__ = [
    "Batch",
    "Emitted",
    "GreedyReport",
    "Problem",
    "Report",
    "SameLaw",
    "Subject",
    "SubjectError",
    "assert_lossless",
    "assert_same_law",
    "subject",
]
