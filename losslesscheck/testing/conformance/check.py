"""What a check of the suite is, what it is handed, and how it says that an implementation fails it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from losslesscheck.errors import InputError
from losslesscheck.rule import Rule
from losslesscheck.testing.subject import Subject


class Failure(AssertionError):
    """An implementation fails a check; the message says all. ``data`` is what was measured."""

    def __init__(self, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.data = dict(data or {})


class Inapplicable(Exception):
    """A check turns out not to apply to an implementation; the message says why."""


@dataclass(frozen=True)
class Settings:
    """How thorough a run is.

    Attributes:
        alpha: bound on the probability that a correct implementation fails any check at all.
        min_tv: every statistical check is long enough to find a bias of this size, in TV, with
            probability .9: of the first token (law), of the emitted sequence (acceptance), of a pair
            of first tokens (independence). Where steps take long (large vocabularies, single rows)
            there are fewer of them; ``Result.data`` says what they show.
        samples: draft-and-verify steps of every statistical check, instead of ``min_tv``; what needs
            a batch of more rows than that, 70,000, is skipped.
        seed: of everything random.

    Raises:
        InputError: for values out of range.
    """

    alpha: float = 1e-9
    min_tv: float = 0.01
    samples: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha: {self.alpha} is not between 0 and 1")
        if not 0 < self.min_tv < 0.5:
            raise InputError(f"min_tv: {self.min_tv} is not between 0 and 1/2")
        if self.samples is not None and self.samples < 1:
            raise InputError(f"samples: {self.samples} is not positive")
        if self.seed < 0:
            raise InputError(f"seed: {self.seed} is negative")


@dataclass(frozen=True)
class Trial:
    """One check on one case of a subject.

    Attributes:
        subject: the implementation; it has a rule.
        case: the case's name; empty for a check without cases.
        level: how probable a false alarm may be; 0 for a check that has none.
        settings: of the run.
    """

    subject: Subject
    case: str
    level: float
    settings: Settings

    @property
    def rule(self) -> Rule:
        assert self.subject.rule is not None
        return self.subject.rule

    @property
    def seed(self) -> int:
        return self.settings.seed

    def rows(self, most: int) -> int:
        """The number of rows of a batch that is not counted: ``most``, or fewer for a quick run."""
        return min(most, self.settings.samples or most)

    def demand_rows(self, count: int) -> None:
        """Raises ``Inapplicable`` if a quick run has no batch of so many rows."""
        if self.settings.samples is not None and self.settings.samples < count:
            raise Inapplicable(f"samples = {self.settings.samples} is less than a batch of {count:,} rows")


Cases = Callable[[Subject], Mapping[str, str]]
"""The cases of a check by name, and why they do not apply to a subject; empty where they do."""


@dataclass(frozen=True)
class Check:
    """A property that every correct implementation has.

    Attributes:
        name: the first part of its ids.
        about: what it establishes, in a line.
        function: raises ``Failure`` or ``SubjectError`` where an implementation fails; returns what
            was measured.
        cases: its cases for a subject; one with an empty name where there is nothing to tell apart.
        statistical: whether a correct implementation may fail it, with a probability of at most the
            trial's level.
    """

    name: str
    about: str
    function: Callable[[Trial], Mapping[str, Any]]
    cases: Cases
    statistical: bool = False


@dataclass(frozen=True)
class Item:
    """A check on one case.

    Attributes:
        skip: why it does not apply to the subject; empty if it does.
        level: how probable it is at most that a correct implementation fails it.
    """

    check: Check
    case: str
    skip: str = ""
    level: float = 0.0

    @property
    def id(self) -> str:
        """``law[dense]``, or ``interface`` for a check without cases."""
        return f"{self.check.name}[{self.case}]" if self.case else self.check.name


@dataclass(frozen=True)
class Result:
    """What came of an item.

    Attributes:
        message: why it failed, or was skipped.
        data: what was measured, as JSON has it; ``false_alarm`` is the item's level.
    """

    id: str
    outcome: Literal["passed", "failed", "skipped"]
    message: str
    seconds: float
    data: dict[str, Any]
