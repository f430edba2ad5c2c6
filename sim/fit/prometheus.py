"""Prometheus' text format, as far as counters and gauges need it.

One sample a line: ``name{label="value",…} number [timestamp]``; ``#`` begins a comment. See the exposition
formats in Prometheus' documentation (prometheus.io/docs/instrumenting/exposition_formats).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from losslesscheck.errors import InputError

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_SAMPLE = re.compile(
    rf'\s*(?P<name>{_NAME})\s*(?:\{{(?P<labels>(?:[^"}}]|"(?:[^"\\]|\\.)*")*)\}})?'
    r"\s+(?P<value>\S+)(?:\s+-?\d[\d.]*)?\s*(?:#.*)?$"
)
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


@dataclass(frozen=True)
class Sample:
    """One line.

    Attributes:
        line: its number, from 1.
    """

    name: str
    labels: Mapping[str, str]
    value: float
    line: int


def parse(text: str, names: re.Pattern[str], argument: str = "metrics") -> list[Sample]:
    """The samples whose names match ``names`` altogether; other lines are not looked at.

    Args:
        argument: how errors call the text.

    Raises:
        InputError: if the text is empty, or such a line is malformed; the message names the line.

    >>> parse('up{job="a"} 1', re.compile("up"))
    [Sample(name='up', labels={'job': 'a'}, value=1.0, line=1)]
    """
    if not text.strip():
        raise InputError(f"{argument}: the text is empty")
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        name = re.match(rf"\s*({_NAME})", line)
        if name is None or not names.fullmatch(name[1]):
            continue
        sample = _SAMPLE.match(line)
        if sample is None:
            raise InputError(f"{argument}: line {number} is no sample: {line.strip()[:80]}")
        try:
            value = float(sample["value"])
        except ValueError:
            raise InputError(f"{argument}: line {number}: {sample['value']!r} is no number") from None
        found.append(Sample(sample["name"], _labels(sample["labels"] or "", number, argument), value, number))
    return found


def chosen(samples: Iterable[Sample], labels: Mapping[str, str]) -> list[Sample]:
    """The samples with these labels, among others."""
    return [s for s in samples if all(s.labels.get(name) == value for name, value in labels.items())]


def count(sample: Sample, argument: str = "metrics") -> int:
    """The value of a counter of things.

    Raises:
        InputError: for what is no whole number from 0 up, NaN among them.
    """
    if not math.isfinite(sample.value) or sample.value < 0 or sample.value != int(sample.value):
        raise InputError(
            f"{argument}: line {sample.line}: {sample.name} = {sample.value} is not a whole number from 0 up"
        )
    return int(sample.value)


def one_model(samples: Iterable[Sample]) -> None:
    """Raises InputError if they are of several models, whose figures must not be added up."""
    models = sorted({s.labels["model_name"] for s in samples if "model_name" in s.labels})
    if len(models) > 1:
        raise InputError(f"labels: choose one model_name of {', '.join(models)}")


def _labels(text: str, line: int, argument: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    place = 0
    while place < len(text.rstrip()):
        match = _LABEL.match(text, place)
        if match is None:
            raise InputError(f"{argument}: line {line}: the labels are malformed: {{{text[:60]}}}")
        labels[match[1]] = re.sub(r"\\.", lambda escape: _ESCAPES.get(escape[0], escape[0]), match[2])
        place = match.end()
    return labels
