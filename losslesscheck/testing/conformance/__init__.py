"""The conformance suite: what every correct implementation of a rule does, check by check.

results = conformance.run(subject, conformance.Settings())
assert not [result for result in results if result.outcome == "failed"]
"""

from losslesscheck.testing.conformance.check import Check, Item, Result, Settings
from losslesscheck.testing.conformance.suite import CHECKS, false_alarm, items, perform, run

__all__ = ["CHECKS", "Check", "Item", "Result", "Settings", "false_alarm", "items", "perform", "run"]
