"""Enumeration by replay, shared by the machines that follow every path of a rule.

A rule is run again and again from the start, each time with a longer script of choices, until it
returns. A continuation handed to ``call`` is a state: it is evaluated once, however many paths lead
to it.

``Replay`` builds the law backwards, from the leaves of the decision tree, so that equal outcomes are
added up as soon as they meet; that keeps symbolic expressions small. ``Forward`` pushes the mass
from state to state instead, so that every outcome is touched once; that is faster where a number is
cheap and the outcomes are many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from losslesscheck.errors import LosslesscheckError, RuleError, Undefined, raised
from losslesscheck.law import UNDEFINED
from losslesscheck.machines.states import require_same
from losslesscheck.machines.vocabulary import Outcome

MOST_CHOICES = 1000
"""Choices on one path, without a ``call`` between them, after which a rule is taken to loop forever."""


class Choice(BaseException):
    """The script is used up: the rule asks for a choice among ``options``, (value, weight) pairs."""

    def __init__(self, options: list[tuple[Any, Any]]) -> None:
        self.options = options


@dataclass(slots=True)
class Call:
    """What ``call`` returns, for the rule to return in turn."""

    state: tuple[Any, ...]
    continuation: Callable[[], Outcome]


class Replay:
    """Base of the enumerating machines; they add the numbers."""

    zero: Any
    one: Any

    def __init__(self) -> None:
        self._script: list[Any] = []
        self._position = 0
        self._laws: dict[tuple[Any, ...], tuple[Callable[[], Outcome], dict[tuple[Any, ...], Any]]] = {}

    def call(self, state: tuple[Any, ...], continuation: Callable[[], Outcome]) -> Call:
        return Call(state, continuation)

    def choose(self, options: Sequence[tuple[Any, Any]]) -> Any:
        """The value that the script prescribes here; the options are weighed if it says nothing."""
        if self._position < len(self._script):
            value = self._script[self._position]
            self._position += 1
            return value
        self.check_length()
        raise Choice(list(options))

    def law(self, program: Callable[[], Outcome]) -> dict[tuple[Any, ...], Any]:
        """Outcome → weight, with ``UNDEFINED`` for the paths that reach an undefined value.

        Raises:
            RuleError: if the rule raises, returns no tokens or never returns.
        """
        try:
            return self._fold(program, [])
        except RecursionError:
            raise RuleError("the rule makes too many choices in a row: it may never return") from None

    def _fold(self, program: Callable[[], Outcome], script: list[Any]) -> dict[tuple[Any, ...], Any]:
        self._script, self._position = script, 0
        try:
            result = self.run(program)
        except Choice as choice:
            options = choice.options
        else:
            if isinstance(result, Call):
                if result.state not in self._laws:
                    law = self._fold(result.continuation, [])
                    self._laws[result.state] = result.continuation, law
                first, law = self._laws[result.state]
                require_same(result.state, first, result.continuation)
                return law
            return {result: self.one}
        if len(options) == 1:
            return self._fold(program, [*script, options[0][0]])
        total: dict[tuple[Any, ...], Any] = {}
        for value, weight in options:
            for outcome, mass in self._fold(program, [*script, value]).items():
                mass = weight * mass
                total[outcome] = total[outcome] + mass if outcome in total else mass
        return total

    def run(self, program: Callable[[], Outcome]) -> Any:
        """What the program returns under the present script: a ``Call``, an outcome or ``UNDEFINED``.

        Raises:
            RuleError: if the rule raises or returns no tokens.
        """
        try:
            result = program()
        except (Undefined, ZeroDivisionError):
            return UNDEFINED
        except (LosslesscheckError, RecursionError, MemoryError):
            raise
        except Exception as error:
            raise raised(error) from error
        if not isinstance(result, Call):
            self.check_outcome(result)
        elif not self.is_state(result.state):
            raise RuleError(
                f"the rule goes on in a state, {result.state!r}, that is no tuple of fixed values"
            )
        return result

    def is_state(self, state: Any) -> bool:
        """Whether states can be told apart by it."""
        try:
            hash(state)
        except TypeError:
            return False
        return isinstance(state, tuple)

    def check_outcome(self, result: Any) -> None:
        """Raises ``RuleError`` unless ``result`` is a non-empty tuple of token indices."""
        if not isinstance(result, tuple) or not result:
            raise RuleError(f"the rule returned {result!r}, not a non-empty tuple of tokens")
        for place, token in enumerate(result):
            if not self.is_token(token):
                raise RuleError(f"the rule returned {result!r}, whose entry {place} is no token")

    def check_length(self) -> None:
        """Raises ``RuleError`` if the path is longer than any rule's should be."""
        if self._position >= MOST_CHOICES:
            raise RuleError(f"the rule makes more than {MOST_CHOICES} choices: it may never return")

    def is_token(self, value: Any) -> bool:
        raise NotImplementedError


class Forward(Replay):
    """Enumeration that pushes masses forward through the states.

    A run goes on past the end of its script with the first option, and leaves the others to later
    runs, so that there are as many runs as leaves.
    """

    def __init__(self) -> None:
        super().__init__()
        self._weight: Any = None
        self._later: list[tuple[list[Any], Any]] = []

    def choose(self, options: Sequence[tuple[Any, Any]]) -> Any:
        if self._position < len(self._script):
            value = self._script[self._position]
            self._position += 1
            return value
        self.check_length()
        for value, weight in options[1:]:
            self._later.append(([*self._script, value], self._weight * weight))
        value, weight = options[0]
        self._script.append(value)
        self._position += 1
        self._weight = self._weight * weight
        return value

    def law(self, program: Callable[[], Outcome]) -> dict[tuple[Any, ...], Any]:
        """Outcome → weight, with ``UNDEFINED`` for the paths that reach an undefined value.

        Raises:
            RuleError: if the rule raises, returns no tokens or never returns.
        """
        numbers: dict[tuple[Any, ...], int] = {}
        continuations = [program]
        outcomes: list[list[tuple[tuple[Any, ...], Any]]] = []
        successors: list[dict[int, Any]] = []
        entrances = [0]  # how many states lead to each state
        for continuation in continuations:  # grows as states are found
            ends: list[tuple[tuple[Any, ...], Any]] = []
            nexts: dict[int, Any] = {}
            for result, weight in self._leaves(continuation):
                if isinstance(result, Call):
                    number = numbers.setdefault(result.state, len(continuations))
                    if number == len(continuations):
                        continuations.append(result.continuation)
                        entrances.append(0)
                    require_same(result.state, continuations[number], result.continuation)
                    if number not in nexts:
                        entrances[number] += 1
                    nexts[number] = nexts[number] + weight if number in nexts else weight
                else:
                    ends.append((result, weight))
            outcomes.append(ends)
            successors.append(nexts)

        total: dict[tuple[Any, ...], Any] = {}
        masses = [self.zero] * len(continuations)
        masses[0] = self.one
        ready, done = [0], 0  # states whose mass is complete
        while ready:
            state = ready.pop()
            mass = masses[state]
            done += 1
            for outcome, weight in outcomes[state]:
                weight = mass * weight
                total[outcome] = total[outcome] + weight if outcome in total else weight
            for number, weight in successors[state].items():
                masses[number] = masses[number] + mass * weight
                entrances[number] -= 1
                if entrances[number] == 0:
                    ready.append(number)
        if done < len(continuations):
            raise RuleError("the rule comes back to a state that it has been in: it may never return")
        return total

    def _leaves(self, program: Callable[[], Outcome]) -> list[tuple[Any, Any]]:
        """What every path of the program returns, with the path's weight."""
        leaves = []
        self._later = [([], self.one)]
        while self._later:
            self._script, self._weight = self._later.pop()
            self._position = 0
            leaves.append((self.run(program), self._weight))
        return leaves
