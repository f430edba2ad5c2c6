"""The command `fit`."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import click

from losslesscheck.cli.options import Count
from losslesscheck.cli.outcome import guarded, json_text


@click.command(context_settings={"show_default": True})
@click.argument("file", type=click.Path(dir_okay=False))
@click.option(
    "--before", type=click.Path(dir_okay=False), metavar="FILE", help="An earlier scrape of the counters."
)
@click.option(
    "--label", multiple=True, metavar="NAME=VALUE", help="Of several series, those with this label."
)
@click.option("--gamma", type=Count(), metavar="N", help="Draft length, where the file does not tell it.")
@click.option(
    "--counted",
    type=click.Choice(("accepted", "tokens")),
    help="What the lengths of a bare list count: accepted draft tokens, or tokens per step (one more).",
)
@click.option("--case", metavar="NAME", help="Of several records, this one.")
@click.option("--confidence", type=float, default=0.95, metavar="L", help="Of the intervals, all together.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def fit(file: str, as_json: bool, debug: bool, **options: Any) -> None:
    """Fit acceptance to what an engine reports.

    FILE (- for standard input) is vLLM's or llama.cpp's Prometheus text, SGLang's metrics, log or
    answers, a record of losslesscheck, or a JSON list of how many steps had each length.
    """

    def run() -> str:
        from losslesscheck.sim import fit as fitting
        from losslesscheck.sim.fit import MeanFit, read

        found = read(
            _text(file, "file"),
            before=None if options["before"] is None else _text(options["before"], "before"),
            labels=_labels(options["label"]) or None,
            draft_length=options["gamma"],
            counted=options["counted"],
            case=options["case"],
        )
        if isinstance(found, MeanFit):
            return json_text(_mean_dict(found)) if as_json else _mean_text(found)
        fitted = fitting.fit(found, confidence=options["confidence"])
        return json_text(_dict(fitted)) if as_json else _fitted_text(fitted)

    click.echo(guarded(run, debug))


def _text(file: str, name: str) -> str:
    from losslesscheck.errors import InputError

    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: {error}") from None


def _labels(given: tuple[str, ...]) -> dict[str, str]:
    from losslesscheck.errors import InputError

    found = {}
    for label in given:
        name, equals, value = label.partition("=")
        if not equals:
            raise InputError(f"label: {label!r} is not NAME=VALUE")
        found[name] = value
    return found


def _dict(fitted: Any) -> dict[str, Any]:
    def estimate(e: Any) -> dict[str, Any]:
        return {"value": e.value, "interval": [e.low, e.high], "accepted": e.accepted, "tried": e.tried}

    goodness = fitted.goodness
    return {
        "accepted": list(fitted.histogram.accepted),
        "draft_length": fitted.histogram.draft_length,
        "tokens_per_step": fitted.histogram.tokens_per_step,
        "confidence": fitted.confidence,
        "alpha": estimate(fitted.alpha),
        "alphas": [estimate(e) for e in fitted.alphas],
        "one_alpha": None if goodness is None else {"g": goodness.g, "p_value": goodness.p_value},
        "statement": fitted.statement,
        "notes": list(fitted.histogram.notes),
    }


def _mean_dict(mean: Any) -> dict[str, Any]:
    return {
        "tokens_per_step": mean.tokens_per_step,
        "draft_length": mean.draft_length,
        "alpha": {"value": mean.alpha, "interval": None},
        "windows": mean.windows,
        "notes": list(mean.notes),
    }


def _fitted_text(fitted: Any) -> str:
    histogram = fitted.histogram
    steps = sum(histogram.accepted)
    lines = [
        f"{steps:,} steps of {histogram.draft_length} draft tokens: "
        f"{histogram.tokens_per_step:.4f} tokens per step, bonus token counted",
        "",
        f"one α       {_interval(fitted.alpha)}",
    ]
    lines += [f"position {i:<3}{_interval(e)}" for i, e in enumerate(fitted.alphas, 1)]
    lines += ["", *textwrap.wrap(fitted.statement, 80)]
    for note in histogram.notes:
        lines += textwrap.wrap(f"Note: {note}", 80)
    return "\n".join([*lines, "", *_next(histogram.draft_length, fitted.alphas)])


def _next(draft_length: int, alphas: Any) -> list[str]:
    vector = ",".join(f"{e.value:.4f}" for e in alphas)
    return [f"losslesscheck simulate --alphas {vector}"] if len(alphas) == draft_length else []


def _interval(e: Any) -> str:
    return f"{e.value:.4f}   {e.low:.4f} … {e.high:.4f}   ({e.accepted:,} of {e.tried:,})"


def _mean_text(mean: Any) -> str:
    lines = [
        f"{mean.tokens_per_step:.4f} tokens per step of {mean.draft_length} draft tokens, "
        f"bonus token counted: α = {mean.alpha:.4f}",
    ]
    for note in mean.notes:
        lines += textwrap.wrap(f"Note: {note}", 80)
    return "\n".join(lines)
