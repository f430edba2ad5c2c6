"""Acceptance from what SGLang reports: gauges at /metrics, lines of its log, and its answers to requests.

Its *accept length* counts the bonus token: tokens emitted per verification. Gauges and log have nothing but
that mean over the last interval, so they give one α (``mean``). The answers to requests (``meta_info``) have
a histogram, which gives the whole vector: prefer them.

Names and definitions are those of sgl-project/sglang: srt/observability/metrics_collector.py (gauges
``sglang:spec_accept_length``, ``sglang:spec_accept_rate``, ``sglang:spec_num_steps``,
``sglang:spec_num_draft_tokens``), srt/observability/scheduler_metrics_mixin.py (the line ``Decode batch …
accept len: 2.83, accept rate: 0.61``) and srt/managers/tokenizer_manager.py
(``spec_correct_drafts_histogram``, before that ``spec_accept_histogram``: steps by accepted draft tokens,
without the bonus token). The accept *rate* was (accept length) / (draft tokens with the root) up to the
spring of 2026 (its pull request 23530), and is (accept length − 1) / (draft tokens without the root) since.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from losslesscheck.errors import InputError
from losslesscheck.sim.fit.histogram import Histogram, total
from losslesscheck.sim.fit.mean import MeanFit, from_means
from losslesscheck.sim.fit.prometheus import Sample, chosen, one_model, parse

NAMES = re.compile(r"sglang:spec_(?P<what>accept_length|accept_rate|num_steps|num_draft_tokens)")
LINE = re.compile(r"Decode batch.*?accept len: (?P<length>[^\s,]+)(?:, accept rate: (?P<rate>[^\s,]+))?")
RUNNING = re.compile(r"#running-req: (\d+)")
HISTOGRAMS = ("spec_correct_drafts_histogram", "spec_accept_histogram")

ROUNDING = 0.006
"""The log prints two decimals."""

SIMULATED = "if SGLANG_SIMULATE_ACC_LEN was set the lengths were forced, and tell nothing about any draft"


def sglang_metrics(
    text: str, *, draft_length: int | None = None, labels: Mapping[str, str] | None = None
) -> MeanFit:
    """One α from the gauges at /metrics, which tell of the last interval of the log only.

    Several ranks of one model are averaged with equal weights.

    Args:
        draft_length: γ; left out, the gauge ``spec_num_steps`` if the drafts are chains.
        labels: only the series with these labels.

    Raises:
        InputError: naming line or gauge: an empty text, no accept length, one that no γ allows (0, where
            nothing was decoded yet), NaN, several models, no γ.
    """
    samples = parse(text, NAMES)
    selected = chosen(samples, labels or {})
    if samples and not selected:
        raise InputError(f"labels: no speculative gauge has {dict(labels or {})}")
    one_model(selected)
    gauges: dict[str, list[Sample]] = {}
    for sample in selected:
        match = NAMES.fullmatch(sample.name)
        assert match is not None
        gauges.setdefault(match["what"], []).append(sample)
    if "accept_length" not in gauges:
        raise InputError("metrics: there is no gauge sglang:spec_accept_length")
    length = _chain(gauges) if draft_length is None else draft_length
    means, notes = [], ["a gauge tells of the last interval of the log only", SIMULATED]
    rates = {tuple(sorted(rate.labels.items())): rate for rate in gauges.get("accept_rate", [])}
    for sample in gauges["accept_length"]:
        where = f"metrics: line {sample.line}: {sample.name} = {sample.value:g}"
        means.append(_checked_length(sample.value, length, where))
        if (rate := rates.get(tuple(sorted(sample.labels.items())))) is not None:
            notes += _rate_notes(sample.value, rate.value, length, f"line {rate.line}")
    return from_means(means, draft_length=length, notes=tuple(dict.fromkeys(notes)))


def sglang_log(text: str, *, draft_length: int) -> MeanFit:
    """One α from the lines ``Decode batch … accept len: …`` of a log.

    A line tells of the verifications since the one before. Lines are weighted by their #running-req, where
    all have it: that is how many sequences an iteration verified when the line was written.

    Raises:
        InputError: for a text without such a line, and naming the line whose length no γ allows, or is NaN.

    >>> found = sglang_log("Decode batch, #running-req: 2, accept len: 1.50, …", draft_length=1)
    >>> round(found.alpha, 9)
    0.5
    """
    if not text.strip():
        raise InputError("log: the text is empty")
    means, weights, notes = [], [], []
    for number, line in enumerate(text.splitlines(), start=1):
        if (match := LINE.search(line)) is None:
            continue
        mean = _number(match["length"], number)
        means.append(_checked_length(mean, draft_length, f"log: line {number}: accept len {mean:g}"))
        running = RUNNING.search(line)
        weights.append(float(running[1]) if running else 0.0)
        if match["rate"]:
            notes += _rate_notes(mean, _number(match["rate"], number), draft_length, f"line {number}")
    if not means:
        raise InputError("log: no line 'Decode batch … accept len: …'; is speculative decoding on?")
    weighted = all(weights)
    notes.append("the lines are weighted by #running-req" if weighted else "all lines have the same weight")
    notes += ["the log rounds to .01", SIMULATED]
    return from_means(
        means,
        draft_length=draft_length,
        weights=weights if weighted else None,
        notes=tuple(dict.fromkeys(notes)),
    )


def sglang_responses(text: str, *, draft_length: int | None = None) -> Histogram:
    """The histogram of all answers in a JSON text: one answer, a list of them, or one a line.

    Args:
        draft_length: γ, on a tree its depth (``--speculative-num-steps``); left out, proposed drafts per
            verification, which is the same for chains only.

    Raises:
        InputError: for text that is no JSON, has no histogram or an impossible one, does not tell γ, or whose
            histogram does not add up to ``spec_verify_ct``.
    """
    found = []
    for place, answer in enumerate(_answers(load(text))):
        name = next(key for key in HISTOGRAMS if key in answer)
        counts, where = answer[name], f"answer {place}: {name}"
        if not isinstance(counts, list):
            raise InputError(f"{where} is {counts!r}, no list of counts")
        length, notes = draft_length, []
        steps, proposed = answer.get("spec_verify_ct"), answer.get("spec_num_proposed_drafts")
        if length is None:
            if not (
                isinstance(steps, int) and isinstance(proposed, int) and steps > 0 and proposed % steps == 0
            ):
                raise InputError(f"draft_length: needed, answer {place} does not tell it")
            length = proposed // steps
            notes = [
                f"the draft length {length} is right for chains only (topk 1); for a tree give its depth"
            ]
        try:
            histogram = Histogram.of(counts, counted="accepted", draft_length=length, notes=notes)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        if isinstance(steps, int) and steps != histogram.steps:
            raise InputError(f"{where} adds up to {histogram.steps}, but spec_verify_ct is {steps}")
        found.append(histogram)
    if not found:
        raise InputError(f"answers: none has {HISTOGRAMS[0]}; is speculative decoding on?")
    return total(found)


def load(text: str) -> Any:
    """JSON, or a list of the JSON values that stand one a line.

    Raises:
        InputError: naming the line that is no JSON.
    """
    if not text.strip():
        raise InputError("json: the text is empty")
    try:
        return json.loads(text)
    except ValueError as error:
        first = error
    values = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            values += [json.loads(line)] if line.strip() else []
        except ValueError:
            raise InputError(f"json: {first}" if number == 1 else f"json: line {number} is no JSON") from None
    return values


def _answers(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object with a histogram, wherever it stands: it depends on the endpoint."""
    if isinstance(value, dict):
        if any(value.get(name) for name in HISTOGRAMS):
            yield value
        else:
            for below in value.values():
                yield from _answers(below)
    elif isinstance(value, list):
        for below in value:
            yield from _answers(below)


def _chain(gauges: Mapping[str, list[Sample]]) -> int:
    """γ, if gauges tell that the drafts are chains."""
    values = {
        what: {sample.value for sample in gauges.get(what, [])} for what in ("num_steps", "num_draft_tokens")
    }
    if any(len(found) != 1 for found in values.values()):
        raise InputError(
            "draft_length: needed, the gauges spec_num_steps and spec_num_draft_tokens do not tell it"
        )
    steps, tokens = values["num_steps"].pop(), values["num_draft_tokens"].pop()
    if steps != int(steps) or tokens != steps + 1:
        raise InputError(
            f"draft_length: spec_num_steps = {steps:g} and spec_num_draft_tokens = {tokens:g} are those of a "
            "tree, whose mean does not give one α by Eq. 1"
        )
    return int(steps)


def _checked_length(mean: float, draft_length: int, what: str) -> float:
    if not 1 - ROUNDING <= mean <= draft_length + 1 + ROUNDING:  # also refuses NaN
        reason = "nothing was decoded yet, or without drafts" if mean == 0 else "the bonus token is counted"
        raise InputError(f"{what} is outside [1, {draft_length + 1}]: {reason}")
    return min(max(mean, 1.0), draft_length + 1.0)


def _rate_notes(mean: float, rate: float, draft_length: int, where: str) -> list[str]:
    now, once = (mean - 1) / draft_length, mean / (draft_length + 1)
    if min(abs(rate - now), abs(rate - once)) <= 2 * ROUNDING:
        return []
    return [
        f"{where}: no chain of {draft_length} draft tokens has accept rate {rate:g} at accept length "
        f"{mean:g}, under either definition; is the draft length another, or the draft a tree?"
    ]


def _number(text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"log: line {line}: {text!r} is no number") from None
