"""Mutants: implementations with one fault, and what must find it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from losslesscheck import rules
from losslesscheck.testing.subject import Subject
from tests.testing.mutants.chains import Verifier


@dataclass(frozen=True)
class Mutant:
    """An implementation with one fault.

    Attributes:
        name: what reports call it.
        implementation: the class; its rule is the one that it pretends to implement.
        wrong: the fault, in a line.
        caught_by: the items of the suite that must fail, such as ``law[dense]``: those that are there
            for such faults, not all that do.
        says: what their messages must say; where it is empty, what ``REASONS`` has for the check.
        seen: where such a fault was seen; empty if nowhere.
    """

    name: str
    implementation: type[Verifier]
    wrong: str
    caught_by: tuple[str, ...]
    says: str
    seen: str

    @property
    def rule(self) -> str:
        return self.implementation.rule

    def subject(self) -> Subject:
        """A fresh one: some mutants remember."""
        return subject_of(self.implementation)

    def reasons(self, item: str) -> tuple[str, ...]:
        """What the message of an item must say, one of these."""
        return (self.says,) if self.says else REASONS[item.partition("[")[0]]


POSSIBLE = ("has probability 0", "is not the likeliest, of equals the first,", "counts as accepted")

REASONS = {
    "path": ("counts as accepted",),
    "support": ("has probability 0", "is not the likeliest, of equals the first,"),
    "floats": POSSIBLE,
    "certain": POSSIBLE,
    "sizes": POSSIBLE,
    "vocabulary": (*POSSIBLE, "tokens of probability 0 at the end"),
    "repeatable": ("another outcome the second time", "of its seed"),
    "layout": ("another outcome where the arrays are",),
    "coins": ("the reference does otherwise",),
    "rows": ("another outcome",),
    "independence": ("are not independent",),
    "law": ("does not reproduce",),
    "acceptance": ("does not emit the sequences",),
}
"""What a failed check says, in one of these ways, if it found what it is there for. An exception, or
what is no outcome of a batch, fails every check; a mutant that is caught so names it."""

MUTANTS: dict[str, Mutant] = {}
"""All mutants by name."""


def subject_of(implementation: type[Verifier]) -> Subject:
    return Subject(implementation(), rules.get(implementation.rule).bind(**implementation.parameters))


def mutant(*caught_by: str, says: str = "", seen: str = "") -> Callable[[type[Verifier]], type[Verifier]]:
    """Registers a class as a mutant; its docstring says what is wrong with it."""

    def register(implementation: type[Verifier]) -> type[Verifier]:
        name = re.sub(r"(?<!^)(?=[A-Z])", " ", implementation.__name__).lower()
        assert name not in MUTANTS, name
        wrong = " ".join((implementation.__doc__ or "").split())
        MUTANTS[name] = Mutant(name, implementation, wrong, caught_by, says, seen)
        return implementation

    return register
