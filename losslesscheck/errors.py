"""The exceptions that losslesscheck raises; every message is one line that names the culprit."""

from __future__ import annotations


class LosslesscheckError(Exception):
    """Base class of every error that losslesscheck raises on purpose."""


class InputError(LosslesscheckError, ValueError):
    """An argument is bad; nothing has been computed. The command line exits with status 2."""


class RuleError(InputError):
    """A rule does what no rule may do: raises, draws from what is no distribution, returns no tokens."""


class Undefined(LosslesscheckError):
    """A rule reached 0/0, x/0 or a draw from an empty support.

    Harmless exactly when the branch in which it happens has probability zero.
    """


class Undecided(LosslesscheckError):
    """A reading can neither prove nor refute; the message says what stopped it."""


class BudgetExceeded(Undecided):
    """A reading used up its time or memory budget, which the message names."""
