"""Polynomial identities tested at random points modulo a prime (Schwartz 1980, Zippel 1979)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from losslesscheck.checker.expression import evaluate, names

PRIME = 2**127 - 1
"""A Mersenne prime; a false identity of degree d passes at one point with probability d / PRIME."""

DEGREE = 60
"""The highest degree of the polynomials that ``factors_among`` can take."""


class Free(Mapping[str, int]):
    """A random value for every name that is asked for."""

    def __init__(self, values: dict[str, int] | None = None, y: str = "y") -> None:
        self._values = {} if values is None else values
        self._y = y

    def at(self, token: str) -> Free:
        """The same values with ``y`` standing for a token."""
        return Free(self._values, token)

    def __getitem__(self, name: str) -> int:
        name = name.replace("[y]", f"[{self._y}]")
        if name not in self._values:
            self._values[name] = random.SystemRandom().randrange(1, PRIME)
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def factors_among(a: str, others: Sequence[str]) -> bool:
    """Whether every irreducible factor of ``a`` is one of some expression in ``others``.

    It is decided on a random line. Of the others the numerators count, where they are written as one
    fraction. ``False`` too if it cannot be told.
    """
    line = _Line()
    try:
        left = _on_line(a, line)
        for other in others:
            divisor = _on_line(_numerator(other), line)
            while len(common := _gcd(left, divisor)) > 1:
                left = _divided(left, common)[0]
    except ValueError:
        return False
    return len(left) == 1


def _numerator(text: str) -> str:
    """``up`` of ``(up)/(down)``; else the text itself."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            rest = text[place + 1 :]
            whole = text.startswith("(") and rest.startswith("/(") and rest.endswith(")")
            return text[1:place] if whole else text
    return text


class _Line:
    """A random line in the space of all names."""

    def __init__(self) -> None:
        self._base, self._direction = Free(), Free()

    def at(self, t: int, used: set[str]) -> dict[str, int]:
        return {name: (self._base[name] + t * self._direction[name]) % PRIME for name in used}


def _on_line(text: str, line: _Line) -> list[int]:
    """The coefficients, lowest first, of a polynomial along a line.

    Raises:
        ValueError: if it is no polynomial of degree ``DEGREE`` or less.
    """
    used = names(text)
    try:
        values = [int(evaluate(text, line.at(t, used), PRIME)) for t in range(DEGREE + 3)]
    except ZeroDivisionError:
        raise ValueError("no polynomial") from None
    # Newton's divided differences at 0, 1, 2, …
    differences = list(values)
    for step in range(1, len(values)):
        inverse = pow(step, -1, PRIME)
        for place in range(len(values) - 1, step - 1, -1):
            differences[place] = (differences[place] - differences[place - 1]) * inverse % PRIME
    if any(differences[DEGREE + 1 :]):
        raise ValueError("no polynomial of small degree")
    coefficients: list[int] = []
    for node in range(DEGREE, -1, -1):
        shifted = [0, *coefficients]
        for place, coefficient in enumerate(coefficients):
            shifted[place] = (shifted[place] - node * coefficient) % PRIME
        shifted[0] = (shifted[0] + differences[node]) % PRIME if shifted else differences[node]
        coefficients = shifted
    return _trim(coefficients)


def _trim(coefficients: list[int]) -> list[int]:
    while coefficients and coefficients[-1] == 0:
        coefficients.pop()
    return coefficients


def _gcd(a: list[int], b: list[int]) -> list[int]:
    while b:
        a, b = b, _divided(a, b)[1]
    return a


def _divided(a: list[int], b: list[int]) -> tuple[list[int], list[int]]:
    """Quotient and remainder."""
    inverse = pow(b[-1], -1, PRIME)
    quotient = [0] * max(0, len(a) - len(b) + 1)
    remainder = list(a)
    while len(remainder) >= len(b):
        factor = remainder[-1] * inverse % PRIME
        shift = len(remainder) - len(b)
        quotient[shift] = factor
        for place, coefficient in enumerate(b):
            remainder[shift + place] = (remainder[shift + place] - factor * coefficient) % PRIME
        _trim(remainder)
    return quotient, remainder
