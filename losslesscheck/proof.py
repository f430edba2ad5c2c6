"""What a symbolic reading reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from losslesscheck.rule import Form

THEOREM_OF: Mapping[Form, str] = {"step": "tree_lossless", "node": "node_lossless"}
"""Form of a rule → the machine-checked theorem whose hypothesis the any-vocabulary reading establishes."""


@dataclass(frozen=True)
class Proof:
    """The result of a symbolic reading of a rule.

    Attributes:
        holds: whether the statement is proved; ``False`` means not proved, never refuted: a
            refutation is a counterexample.
        statement: what is proved (or was to be proved), in one line, with its scope.
        every_tree: the statement covers trees of every width and depth (a step rule) rather than
            the ones that the statement names.
        reason: why it is not proved, in one line; empty if it is.
        facts: counts and formulas for a report (paths, atoms, sums, cases, obligations, identity).
        certificate: the proof in the format that ``losslesscheck.checker`` rechecks, or ``None``.
    """

    holds: bool
    statement: str
    every_tree: bool = False
    reason: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    certificate: dict[str, Any] | None = None
