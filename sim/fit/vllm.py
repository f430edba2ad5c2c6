"""Acceptance from the counters that vLLM exports at /metrics.

vllm/v1/spec_decode/metrics.py of vllm-project/vllm defines four counters, to which Prometheus' client appends
``_total``: ``vllm:spec_decode_num_drafts`` (draft-and-verify steps), ``…_num_draft_tokens``,
``…_num_accepted_tokens`` (without the bonus token) and ``…_num_accepted_tokens_per_pos`` with a label
``position`` from 0 to num_speculative_tokens − 1, which is one higher for every step that accepted that
position and so all before it. Steps without drafts (a prompt lookup that found nothing) are not counted, nor
as drafted what a grammar ruled out (vllm/v1/core/sched/scheduler.py). The counters only ever grow, from the
start of the server on; the difference of two scrapes tells of the time between. llama.cpp's server exports
the same four with the prefix ``llamacpp:``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from losslesscheck.errors import InputError
from losslesscheck.sim.fit.histogram import Histogram
from losslesscheck.sim.fit.prometheus import Sample, chosen, count, one_model, parse

NAMES = re.compile(
    r"(?P<engine>vllm|llamacpp):spec_decode_"
    r"(?P<what>num_drafts|num_draft_tokens|num_accepted_tokens|num_accepted_tokens_per_pos)(?:_total)?"
)

Series = tuple[str, int, tuple[tuple[str, str], ...]]
"""What a counter counts, the position (−1: none), and its other labels."""


def vllm(text: str, *, before: str | None = None, labels: Mapping[str, str] | None = None) -> Histogram:
    """The histogram of accepted draft tokens that the per-position counters amount to.

    Of ``drafts`` steps ``position[i]`` accepted at least i + 1 draft tokens. Several engines of one model are
    added up.

    Args:
        text: what /metrics answered.
        before: an earlier scrape of the same server, which is subtracted.
        labels: only the series with these labels, such as ``{"model_name": "…", "engine": "0"}``.

    Raises:
        InputError: naming the line or the counter: an empty text, a counter that is missing, no whole number,
            or went down between the scrapes; positions that are not 0, 1, 2, …, or of which one was accepted
            more often than the one before it; no draft; several models.
    """
    counters = _counters(text, labels or {}, "metrics")
    if before is not None:
        counters = _difference(_counters(before, labels or {}, "before"), counters)
    sums: dict[tuple[str, int], int] = {}
    for (what, position, _), value in counters.items():
        sums[what, position] = sums.get((what, position), 0) + value
    drafts, tokens = sums["num_drafts", -1], sums["num_draft_tokens", -1]
    positions = sorted(position for what, position in sums if what == "num_accepted_tokens_per_pos")
    if positions != list(range(len(positions))):
        gap = next(i for i, position in enumerate(positions) if i != position)
        raise InputError(f"metrics: num_accepted_tokens_per_pos has no position {gap}")
    if drafts == 0:
        raise InputError("metrics: num_drafts is 0, nothing was drafted")
    reached = [drafts, *(sums["num_accepted_tokens_per_pos", position] for position in positions)]
    for position in positions:
        if reached[position + 1] > reached[position]:
            earlier = f"position {position - 1}" if position else "num_drafts"
            raise InputError(
                f"metrics: num_accepted_tokens_per_pos at position {position} is {reached[position + 1]}, "
                f"above {earlier} with {reached[position]}"
            )
    if tokens > drafts * len(positions):
        raise InputError(
            f"metrics: num_draft_tokens = {tokens}, but {drafts} drafts have {len(positions)} positions each"
        )
    accepted = [a - b for a, b in zip(reached, [*reached[1:], 0], strict=True)]
    return Histogram(tuple(accepted), tuple(_notes(reached, tokens, sums["num_accepted_tokens", -1])))


def _notes(reached: list[int], tokens: int, accepted: int) -> list[str]:
    notes = []
    drafts, positions = reached[0], len(reached) - 1
    if tokens < drafts * positions:
        notes.append(
            f"some drafts were shorter than {positions}: {tokens / drafts:.2f} draft tokens on average. A "
            "position that was not drafted counts as not accepted, so the acceptances are lower bounds"
        )
    if accepted != sum(reached[1:]):
        notes.append(
            f"num_accepted_tokens = {accepted}, but the positions add up to {sum(reached[1:])}: the scrape "
            "may have fallen between two updates"
        )
    return notes


def _counters(text: str, labels: Mapping[str, str], argument: str) -> dict[Series, int]:
    samples = parse(text, NAMES, argument)
    selected = chosen(samples, labels)
    if samples and not selected:
        raise InputError(f"labels: no speculative counter has {dict(labels)}")
    one_model(selected)
    found: dict[Series, int] = {}
    for sample in selected:
        series = _series(sample, argument)
        if series in found:
            raise InputError(f"{argument}: line {sample.line} repeats {sample.name} with the same labels")
        found[series] = count(sample, argument)
    for what in ("num_drafts", "num_draft_tokens", "num_accepted_tokens", "num_accepted_tokens_per_pos"):
        if not any(name == what for name, _, _ in found):
            raise InputError(f"{argument}: there is no counter vllm:spec_decode_{what}_total")
    return found


def _series(sample: Sample, argument: str) -> Series:
    match = NAMES.fullmatch(sample.name)
    assert match is not None
    labels = dict(sample.labels)
    position = -1
    if match["what"] == "num_accepted_tokens_per_pos":
        text = labels.pop("position", "")
        if not text.isdecimal():
            raise InputError(f"{argument}: line {sample.line}: label position = {text!r} is no position")
        position = int(text)
    return match["what"], position, tuple(sorted(labels.items()))


def _difference(before: dict[Series, int], after: dict[Series, int]) -> dict[Series, int]:
    for series, value in before.items():
        what, position, labels = series
        name = what if position < 0 else f"{what} at position {position}"
        if series not in after:
            raise InputError(f"metrics: {name} {dict(labels)} is in the earlier scrape only")
        if after[series] < value:
            raise InputError(
                f"metrics: {name} {dict(labels)} went down from {value} to {after[series]}; was the server "
                "restarted, or are the scrapes in the wrong order?"
            )
    return {series: value - before.get(series, 0) for series, value in after.items()}
