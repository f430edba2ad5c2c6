"""The command `proofs`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from losslesscheck.cli.options import parameters_of
from losslesscheck.cli.outcome import guarded, json_text, tell


@click.group("proofs", invoke_without_command=True)
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

        click.echo(guarded(lambda: json_text(show.list_dict()) if as_json else show.list_text(theory), debug))


@proofs.command("show")
@click.argument("theorem")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def show_theorem(theorem: str, as_json: bool, debug: bool) -> None:
    """Show a theorem: its claim, and its statement as Coq prints it."""
    from losslesscheck.proofs import show

    def run() -> str:
        return json_text(show.theorem_dict(theorem)) if as_json else show.theorem_text(theorem)

    click.echo(guarded(run, debug))


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
            found = rules.resolve(rule).bind(**parameters_of(context.args))
            text = begin(found) if theory else translate(found)
        except Undecided as reason:
            raise InputError(f"cannot translate {reason}") from None
        if not as_json:
            return text
        return json_text({"rule": found.name, "definition": text, "same_as": matching(found)})

    click.echo(guarded(run, debug))


@proofs.command("compile")
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def compile_theories(folder: str, debug: bool) -> None:
    """Compile the theories in a folder of your own, for a theory of yours that uses them."""

    def run() -> None:
        from losslesscheck.proofs.check import compile_into

        compile_into(Path(folder), tell=tell)

    guarded(run, debug)
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

        return check_installed(find(), thorough=thorough, renew=renew, tell=tell)

    report = guarded(run, debug)
    from losslesscheck.proofs import show

    click.echo(json_text(show.report_dict(report)) if as_json else show.report_text(report))
    sys.exit(0 if report.passed else 1)
