"""The suite: which checks there are, what applies to an implementation, and how they are run.

The level ``alpha`` is shared out equally among the statistical checks that apply; the probability that
a correct implementation fails any of them is at most their sum. The other checks involve no chance.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.testing.conformance import (
    acceptance,
    agreement,
    certain,
    form,
    independence,
    laws,
    outcomes,
    rows,
    sizes,
)
from losslesscheck.testing.conformance.check import (
    Check,
    Failure,
    Inapplicable,
    Item,
    Result,
    Settings,
    Trial,
)
from losslesscheck.testing.message import wrapped
from losslesscheck.testing.subject import Subject, SubjectError

CHECKS: tuple[Check, ...] = (
    *form.CHECKS,
    *outcomes.CHECKS,
    *certain.CHECKS,
    *sizes.CHECKS,
    *agreement.CHECKS,
    *rows.CHECKS,
    *independence.CHECKS,
    *laws.CHECKS,
    *acceptance.CHECKS,
)
"""All checks, the quick ones first."""


def items(subject: Subject, settings: Settings) -> list[Item]:
    """All checks on all their cases; those that do not apply to the subject say why.

    Raises:
        InputError: if it is no subject, or does not say which rule it implements.
    """
    if not isinstance(subject, Subject):
        name = getattr(subject, "__qualname__", type(subject).__name__)
        raise InputError(f"subject: {name} is no Subject: losslesscheck.testing.subject makes one of it")
    if subject.rule is None:
        raise InputError(f"rule: {subject.name} does not say which rule it implements")
    found = [Item(check, case, skip) for check in CHECKS for case, skip in check.cases(subject).items()]
    chancy = [item.check.statistical and not item.skip for item in found]
    level = settings.alpha / max(sum(chancy), 1)
    return [
        replace(item, level=level) if by_chance else item
        for item, by_chance in zip(found, chancy, strict=True)
    ]


def perform(item: Item, subject: Subject, settings: Settings) -> Result:
    """Runs a check on a case. A subject that raises fails it; an error of the suite's own is raised."""
    start = time.perf_counter()

    def result(outcome: Any, message: str, data: Any) -> Result:
        measured = {**data, "false_alarm": item.level}
        return Result(item.id, outcome, wrapped(message), time.perf_counter() - start, measured)

    if item.skip:
        return Result(item.id, "skipped", item.skip, 0.0, {})
    try:
        with np.errstate(all="ignore"):  # overflow on the way to a right answer is no fault
            data = item.check.function(Trial(subject, item.case, item.level, settings))
    except Inapplicable as reason:
        return result("skipped", str(reason), {})
    except Failure as failure:
        return result("failed", str(failure), failure.data)
    except SubjectError as error:
        return result("failed", f"{error}. Seed {settings.seed}.", {})
    return result("passed", "", data)


def run(subject: Subject, settings: Settings, only: str | Collection[str] | None = None) -> list[Result]:
    """Runs the suite, or of it only the checks and items of these names and ids.

    Raises:
        InputError: for what is no subject, or has no rule, and for a name that no check has.
    """
    found = items(subject, settings)
    only = [only] if isinstance(only, str) else only
    known = {item.id for item in found} | {item.check.name for item in found}
    for name in only or ():
        if name not in known:
            raise InputError(f"only: there is no check {name!r}")
    return [
        perform(item, subject, settings)
        for item in found
        if only is None or item.id in only or item.check.name in only
    ]


def false_alarm(subject: Subject, settings: Settings) -> float:
    """A bound on the probability that a correct subject fails anything at all."""
    return sum(item.level for item in items(subject, settings))
