"""Enumeration by replay, shared by the machines that follow every path of a rule.

A rule is run again and again from the start, each time with a longer script of choices, until it
returns; the law is built backwards, from the leaves of that decision tree, so that equal outcomes
are added up as soon as they meet. A continuation handed to ``call`` is evaluated once for each
state that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from losslesscheck.errors import LosslesscheckError, RuleError, Undefined
from losslesscheck.law import UNDEFINED
from losslesscheck.machines.vocabulary import Outcome


class Choice(BaseException):
    """The script is used up: the rule asks for a choice among ``options``, (value, weight) pairs."""

    def __init__(self, options: list[tuple[Any, Any]]) -> None:
        self.options = options


@dataclass(frozen=True, slots=True)
class Call:
    """What ``call`` returns, for the rule to return in turn."""

    state: tuple[Any, ...]
    continuation: Callable[[], Outcome]


class Replay:
    """Base of the enumerating machines; they add the numbers."""

    one: Any

    def __init__(self) -> None:
        self._script: list[Any] = []
        self._position = 0
        self._laws: dict[tuple[Any, ...], dict[tuple[Any, ...], Any]] = {}

    def call(self, state: tuple[Any, ...], continuation: Callable[[], Outcome]) -> Call:
        return Call(state, continuation)

    def choose(self, options: Sequence[tuple[Any, Any]]) -> Any:
        """The value that the script prescribes here; the options are weighed if it says nothing."""
        if self._position < len(self._script):
            value = self._script[self._position]
            self._position += 1
            return value
        raise Choice(list(options))

    def law(self, program: Callable[[], Outcome]) -> dict[tuple[Any, ...], Any]:
        """Outcome → weight, with ``UNDEFINED`` for the paths that reach an undefined value."""
        return self._fold(program, [])

    def _fold(self, program: Callable[[], Outcome], script: list[Any]) -> dict[tuple[Any, ...], Any]:
        self._script, self._position = script, 0
        try:
            result = program()
        except Choice as choice:
            options = choice.options
        except (Undefined, ZeroDivisionError):
            return {UNDEFINED: self.one}
        except (LosslesscheckError, RecursionError, MemoryError):
            raise
        except Exception as error:
            raise RuleError(f"the rule raised {type(error).__name__}: {error}") from error
        else:
            if isinstance(result, Call):
                if result.state not in self._laws:
                    self._laws[result.state] = self._fold(result.continuation, [])
                return self._laws[result.state]
            self.check_outcome(result)
            return {result: self.one}
        if len(options) == 1:
            return self._fold(program, [*script, options[0][0]])
        total: dict[tuple[Any, ...], Any] = {}
        for value, weight in options:
            for outcome, mass in self._fold(program, [*script, value]).items():
                mass = weight * mass
                total[outcome] = total[outcome] + mass if outcome in total else mass
        return total

    def check_outcome(self, result: Any) -> None:
        """Raises ``RuleError`` unless ``result`` is a non-empty tuple of token indices."""
        if not isinstance(result, tuple) or not result:
            raise RuleError(f"the rule returned {result!r}, not a non-empty tuple of tokens")
        for place, token in enumerate(result):
            if not self.is_token(token):
                raise RuleError(f"the rule returned {result!r}, whose entry {place} is no token")

    def is_token(self, value: Any) -> bool:
        raise NotImplementedError
