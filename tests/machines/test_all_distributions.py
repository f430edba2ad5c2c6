"""The all-distributions reading: what it proves, what it must not prove, and that the tests can tell."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from losslesscheck.checker.expression import evaluate
from losslesscheck.errors import RuleError
from losslesscheck.law import UNDEFINED
from losslesscheck.machines import small_rules_for_tests as small  # replaced below
