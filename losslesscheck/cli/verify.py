"""The command `verify`."""

from __future__ import annotations

import contextlib
import inspect
import math
import sys
from typing import Any

import click

from losslesscheck.cli.options import Count, Widths, parameters_of, tree_of
from losslesscheck.cli.outcome import guarded, json_text
from losslesscheck.verdict import TIERS


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "show_default": True}
)
@click.option(
    "--rule", "-r", "name", required=True, metavar="NAME|FILE:FUNCTION", help="A rule, or your own function."
)
@click.option("--vocab", type=Count(), metavar="V", help="Vocabulary size of every rung.")
@click.option("--tree", type=Widths(), metavar="4,2,1", help="Draft tokens per node, by depth.")
@click.option("--width", type=Count(), metavar="K", help="Siblings at every node; with --depth.")
@click.option("--depth", type=Count(), metavar="N", help="Draft length; alone: a chain.")
@click.option(
    "--parents",
    metavar="-1,0,0",
    help="Any tree: for each draft token the index of the one above (-1: root).",
)
@click.option(
    "--tokens", metavar="7,3,5", help="With --parents: the draft tokens, where the rule fixes them."
)
@click.option("--samples", type=Count(), default="2e6", metavar="N", help="Monte-Carlo steps.")
@click.option("--seed", type=click.IntRange(min=0), default=0)
@click.option("--only", type=click.Choice(TIERS), multiple=True, help="Run this tier only; repeatable.")
@click.option("--positive-draft", is_flag=True, help="Suppose that q is positive everywhere.")
@click.option(
    "--distributions",
    type=click.Path(dir_okay=False),
    metavar="FILE.npz",
    help="Real rows: target [cases, γ+1, V], draft [cases, γ, V], draft_tokens [cases, γ].",
)
@click.option("--seconds", type=click.FloatRange(min=0.1), default=60.0, help="Time budget of each rung.")
@click.option("--memory", type=click.FloatRange(min=0.05), default=2.0, help="Memory budget, GiB.")
@click.option(
    "--certificates",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the proofs' certificates (for `losslesscheck check`).",
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False),
    metavar="FILE.jsonl",
    help="Sample in shards that are kept in this file, for as long as it takes; an interrupted run goes on.",
)
@click.option(
    "--executor",
    metavar="WHERE",
    help="With --save: processes, processes:4, serial or dask://HOST:PORT.  [default: processes]",
)
@click.option(
    "--shard",
    type=Count(),
    metavar="N",
    help="With --save: steps of a shard.  [default: some seconds' worth]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.pass_context
def verify(context: click.Context, /, name: str, as_json: bool, debug: bool, **options: Any) -> None:
    """Settle whether a rule reproduces the target's distribution.

    Exit status: 0 lossless, 1 lossy, 2 bad usage or input, 3 undecided. A rule's own parameters
    are options too, such as --threshold-acc 0.9; `losslesscheck rules NAME` lists them.
    """
    from losslesscheck.terminal import Progress, render_verdict

    def run() -> Any:
        from losslesscheck.budget import Budget
        from losslesscheck.errors import InputError
        from losslesscheck.ladder import verify as settle

        parameters = parameters_of(context.args)
        for own in parameters.keys() & inspect.signature(settle).parameters.keys() - {"parameters"}:
            raise InputError(f"there is no option --{own.replace('_', '-')}")
        if not math.isfinite(options["memory"]):
            raise InputError(f"memory: {options['memory']} is not a positive number")
        with contextlib.ExitStack() as stack:
            progress, watch = stack.enter_context(Progress()), None
            if options["save"] is not None:
                from losslesscheck.runs.live import View

                watch = stack.enter_context(View())
            return settle(
                name,
                vocabulary=options["vocab"],
                tree=tree_of(options),
                samples=options["samples"],
                seed=options["seed"],
                only=options["only"],
                positive_draft=options["positive_draft"],
                distributions=options["distributions"],
                budget=Budget(options["seconds"], int(options["memory"] * (1 << 30))),
                certificates=options["certificates"],
                progress=progress,
                save=options["save"],
                executor=options["executor"],
                shard=options["shard"],
                watch=watch,
                **parameters,
            )

    verdict = guarded(run, debug)
    if as_json:
        click.echo(json_text(verdict.to_dict()))
    else:
        render_verdict(verdict)
    sys.exit(verdict.exit_status)
