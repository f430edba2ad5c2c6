"""Fits: acceptance with intervals and a statement of fit, from a histogram or from a file of an engine's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import ByPosition, Constant
from losslesscheck.sim.fit.estimate import Estimate, by_position, constant
from losslesscheck.sim.fit.goodness import Goodness, goodness_of_fit
from losslesscheck.sim.fit.histogram import Counted, Histogram
from losslesscheck.sim.fit.mean import MeanFit
from losslesscheck.sim.fit.records import record
from losslesscheck.sim.fit.sglang import HISTOGRAMS, load, sglang_log, sglang_metrics, sglang_responses
from losslesscheck.sim.fit.vllm import vllm


@dataclass(frozen=True)
class Fit:
    """What a histogram says about acceptance.

    Attributes:
        histogram: of accepted draft tokens.
        confidence: of the interval of ``alpha``, and of those of ``alphas`` all together (family-wise).
        alpha: the one α of greatest likelihood.
        alphas: acceptance at position 1, 2, … given that all before were accepted, as far as steps came.
        goodness: is one α enough? ``None`` where nothing could speak against it: see ``statement``.
    """

    histogram: Histogram
    confidence: float
    alpha: Estimate
    alphas: tuple[Estimate, ...]
    goodness: Goodness | None

    @property
    def statement(self) -> str:
        """Whether one α is enough, in words."""
        if self.goodness is not None:
            return self.goodness.statement
        if len(self.alphas) < 2:
            return "Only one position was come to: whether one α is enough cannot be told."
        return "All draft tokens met the same fate: nothing speaks against one α."

    @property
    def constant(self) -> Constant:
        """The acceptance model of one α."""
        return Constant(self.alpha.value)

    @property
    def by_position(self) -> ByPosition:
        """The acceptance model of the vector, as far as steps came."""
        return ByPosition(tuple(estimate.value for estimate in self.alphas))


def fit(histogram: Histogram, *, confidence: float = 0.95) -> Fit:
    """Acceptance with intervals, and whether one α is enough.

    Raises:
        InputError: for a confidence outside (0, 1).

    >>> fit(Histogram((200, 160, 640))).alpha.value
    0.8
    """
    return Fit(
        histogram,
        confidence,
        constant(histogram, confidence=confidence),
        by_position(histogram, confidence=confidence),
        goodness_of_fit(histogram),
    )


def read(
    text: str,
    *,
    before: str | None = None,
    labels: Mapping[str, str] | None = None,
    draft_length: int | None = None,
    counted: Counted | None = None,
    case: str | None = None,
) -> Histogram | MeanFit:
    """What a file tells, whichever of the known kinds it is.

    vLLM's or llama.cpp's counters, SGLang's gauges, log or answers, this project's records, or a JSON list of
    counts by length. A mean is all that SGLang's gauges and log have.

    Args:
        before: an earlier scrape, for counters.
        labels: which series, for metrics.
        draft_length: γ, where the file does not tell it.
        counted: what the lengths of a bare list count; must be said for one.
        case: which of several records.

    Raises:
        InputError: for a file of no known kind, an argument that it has no use for, and as the reader of the
            kind says.
    """
    kind, given = _kind(text), {"before": before, "labels": labels, "draft_length": draft_length}
    given |= {"counted": counted, "case": case}
    for name, value in given.items():
        if value is not None and name not in _USES[kind]:
            raise InputError(f"{name}: not used for {kind}")
    if kind == "vLLM's counters":
        return vllm(text, before=before, labels=labels)
    if kind == "SGLang's gauges":
        return sglang_metrics(text, draft_length=draft_length, labels=labels)
    if kind == "SGLang's log":
        if draft_length is None:
            raise InputError("draft_length: needed, SGLang's log does not tell it")
        return sglang_log(text, draft_length=draft_length)
    if kind == "SGLang's answers":
        return sglang_responses(text, draft_length=draft_length)
    if kind == "a list of counts":
        if counted is None:
            raise InputError(
                "counted: say whether the lengths count 'accepted' draft tokens or 'tokens' per step"
            )
        return Histogram.of(load(text), counted=counted, draft_length=draft_length)
    if draft_length is None:
        raise InputError("draft_length: needed, a record does not tell it")
    return record(text, draft_length=draft_length, case=case)


_USES = {
    "vLLM's counters": ("before", "labels"),
    "SGLang's gauges": ("labels", "draft_length"),
    "SGLang's log": ("draft_length",),
    "SGLang's answers": ("draft_length",),
    "a list of counts": ("draft_length", "counted"),
    "a record": ("draft_length", "case"),
}


def _kind(text: str) -> str:
    if not text.strip():
        raise InputError("file: it is empty")
    dated = re.match(r"\s*\[\d{4}-\d\d", text)  # as SGLang's log begins
    if text.lstrip()[0] in "[{" and not dated:
        if any(f'"{name}"' in text for name in HISTOGRAMS):
            return "SGLang's answers"
        if '"spec_verify_ct"' in text:
            return "SGLang's answers"  # whose reader says what they lack
        value = load(text)
        return "a list of counts" if isinstance(value, list) and not _nested(value) else "a record"
    if "Decode batch" in text:
        return "SGLang's log"
    if "spec_decode_num" in text:
        return "vLLM's counters"
    if "sglang:spec_" in text:
        return "SGLang's gauges"
    raise InputError(
        "file: neither vLLM's or llama.cpp's speculative counters, nor SGLang's gauges, log or answers, "
        "nor JSON"
    )


def _nested(value: list[object]) -> bool:
    return any(isinstance(below, (dict, list)) for below in value)
