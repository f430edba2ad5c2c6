"""The options that say how likely draft tokens are to be accepted, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from losslesscheck.cli.numbers import Numbers, Rows

OPTIONS = (
    click.option(
        "--alpha", type=Numbers(), metavar="A", help="One acceptance probability; a list or range sweeps."
    ),
    click.option(
        "--alphas", type=Numbers(), metavar="A1,A2,…", help="One for every position, given those before."
    ),
    click.option(
        "--siblings",
        type=Rows(),
        metavar="A,B,…;…",
        help="For every depth, P(this sibling is the accepted one).",
    ),
    click.option(
        "--beta",
        type=Numbers(),
        metavar="MEAN,SIZE",
        help="An α for every step, from Beta(MEAN·SIZE, (1−MEAN)·SIZE).",
    ),
)
SUPPOSED = (
    "Supposed: every sibling is accepted as likely as the first, whatever was rejected\n"
    "before it. Real ones are accepted less and less: measure them, and give --siblings."
)
"""What a tree rests on without acceptances of siblings."""

MODELS = ("alpha", "alphas", "siblings", "beta")


def acceptance_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of the acceptance models."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def models(options: dict[str, Any]) -> list[tuple[float | None, Any]]:
    """The acceptance models that the options ask for, each with its constant α if it has one.

    Raises:
        InputError: if none or several kinds are asked for, or a number is out of range.
    """
    from losslesscheck.errors import InputError
    from losslesscheck.sim import ByPosition, BySibling, Constant, Mixed

    given = [name for name in MODELS if options[name] is not None]
    if len(given) != 1:
        names = ", ".join(f"--{name}" for name in MODELS)
        said = f"not {' and '.join(f'--{name}' for name in given)} together" if given else "none is given"
        raise InputError(f"alpha: give one of {names}; {said}")
    if given == ["alpha"]:
        return [(alpha, Constant(alpha)) for alpha in options["alpha"]]
    if given == ["alphas"]:
        return [(None, ByPosition(options["alphas"]))]
    if given == ["siblings"]:
        rows = tuple(tuple(float(value) for value in row) for row in options["siblings"])
        return [(None, BySibling(rows))]
    if len(options["beta"]) != 2:
        raise InputError(f"beta: {len(options['beta'])} numbers, not a mean and a size")
    mean, size = options["beta"]
    return [(None, Mixed(mean, size, per="step"))]
