"""What `verify` returns: the evidence rung by rung, and the verdict that it adds up to."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from losslesscheck.rule import Rule, Value
    from losslesscheck.search import Counterexample

Tier = Literal["theorem", "any-vocabulary", "all-distributions", "exact", "monte-carlo", "kernel"]
Result = Literal["holds", "fails", "undecided", "skipped"]
Outcome = Literal["lossless", "lossy", "undecided"]

TIERS: tuple[Tier, ...] = (
    "theorem",
    "any-vocabulary",
    "all-distributions",
    "exact",
    "monte-carlo",
    "kernel",
)
NOT_ASKED = "not asked for"
"""The detail of a rung that ``only`` left out."""

EXIT_STATUS: dict[Outcome, int] = {"lossless": 0, "lossy": 1, "undecided": 3}


@dataclass(frozen=True)
class Evidence:
    """One rung of the ladder.

    Attributes:
        tier: which reading gave it.
        result: ``holds``, ``fails``, ``undecided`` or ``skipped``.
        detail: one line: what exactly was established, or why it was not.
        seconds: wall time.
        proof: the rung proves losslessness by itself, within the scope that ``detail`` names.
        data: the figures behind the line.
    """

    tier: Tier
    result: Result
    detail: str
    seconds: float = 0.0
    proof: bool = False
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Verdict:
    """The verdict on a rule.

    Attributes:
        rule: the rule with its parameters bound.
        verdict: ``lossless`` (proved, and nothing speaks against it), ``lossy`` (refuted) or
            ``undecided``.
        summary: the verdict as a sentence with its scope.
        scope: for what losslessness is proved; empty unless the verdict is ``lossless``.
        evidence: the rungs in order of strength.
        counterexample: the smallest one found, or ``None``.
        largest: the one with the largest bias found, or ``None``.
        settings: vocabulary, tree, samples, seed, budget, as used.
        warnings: what the user should know about the input.
    """

    rule: Rule
    verdict: Outcome
    summary: str
    evidence: tuple[Evidence, ...]
    scope: str = ""
    counterexample: Counterexample | None = None
    largest: Counterexample | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.verdict}: {self.summary}"

    __repr__ = __str__

    @property
    def exit_status(self) -> int:
        """0 lossless, 1 lossy, 3 undecided."""
        return EXIT_STATUS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract: fractions as strings like ``"5/6"``."""
        return {
            "rule": self.rule.name,
            "parameters": {name: _plain(value) for name, value in self.rule.settings.items()},
            "verdict": self.verdict,
            "summary": self.summary,
            "scope": self.scope,
            "evidence": [
                {
                    "tier": e.tier,
                    "result": e.result,
                    "seconds": round(e.seconds, 4),
                    "detail": e.detail,
                    **({"data": _finite(e.data)} if e.data else {}),
                }
                for e in self.evidence
            ],
            "counterexample": counterexample_dict(self.counterexample),
            "largest": counterexample_dict(self.largest),
            "settings": self.settings,
            "warnings": list(self.warnings),
        }


def counterexample_dict(found: Counterexample | None) -> dict[str, Any] | None:
    """A counterexample as JSON, with every row that is needed to reproduce it."""
    if found is None:
        return None
    instance = found.instance
    return {
        "target": [str(a) for a in found.target],
        "draft": None if found.draft is None else [str(a) for a in found.draft],
        "emitted": [str(a) for a in found.emitted],
        "tv": str(found.tv),
        "context": list(found.context),
        "reached": str(found.reached),
        "undefined": str(found.undefined),
        "vocabulary": instance.vocabulary,
        "tree": str(instance.tree),
        "target_rows": _rows(instance.target),
        "draft_rows": _rows(instance.draft),
    }


def _rows(rows: Any) -> dict[str, list[str]]:
    """Rows by context, ``"0,1"``; the row at ``""`` stands for every context not listed."""
    default = rows.get((), None)
    return {
        ",".join(map(str, context)): [str(a) for a in row]
        for context, row in rows.items()
        if context == () or list(row) != list(default)
    }


def _finite(value: Any) -> Any:
    """The value with infinities and NaN as strings: JSON has no numbers for them."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Value) -> int | str:
    return str(value) if isinstance(value, Fraction) else value
