"""The command line. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import io
import sys

import click

from losslesscheck import __version__
from losslesscheck.cli.fit import fit
from losslesscheck.cli.proofs import proofs
from losslesscheck.cli.rules import check_certificates, list_rules
from losslesscheck.cli.simulate import simulate
from losslesscheck.cli.tune import tune
from losslesscheck.cli.verify import verify


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="losslesscheck")
def main() -> None:
    """Settles whether speculative decoding is lossless."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ✓ or γ gets a question mark


for command in (verify, list_rules, check_certificates, proofs, simulate, tune, fit):
    main.add_command(command)
