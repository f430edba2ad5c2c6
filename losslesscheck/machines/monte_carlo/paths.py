"""How lanes part at decisions and come to their outcomes.

Only a decision (a flip, a comparison) on which lanes differ splits them: the run goes on with the
lanes that decided yes, and is repeated later for the others. A repetition computes nothing anew, since
every value is read from the record of the run until the decision is reached; the cost of a rule is
that of its primitives plus a few microseconds for every path of decisions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from losslesscheck.errors import BudgetExceeded, LosslesscheckError, RuleError, Undefined, raised
from losslesscheck.machines.monte_carlo.values import Group, Token, here
from losslesscheck.machines.vocabulary import Outcome

PRIMITIVES = 20_000
"""How often a rule may ask the machine on one path before it is taken to run for ever."""

Emit = Callable[[list[Any], int], None]
"""Receives an outcome: for every place a token or an array of tokens, and the number of lanes."""


class Paths:
    """Base of the machine of many lanes, which adds the primitives.

    Args:
        deadline: value of ``time.monotonic`` after which ``BudgetExceeded`` is raised.

    Attributes:
        group: the lanes that are being run.
        undefined: how many lanes have reached an undefined value.
        work: how many primitives have been computed, each as often as there were lanes, and entries
            of vectors that lanes do not share.
    """

    def __init__(self, vocabulary: int, deadline: float | None = None) -> None:
        self.vocabulary = vocabulary
        self.undefined = 0
        self.work = 0
        self.group = Group(0)
        self._deadline = deadline
        self._record: list[tuple[str, Any]] = []
        self._position = 0
        self._waiting: list[tuple[Group, list[tuple[str, Any]]]] = []

    def run(self, program: Callable[[], Outcome], lanes: int, emit: Emit) -> None:
        """Runs ``program`` in ``lanes`` lanes and hands every outcome to ``emit``.

        Raises:
            RuleError: if the rule raises, does what no rule may do, or does not end.
            BudgetExceeded: at the deadline.
        """
        self._waiting = [(Group(lanes), [])]
        while self._waiting:
            self.group, self._record = self._waiting.pop()
            self._position = 0
            self.forget()
            try:
                result = program()
            except (Undefined, ZeroDivisionError):
                self.undefined += self.group.lanes
            except (LosslesscheckError, RecursionError, MemoryError):
                raise
            except Exception as error:
                raise raised(error) from error
            else:
                self._check_outcome(result)
                emit([here(token) for token in result], self.group.lanes)
        # The values refer to the machine: without this they would wait for the garbage collector.
        self.group, self._record = Group(0), []
        self.forget()

    def forget(self) -> None:
        """Called before every repetition and at the end: drops what belongs to the one before."""

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """``compute()``, or what it gave when the run was recorded."""
        if self._position == len(self._record):
            self._check_budget()
            self._record.append((name, compute()))
        recorded, value = self._record[self._position]
        if recorded != name:
            raise RuleError(f"the rule does not repeat itself: {name} where it asked for {recorded} before")
        self._position += 1
        return value

    def decide(self, name: str, condition: Callable[[], Any]) -> bool:
        """The truth value of ``condition()``; where lanes differ they are split."""
        if self._position == len(self._record):
            self._check_budget()
            self._record.append((name, self._split(name, condition())))
        decision: bool = self.once(name, bool)
        return decision

    def _check_budget(self) -> None:
        self.work += self.group.lanes
        if len(self._record) >= PRIMITIVES:
            raise RuleError(f"the rule asked the machine {PRIMITIVES} times and did not return")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise BudgetExceeded("Monte Carlo: the time budget is used up")

    def _split(self, name: str, mask: Any) -> bool:
        if np.ndim(mask) == 0:
            return bool(mask)
        count = int(np.count_nonzero(mask))
        if count in (0, len(mask)):
            return count > 0
        others = Group(len(mask) - count, self.group, np.flatnonzero(~mask))
        self._waiting.append((others, [*self._record, (name, False)]))
        self.group = Group(count, self.group, np.flatnonzero(mask))
        return True

    def halve(self) -> None:
        """Puts half of the lanes off; nothing of the value at hand may have been computed yet."""
        places = np.arange(self.group.lanes)
        first, second = np.array_split(places, 2)
        self._waiting.append((Group(len(second), self.group, second), [*self._record]))
        self.group = Group(len(first), self.group, first)

    def lose(self, mask: Any) -> None:
        """Counts the lanes in ``mask`` as undefined and goes on with the others."""
        lost = int(np.count_nonzero(mask))
        if lost == 0:
            return
        if lost == np.size(mask):
            raise Undefined("a divisor or a normaliser is zero")
        self.undefined += lost
        self.group = Group(len(mask) - lost, self.group, np.flatnonzero(~mask))

    def _check_outcome(self, result: Any) -> None:
        if not isinstance(result, tuple) or not result:
            raise RuleError(f"the rule returned {result!r}, not a non-empty tuple of tokens")
        for place, token in enumerate(result):
            if isinstance(token, Token):
                continue
            if not isinstance(token, int) or isinstance(token, bool) or not 0 <= token < self.vocabulary:
                raise RuleError(f"the rule returned a tuple whose entry {place} is no token: {token!r}")
