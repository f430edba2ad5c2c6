"""The exceptions that losslesscheck raises; every message is one line that names the culprit."""

from __future__ import annotations

import traceback
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)


class LosslesscheckError(Exception):
    """Base class of every error that losslesscheck raises on purpose."""


class InputError(LosslesscheckError, ValueError):
    """An argument is bad; nothing has been computed. The command line exits with status 2."""


class RuleError(InputError):
    """A rule does what no rule may do: raises, draws from what is no distribution, returns no tokens."""


def raised(error: Exception) -> RuleError:
    """The error of a rule that raised ``error``: what, and at which line of whose file."""
    message = f"the rule raised {type(error).__name__}: {error}"
    if isinstance(error, AttributeError) and hasattr(error.obj, "draw"):
        message = f"the rule asks the machine for {error.name!r}, which is no primitive of its vocabulary"
    elif isinstance(error, TypeError) and "flint" in str(error):
        message += "; a constant that is no integer is written m.number(Fraction(4, 5))"
    places = [
        f"{frame.filename}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_PACKAGE) or "/rules/" in frame.filename
    ]
    return RuleError(f"{message} (at {places[-1]})" if places else message)


class Undefined(LosslesscheckError):
    """A rule reached 0/0, x/0 or a draw from an empty support.

    Harmless exactly when the branch in which it happens has probability zero.
    """


class Undecided(LosslesscheckError):
    """A reading can neither prove nor refute; the message says what stopped it."""


class BudgetExceeded(Undecided):
    """A reading used up its time or memory budget, which the message names."""


class NotInstalled(LosslesscheckError):
    """A separate program is needed and missing; the message says how to install it.

    The command line exits with status 3: nothing was decided.
    """
