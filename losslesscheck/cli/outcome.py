"""What a command ends with: text or JSON, an error in one line, an exit status."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

import click

from losslesscheck.errors import LosslesscheckError, NotInstalled

BAD_INPUT = 2
NOT_DECIDED = 3
INTERNAL_ERROR = 4


def json_text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def plain(value: Any) -> Any:
    """An option's value as JSON has it; a list of one number is that number."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return str(value) if isinstance(value, Fraction) else value


def guarded(work: Callable[[], Any], debug: bool) -> Any:
    """The result of ``work``; an error becomes one line on standard error and the exit status."""
    try:
        return work()
    except NotInstalled as error:
        fail(error, debug, NOT_DECIDED)
    except LosslesscheckError as error:
        fail(error, debug, BAD_INPUT)
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


def fail(error: LosslesscheckError, debug: bool, status: int) -> NoReturn:
    if debug:
        traceback.print_exception(error)
        click.echo(getattr(error, "details", ""), err=True)
    click.echo(f"error: {error}", err=True)
    sys.exit(status)


def tell(what: str) -> None:
    click.echo(f"{what} …", err=True)
