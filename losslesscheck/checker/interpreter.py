"""A tiny interpreter of rules for given rational distributions, for the checker's eyes only.

It follows every path that has positive probability, in `fractions.Fraction`, and notes on each what was
chosen, with which probability, what was divided by and what was compared. Tokens are the integers
0 … V − 1; on a path they carry the labels of the certificate: ``t1`` for a fixed token, ``x1`` for the first
drawn token that is no fixed one, ``x2`` for the next new one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any


class RuleProblem(Exception):
    """The rule does something that contradicts the certificate."""


class _Choice(BaseException):
    def __init__(self, options: list[tuple[Any, str | bool, Fraction]]) -> None:
        self.options = options


@dataclass(frozen=True)
class Divisor:
    """A divisor: after how many choices, its value, and whether there is an alternative to dividing."""

    before: int
    value: Fraction
    alternative: bool


@dataclass
class Path:
    """A path of positive probability.

    Attributes:
        choices: (outcome, probability) of every choice; the outcome of a draw is the token's label.
        values: the token drawn, or the truth value, of every choice.
        labels: label → token.
        divisors: what was divided by, and the differences that a comparison supposes not to be zero.
        law: the law of the next token where the path ends.
        emitted: the tokens emitted, by a rule that is written whole.
    """

    choices: list[tuple[str | bool, Fraction]]
    labels: dict[str, int]
    values: list[int] = field(default_factory=list)
    divisors: list[Divisor] = field(default_factory=list)
    law: list[Fraction] = field(default_factory=list)
    emitted: tuple[int, ...] = ()

    @property
    def mass(self) -> Fraction:
        return self.mass_before(len(self.choices))

    def mass_before(self, count: int) -> Fraction:
        result = Fraction(1)
        for _, probability in self.choices[:count]:
            result *= probability
        return result


class Number:
    """A fraction that tells the machine what it is divided by and compared with."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, m: Interpreter, value: Fraction) -> None:
        self.m, self.value = m, value

    def _with(self, other: Any, operation: Callable[[Any, Any], Any], swap: bool = False) -> Any:
        if not isinstance(other, (Number, int, Fraction)):
            return NotImplemented
        a, b = self.value, self.m.value(other)
        return Number(self.m, operation(b, a) if swap else operation(a, b))

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, operator.sub, swap=True)

    def __neg__(self) -> Number:
        return Number(self.m, -self.value)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, self.m.divide)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, self.m.divide, swap=True)

    def __lt__(self, other: Any) -> Any:
        return self.m.compare(self, other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self.m.compare(self, other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self.m.compare(self, other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self.m.compare(self, other, operator.ge)

    def __eq__(self, other: object) -> Any:
        return self.m.compare(self, other, operator.eq)

    def __bool__(self) -> bool:
        return not self.m.compare(self, 0, operator.eq)


class Vector:
    """One fraction for every token."""

    def __init__(self, m: Interpreter, values: Sequence[Fraction]) -> None:
        self.m, self.values = m, list(values)

    def __getitem__(self, token: int) -> Number:
        return Number(self.m, self.values[token])

    def _with(self, other: Any, operation: Callable[[Fraction, Fraction], Fraction]) -> Any:
        if not isinstance(other, Vector):
            return NotImplemented
        return Vector(self.m, list(map(operation, self.values, other.values)))

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __mul__(self, factor: Any) -> Vector:
        return Vector(self.m, [a * self.m.value(factor) for a in self.values])

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Vector:
        inverse = self.m.divide(Fraction(1), self.m.value(divisor))
        return Vector(self.m, [a * inverse for a in self.values])


class Coin:
    """Uniform on [low, high), which shrinks with every comparison."""

    def __init__(self, m: Interpreter) -> None:
        self.m, self.low, self.high = m, Fraction(0), Fraction(1)

    def __lt__(self, threshold: Any) -> bool:
        bound = min(max(self.m.value(threshold), self.low), self.high)
        share = self.m.divide(bound - self.low, self.high - self.low)
        below = self.m.flip(Number(self.m, share))
        if below:
            self.high = bound
        else:
            self.low = bound
        return below

    __le__ = __lt__

    def __mul__(self, factor: Number) -> ScaledCoin:
        return ScaledCoin(self, factor)

    __rmul__ = __mul__


class ScaledCoin:
    def __init__(self, coin: Coin, factor: Number) -> None:
        self.coin, self.factor = coin, factor

    def __lt__(self, bound: Any) -> bool:
        if self.factor > 0:
            threshold = Number(self.coin.m, self.coin.m.value(bound)) / self.factor
            return bool(self.coin < threshold)
        return bool(self.coin.m.value(bound) > 0)

    __le__ = __lt__


class Interpreter:
    """The machine that a rule is run on.

    Args:
        vocabulary: the number of tokens.
        fixed: label → token of the fixed tokens.
    """

    def __init__(self, vocabulary: int, fixed: dict[str, int]) -> None:
        self.vocabulary, self.fixed = vocabulary, fixed
        self.zero, self.one = Number(self, Fraction(0)), Number(self, Fraction(1))
        self._script: list[tuple[Any, str | bool, Fraction]] = []
        self._position = 0
        self._path = Path([], {})

    def paths(self, program: Callable[[], tuple[list[Fraction], tuple[int, ...]]]) -> list[Path]:
        """Every path of positive probability; ``program`` returns what is its ``law`` and ``emitted``."""
        found: list[Path] = []
        scripts: list[list[tuple[Any, str | bool, Fraction]]] = [[]]
        while scripts:
            self._script, self._position = scripts.pop(), 0
            self._path = Path([], dict(self.fixed))
            try:
                self._path.law, self._path.emitted = program()
            except _Choice as choice:
                scripts += [[*self._script, option] for option in choice.options]
            except ZeroDivisionError:
                raise RuleProblem("the rule divides by zero with positive probability") from None
            else:
                found.append(self._path)
        return found

    def _choose(self, options: list[tuple[Any, str | bool, Fraction]]) -> Any:
        if self._position == len(self._script):
            raise _Choice([option for option in options if option[2] > 0])
        value, label, probability = self._script[self._position]
        self._position += 1
        self._path.choices.append((label, probability))
        self._path.values.append(value)
        if isinstance(label, str):
            self._path.labels[label] = value
        return value

    def _note(self, value: Fraction, alternative: bool = False) -> None:
        self._path.divisors.append(Divisor(len(self._path.choices), value, alternative))

    def value(self, number: Any) -> Fraction:
        return number.value if isinstance(number, Number) else Fraction(number)

    def divide(self, a: Fraction, b: Fraction) -> Fraction:
        self._note(b)
        return a / b

    def compare(self, a: Number, b: Any, relation: Callable[[Any, Any], bool]) -> Any:
        if not isinstance(b, (Number, int, Fraction)):
            return NotImplemented
        difference = a.value - self.value(b)
        outcome = relation(difference, 0)
        if outcome != relation(0, 0):  # equality would decide otherwise
            self._note(difference)
        return outcome

    def number(self, value: Fraction | int) -> Number:
        return Number(self, Fraction(value))

    def draw(self, distribution: Vector, coin: Coin | None = None) -> Any:
        if sum(distribution.values) != 1 or min(distribution.values) < 0:
            raise RuleProblem(f"the rule draws from {[str(a) for a in distribution.values]}")
        names = {token: label for label, token in self._path.labels.items()}
        new = f"x{sum(label.startswith('x') for label in self._path.labels) + 1}"
        return self._choose([(t, names.get(t, new), a) for t, a in enumerate(distribution.values)])

    def flip(self, probability: Any) -> bool:
        p = self.value(probability)
        if not 0 <= p <= 1:
            raise RuleProblem(f"the rule flips with probability {p}")
        return bool(self._choose([(True, True, p), (False, False, 1 - p)]))

    def coin(self, levels: int | None = None) -> Coin:
        return Coin(self)

    def min(self, a: Any, b: Any) -> Any:
        if isinstance(a, Vector):
            return a._with(b, min)
        return Number(self, min(self.value(a), self.value(b)))

    def relu(self, a: Any) -> Any:
        if isinstance(a, Vector):
            return Vector(self, [max(x, Fraction(0)) for x in a.values])
        return Number(self, max(self.value(a), Fraction(0)))

    def norm(self, vector: Vector, otherwise: Vector | None = None) -> Vector:
        total = sum(vector.values, Fraction(0))
        if otherwise is None:
            return vector / Number(self, total)
        self._note(total, alternative=True)
        return otherwise if total == 0 else Vector(self, [a / total for a in vector.values])

    def sum(self, vector: Vector) -> Number:
        return Number(self, sum(vector.values, Fraction(0)))

    def without(self, vector: Vector, *tokens: int) -> Vector:
        return Vector(self, [Fraction(0) if t in tokens else a for t, a in enumerate(vector.values)])

    def uniform(self, without: Sequence[int] = ()) -> Vector:
        share = Fraction(1, self.vocabulary - len(set(without)))
        return Vector(self, [Fraction(0) if t in without else share for t in range(self.vocabulary)])

    def point(self, token: int) -> Vector:
        return Vector(self, [Fraction(t == token) for t in range(self.vocabulary)])

    def argmax(self, vector: Vector) -> int:
        return max(range(self.vocabulary), key=lambda t: (vector.values[t], -t))

    def top(self, vector: Vector, count: int) -> tuple[int, ...]:
        return tuple(sorted(range(self.vocabulary), key=lambda t: (-vector.values[t], t))[:count])

    def call(self, state: Any, continuation: Callable[[], Any]) -> Any:
        return continuation()
