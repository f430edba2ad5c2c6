"""What a rule owes along a path: no divisor is zero, every flip lies in [0, 1], every draw has a law.

Obligations about divisors must hold where the path is alive at a true point. Bounds on probabilities must
hold on the relaxed domain (see ``known_signs``), since weights have to stay bounded near a true point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import fmpq_mpoly

from losslesscheck.algebra.field import Rational
from losslesscheck.errors import LosslesscheckError
from losslesscheck.machines.all_distributions.domain import Domain, SymbolVector
from losslesscheck.machines.all_distributions.entailment import Condition


class NotShown(LosslesscheckError):
    """Something that the rule owes does not follow; the message says what."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is true where a path is alive.

    Attributes:
        answer: (indicator's generator, its value) if a comparison said so, ``None`` if a weight.
    """

    condition: Condition
    answer: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Owed:
    """An obligation: where all of ``given`` holds, ``divisor`` is not zero.

    A zero divisor stands for an undefined value: the conditions must contradict one another.
    """

    what: str
    divisor: fmpq_mpoly
    given: tuple[Given, ...]


class Ledger:
    """The obligations of one rule.

    Attributes:
        given: what is true where the present path is alive.
        owed: obligations of the present state that do not follow from its own paths; they are handed to
            the paths that lead to it.
        discharged: the others, and how they follow.
        relied: the answers of comparisons on which a bound rests.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.given: list[Given] = []
        self.owed: list[Owed] = []
        self.discharged: list[tuple[Owed, str]] = []
        self.relied: set[tuple[int, int]] = set()

    def alive(self, weight: Rational) -> list[Given]:
        """What a positive weight says."""
        return self._positive(self.domain.signed_numerator(weight))

    def _positive(self, polynomial: fmpq_mpoly) -> list[Given]:
        return [Given(Condition(f, ">")) for f in self.domain.positive_factors(polynomial)]

    def divide(self, divisor: Rational) -> None:
        """The present path divides by ``divisor``."""
        numerator = self.domain.signed_numerator(divisor)
        self.owe(Owed(f"the divisor {short(divisor)}", numerator, tuple(self.given)))
        if self.domain.sign(numerator) > 0:
            self.given += self._positive(numerator)

    def undefined(self) -> None:
        """The present path reaches an undefined value."""
        self.owe(Owed("an undefined value", self.domain.field.zero.numerator, tuple(self.given)))

    def enter(self, owed: list[Owed]) -> None:
        """The present path leads to a state that owes this."""
        for debt in owed:
            self.owe(Owed(debt.what, debt.divisor, (*self.given, *debt.given)))

    def owe(self, owed: Owed) -> None:
        if how := self._follows(owed):
            self.discharged.append((owed, how))
        elif owed not in self.owed:
            self.owed.append(owed)

    def _follows(self, owed: Owed) -> str:
        """How the obligation follows from what is given, linearly; empty if it does not."""
        positive = {str(g.condition.polynomial) for g in owed.given if g.condition.relation == ">"}
        conditions = [g.condition for g in owed.given]
        if owed.divisor.is_zero():
            return "contradiction" if self.domain.implies(conditions, owed.divisor, True) else ""
        factors = self.domain.factors(owed.divisor)
        if all(str(f) in positive or str(-f) in positive for f, _ in factors):
            return "factor of the mass"
        for signed in (owed.divisor, -owed.divisor):
            if self.domain.implies(conditions, signed, strict=True):
                return "bound on the mass"
        return ""

    def settle(self, owed: Owed) -> None:
        """Discharges what no path to it could, by z3 over the reals.

        Raises:
            NotShown: if that does not work.
        """
        conditions = [g.condition for g in owed.given]
        if not owed.divisor.is_zero():
            conditions.append(Condition(owed.divisor, "=="))
        if not self.domain.nonlinear.refuted(conditions):
            zero = "" if owed.divisor.is_zero() else " may be zero where it"
            raise NotShown(f"{owed.what}{zero} is reached with positive probability")
        self.discharged.append((owed, "z3"))

    def bound(self, value: Rational, what: str) -> None:
        """``value`` must be non-negative wherever the path is alive, on the relaxed domain.

        Raises:
            NotShown: if that does not follow.
        """
        polynomial = self.domain.signed_numerator(value)
        if self.domain.sign(polynomial) > 0:
            return
        weights = [g for g in self.given if g.answer is None]
        # A comparison that allows equality bounds nothing near a point where atoms make it equal.
        answers = [
            g
            for g in self.given
            if g.answer is None
            or g.condition.relation == ">"
            or self.domain.nonlinear.symbols_only(g.condition.polynomial)
        ]
        for given in (weights, answers):
            conditions = [g.condition for g in given]
            if self.domain.implies(conditions, polynomial) or self.domain.nonlinear.refuted(
                [*conditions, Condition(polynomial, "<")], exact=False
            ):
                self.relied |= {g.answer for g in given if g.answer is not None}
                return
        raise NotShown(f"{what} could be negative: {short(value)}")

    def distribution(self, vector: SymbolVector, total: Rational) -> None:
        """The path draws from ``vector``, whose sum is ``total``.

        Raises:
            NotShown: if it is no distribution, for all that is known.
        """
        if not (total - self.domain.field.one).is_zero():
            raise NotShown(f"a draw is from a vector that does not sum to one: its sum is {short(total)}")
        for value in vector:
            self.bound(value, "an entry of a vector drawn from")


def short(value: Any, length: int = 120) -> str:
    """The text of a value, cut for a message."""
    text = str(value)
    return text if len(text) <= length else text[: length - 1] + "…"
