"""The commands `rules` and `check`."""

from __future__ import annotations

import sys
import textwrap
from typing import Any

import click

from losslesscheck.cli.outcome import guarded, json_text


@click.command("rules")
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
            listed: str = json_text(explain.list_dict()) if as_json else explain.list_text()
            return listed
        rule = rules.resolve(name)
        if as_json:
            return json_text(explain.explain_dict(rule))
        return explain.explain_text(rule, latex=latex)

    click.echo(guarded(run, debug))


@click.command("check")
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

    report = guarded(run, debug)
    if as_json:
        click.echo(json_text(report))
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
