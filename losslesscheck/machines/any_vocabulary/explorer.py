"""Exploring the decision tree of a rule over an unknown vocabulary.

As in ``replay``, a rule is run again and again from the start, each time with a longer script of choices.
Here the tree itself is kept, with the divisors met at every node, because the probabilities of getting
to them are asked for later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from losslesscheck.algebra.field import FieldFull, Rational
from losslesscheck.errors import LosslesscheckError, Undecided, raised
from losslesscheck.machines.any_vocabulary.coordinates import is_drawn
from losslesscheck.machines.any_vocabulary.decisions import Entries, Node

MOST_CHOICES = 60
MOST_PATHS = 20000


@dataclass(frozen=True)
class Ending:
    """How a path ends: the law of the next token, and for a rule that is written whole all tokens."""

    law: Entries
    emitted: tuple[str, ...] = ()


class Choice(BaseException):
    """The script is used up: (outcome, value, weight) of the options, and which outcome is generic."""

    def __init__(self, options: list[tuple[str | bool, Any, Rational]], generic: str | None = None) -> None:
        self.options = [option for option in options if not option[2].is_zero()]
        self.generic = generic


class Explorer:
    """Base of the machine; it adds the numbers.

    Args:
        fixed: the names of the fixed tokens.
    """

    def __init__(self, fixed: Sequence[str]) -> None:
        self.fixed = tuple(fixed)
        self._script: list[tuple[str | bool, Any]] = []
        self._position = 0
        self._node = Node(self.fixed)
        self._paths = 0

    def owe(self, divisor: Rational) -> None:
        """Notes what must not be zero where the path gets here with positive probability."""
        if not self.replaying:
            self._node.divisors.append(positive_lead(divisor))

    @property
    def known(self) -> tuple[str, ...]:
        """The tokens known at this point of the path."""
        script = self._script[: self._position]
        drawn = dict.fromkeys(o for o, _ in script if isinstance(o, str) and is_drawn(o))
        return (*self.fixed, *drawn)

    @property
    def replaying(self) -> bool:
        """Whether the next choice is one that was made before."""
        return self._position < len(self._script)

    def next(self) -> Any:
        """The value of the choice that is replayed here."""
        self._position += 1
        return self._script[self._position - 1][1]

    def decide(self, program: Callable[[], Ending]) -> Node:
        """The decision tree of ``program``.

        Raises:
            RuleError: if the rule raises.
            Undecided: if it does what this machine cannot follow.
            Case: if it asks for an argmax that ``largest`` does not have.
            FieldFull: if the symbols run out.
        """
        self._paths = 0
        return self._explore(program, [])

    def _explore(self, program: Callable[[], Ending], script: list[tuple[str | bool, Any]]) -> Node:
        if len(script) > MOST_CHOICES:
            raise Undecided(f"the rule makes more than {MOST_CHOICES} choices on a path")
        self._script, self._position = script, 0
        drawn = dict.fromkeys(o for o, _ in script if isinstance(o, str) and is_drawn(o))
        node = self._node = Node((*self.fixed, *drawn))
        try:
            ending = program()
        except Choice as choice:
            options, node.generic = choice.options, choice.generic
        except RecursionError:
            raise Undecided("the rule recurses too deeply") from None
        except (LosslesscheckError, FieldFull, MemoryError):
            raise
        except (TypeError, AttributeError, NotImplementedError) as error:
            raise Undecided(f"the rule does what this reading cannot follow: {error}") from error
        except Exception as error:
            raise raised(error) from error
        else:
            node.leaf, node.emitted = ending.law, ending.emitted
            self._paths += 1
            if self._paths > MOST_PATHS:
                raise Undecided(f"the rule has more than {MOST_PATHS} paths")
            return node
        for outcome, value, weight in options:
            node.edges.append((outcome, weight, self._explore(program, [*script, (outcome, value)])))
        return node


def positive_lead(f: Rational) -> Rational:
    """f or −f: a divisor and its negative are one."""
    return -f if f.numerator.leading_coefficient() < 0 else f
