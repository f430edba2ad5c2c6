"""Finite laws of emitted tokens and the criterion by which a law is lossless.

A draft-and-verify step emits a random, non-empty sequence of tokens. With A(w) the probability
that the emitted sequence begins with w, the step followed by plain decoding reproduces the target
if and only if A(wy) = p(y | w) · Σ_z A(wz) for every context w and every token y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

UNDEFINED: Final[tuple[Any, ...]] = ("undefined",)
"""The outcome of a path on which a rule reaches 0/0 or draws from an empty support."""

Law = Mapping[tuple[Any, ...], Any]
"""Emitted sequence (a tuple of token indices, or ``UNDEFINED``) → probability."""


@dataclass(frozen=True, slots=True)
class Row:
    """What follows one context.

    Attributes:
        context: the tokens emitted so far, w.
        reached: Σ_z A(wz), the probability that the step emits w and then something more.
        masses: A(wy) for every token y.
        expected: p(y | w) for every token y.
    """

    context: tuple[int, ...]
    reached: Any
    masses: list[Any]
    expected: Sequence[Any]

    @property
    def differences(self) -> list[Any]:
        """A(wy) − p(y | w) · Σ_z A(wz) for every token y; lossless means all zero."""
        return [a - self.reached * b for a, b in zip(self.masses, self.expected, strict=True)]

    @property
    def emitted(self) -> list[Any]:
        """The conditional law of the next token, A(wy) / Σ_z A(wz)."""
        return [a / self.reached for a in self.masses]

    @property
    def tv(self) -> Any:
        """Total variation between the conditional law and the target at this context."""
        return total_variation(self.emitted, self.expected)


def rows(law: Law, vocabulary: int, target: Callable[[tuple[int, ...]], Sequence[Any]]) -> Iterator[Row]:
    """The row of every context in the law, shorter contexts first.

    Args:
        law: emitted sequences and their probabilities; the undefined mass is left out.
        vocabulary: the number of tokens V.
        target: context → p(· | context), a sequence of length V.
    """
    levels: list[dict[tuple[int, ...], dict[int, Any]]] = [{}]  # by the length of the context
    for emitted, weight in law.items():
        if emitted != UNDEFINED:
            while len(levels) < len(emitted):
                levels.append({})
            levels[len(emitted) - 1].setdefault(emitted[:-1], {})[emitted[-1]] = weight
    reached: dict[tuple[int, ...], Any] = {}
    for length in reversed(range(len(levels))):  # A(w) is the law at w plus the sum of A(wz)
        for context, row in levels[length].items():
            values = list(row.values())
            reached[context] = total = sum(values[1:], values[0])
            if context:
                above, token = levels[length - 1].setdefault(context[:-1], {}), context[-1]
                above[token] = above[token] + total if token in above else total
    for level in levels:
        for context in sorted(level):
            row, total = level[context], reached[context]
            zero = total - total
            yield Row(context, total, [row.get(y, zero) for y in range(vocabulary)], target(context))


def total_variation(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """½ Σ |a − b|, in the numbers that the vectors hold.

    >>> from fractions import Fraction
    >>> total_variation([Fraction(1, 2), Fraction(1, 2)], [Fraction(1), Fraction(0)])
    Fraction(1, 2)
    """
    return sum(abs(x - y) for x, y in zip(a, b, strict=True)) / 2
