"""The command line. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import math
import sys
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from losslesscheck import __version__
from losslesscheck.errors import LosslesscheckError, NotInstalled
from losslesscheck.verdict import TIERS

BAD_INPUT = 2
NOT_DECIDED = 3
INTERNAL_ERROR = 4


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="losslesscheck")
def main() -> None:
    """Settles whether speculative decoding is lossless."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ✓ or γ gets a question mark


class _Count(click.ParamType[int]):
    """A whole number that may be written 1e6."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        if not 1 <= number < float("inf") or number != int(number):
            self.fail(f"{value!r} is not a positive whole number", param, ctx)
        return int(number)


class _Widths(click.ParamType[tuple[int, ...]]):
    """Widths of a tree by depth: 4,2,1."""

    name = "widths"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is no list of widths such as 4,2,1", param, ctx)


@main.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "show_default": True}
)
@click.option(
    "--rule", "-r", "name", required=True, metavar="NAME|FILE:FUNCTION", help="A rule, or your own function."
)
@click.option("--vocab", type=_Count(), metavar="V", help="Vocabulary size of every rung.")
@click.option("--tree", type=_Widths(), metavar="4,2,1", help="Draft tokens per node, by depth.")
@click.option("--width", type=_Count(), metavar="K", help="Siblings at every node; with --depth.")
@click.option("--depth", type=_Count(), metavar="N", help="Draft length; alone: a chain.")
@click.option(
    "--parents",
    metavar="-1,0,0",
    help="Any tree: for each draft token the index of the one above (-1: root).",
)
@click.option(
    "--tokens", metavar="7,3,5", help="With --parents: the draft tokens, where the rule fixes them."
)
@click.option("--samples", type=_Count(), default="2e6", metavar="N", help="Monte-Carlo steps.")
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
    type=_Count(),
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

        parameters = _parameters(context.args)
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
                tree=_tree(options),
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

    verdict = _guarded(run, debug)
    if as_json:
        click.echo(_json(verdict.to_dict()))
    else:
        render_verdict(verdict)
    sys.exit(verdict.exit_status)


@main.command("rules")
@click.argument("name", required=False)
@click.option("--latex", is_flag=True, help="The step identity as LaTeX.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def list_rules(name: str | None, latex: bool, as_json: bool, debug: bool) -> None:
    """List the rules, or explain one.

    An explanation has the algorithm, the claim and its conditions, the parameters, the step identity
    and the evidence to expect. NAME may also be your own rule, FILE:FUNCTION.
    """

    def run() -> str:
        from losslesscheck import explain, rules

        if name is None:
            listed: str = _json(explain.list_dict()) if as_json else explain.list_text()
            return listed
        rule = rules.resolve(name)
        if as_json:
            return _json(explain.explain_dict(rule))
        return explain.explain_text(rule, latex=latex)

    click.echo(_guarded(run, debug))


@main.command("check")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def check_certificates(file: str, as_json: bool, debug: bool) -> None:
    """Recheck the certificates that `verify --certificates FILE` wrote.

    The checker shares no code with the provers. Exit status: 0 accepted, 1 rejected, 2 bad input.
    """

    def run() -> Any:
        from losslesscheck.certificate import recheck

        return recheck(file)

    report = _guarded(run, debug)
    if as_json:
        click.echo(_json(report))
    else:
        if not report["certificates"]:
            click.echo(f"{file} holds no certificate: nothing was proved, or nothing that can be rechecked")
        for entry in report["certificates"]:
            state = "rejected" if entry["problems"] else "accepted"
            line = f"{state}  {report['rule']}  {entry['statement']}"
            if entry["theorem"]:
                line += f" (the hypothesis of the theorem {entry['theorem']})"
            click.echo(textwrap.fill(line, 80, subsequent_indent="    "))
            for problem in entry["problems"]:
                click.echo(f"    {problem}")
    sys.exit(0 if report["accepted"] else 1)


@main.group("proofs", invoke_without_command=True)
@click.option("--theory", metavar="NAME", help="The theorems of this theory only, such as block.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.pass_context
def proofs(context: click.Context, theory: str | None, as_json: bool, debug: bool) -> None:
    """The machine-checked theorems: claim, theorem, file, test."""
    if context.invoked_subcommand is not None:
        if as_json:
            raise click.UsageError(f"--json goes after {context.invoked_subcommand}")
    else:
        from losslesscheck.proofs import show

        click.echo(_guarded(lambda: _json(show.list_dict()) if as_json else show.list_text(theory), debug))


@proofs.command("show")
@click.argument("theorem")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def show_theorem(theorem: str, as_json: bool, debug: bool) -> None:
    """Show a theorem: its claim, and its statement as Coq prints it."""
    from losslesscheck.proofs import show

    def run() -> str:
        return _json(show.theorem_dict(theorem)) if as_json else show.theorem_text(theorem)

    click.echo(_guarded(run, debug))


@proofs.command("translate", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("rule", metavar="NAME|FILE:FUNCTION")
@click.option("--theory", is_flag=True, help="A whole theory, with what is to be proved.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.pass_context
def translate_rule(context: click.Context, rule: str, theory: bool, as_json: bool, debug: bool) -> None:
    """Translate a rule's text to Coq, as texts.v has those of the library.

    The rule's own parameters are options, as in `verify`.
    """

    def run() -> str:
        from losslesscheck import rules
        from losslesscheck.errors import InputError, Undecided
        from losslesscheck.proofs.theory import theory as begin
        from losslesscheck.proofs.translate import matching, translate

        try:
            found = rules.resolve(rule).bind(**_parameters(context.args))
            text = begin(found) if theory else translate(found)
        except Undecided as reason:
            raise InputError(f"cannot translate {reason}") from None
        return (
            _json({"rule": found.name, "definition": text, "same_as": matching(found)}) if as_json else text
        )

    click.echo(_guarded(run, debug))


@proofs.command("compile")
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def compile_theories(folder: str, debug: bool) -> None:
    """Compile the theories in a folder of your own, for a theory of yours that uses them."""

    def run() -> None:
        from losslesscheck.proofs.check import compile_into

        compile_into(Path(folder), tell=_tell)

    _guarded(run, debug)
    click.echo(f"In {folder}: coqc -w none -Q . Losslesscheck YOURS.v")


@proofs.command("check")
@click.option("--thorough", is_flag=True, help="Recheck MathComp and Coq's own library too: minutes.")
@click.option("--renew", is_flag=True, help="If all else is well, write the audit anew.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def check_theorems(thorough: bool, renew: bool, as_json: bool, debug: bool) -> None:
    """Check every theorem with the Coq that is installed here.

    Compiles the theories, asks what every theorem rests on, has the result rechecked by coqchk, and
    compares texts and statements with the audit. Exit status: 0 passed, 1 failed, 3 Coq is not installed.
    """

    def run() -> Any:
        from losslesscheck.proofs.check import check_installed
        from losslesscheck.proofs.coq import find

        return check_installed(find(), thorough=thorough, renew=renew, tell=_tell)

    report = _guarded(run, debug)
    from losslesscheck.proofs import show

    click.echo(_json(show.report_dict(report)) if as_json else show.report_text(report))
    sys.exit(0 if report.passed else 1)


def _tell(what: str) -> None:
    click.echo(f"{what} …", err=True)


def _tree(options: dict[str, Any]) -> Any:
    from losslesscheck.errors import InputError
    from losslesscheck.tree import Tree

    given = [o for o in ("tree", "parents") if options[o] is not None]
    if options["width"] is not None or options["depth"] is not None:
        given.append("width")
    if len(given) > 1:
        raise InputError("tree: give one of --tree, --parents, or --width and --depth")
    if options["tokens"] is not None and options["parents"] is None:
        raise InputError("tokens: --tokens needs --parents")
    if options["parents"] is not None:
        tokens = None if options["tokens"] is None else _integers("tokens", options["tokens"])
        return Tree.from_parents(_integers("parents", options["parents"]), tokens)
    if "width" in given:
        return Tree.regular((options["width"] or 1,) * (options["depth"] or 1))
    return options["tree"]


def _integers(name: str, text: str) -> list[int]:
    from losslesscheck.errors import InputError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{name}: {text!r} is no list of integers") from None


def _parameters(arguments: list[str]) -> dict[str, str]:
    """The rule's own parameters among the command line's left-over arguments."""
    from losslesscheck.errors import InputError

    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        if not option.startswith("--"):
            raise InputError(f"unexpected argument {option!r}")
        name, equals, value = option[2:].partition("=")
        if not equals:
            if not rest:
                raise InputError(f"option --{name} needs a value")
            value = rest.pop(0)
        found[name.replace("-", "_")] = value
    return found


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _guarded(work: Callable[[], Any], debug: bool) -> Any:
    """The result of ``work``; an error becomes one line on standard error and the exit status."""
    try:
        return work()
    except NotInstalled as error:
        _fail(error, debug, NOT_DECIDED)
    except LosslesscheckError as error:
        _fail(error, debug, BAD_INPUT)
    except KeyboardInterrupt as interrupt:
        click.echo(str(interrupt) or "interrupted", err=True)
        sys.exit(130)
    except Exception as error:
        if debug:
            traceback.print_exception(error)
        click.echo(
            f"internal error: {type(error).__name__}: {error} (--debug shows where; please report it)",
            err=True,
        )
        sys.exit(INTERNAL_ERROR)


def _fail(error: LosslesscheckError, debug: bool, status: int) -> NoReturn:
    if debug:
        traceback.print_exception(error)
        click.echo(getattr(error, "details", ""), err=True)
    click.echo(f"error: {error}", err=True)
    sys.exit(status)
