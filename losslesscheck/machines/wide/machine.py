"""The machine that reads one node of the token tree at a vocabulary of real size.

Where the exact machine follows every token on its own, this one draws *all tokens at once*: a drawn
token is a vector of probabilities, and what depends on it is a number for every token. A decision
does not choose a token, it splits every token's probability in two, so a step has a handful of paths
whatever the vocabulary. What couples two drawn tokens is out of reach and ends ``Undecided``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import fmpq

from losslesscheck.algebra.integer_row import IntegerRow, Integers
from losslesscheck.errors import LosslesscheckError, RuleError, Undecided, Undefined, raised
from losslesscheck.machines.coin import Coin
from losslesscheck.machines.replay import MOST_CHOICES
from losslesscheck.machines.wide.numbers import WideNumber, WideToken
from losslesscheck.machines.wide.vectors import WideVector, float_text

MOST_BITS = 4 * 10**8
"""Size of the common denominator of a sum over the vocabulary, times V, above which it is not tried."""


class _Null(BaseException):
    """The path has probability zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """How a path ended.

    Attributes:
        how: which continuation was called (``accept``, ``reject``, ``end``), or ``undefined``.
        value: the token, or the residual handed to ``reject``.
        state: what else was handed to ``reject``.
    """

    how: str
    value: Any = None
    state: tuple[tuple[str, Any], ...] = ()


class _SpentCoin:
    """The bounds of a coin that chose a token: they depend on the token chosen."""

    def _refuse(self, other: Any) -> Any:
        raise Undecided("the rule compares a coin again after drawing a token with it")

    __add__ = __radd__ = __sub__ = __rsub__ = _refuse


class Wide:
    """The machine for one node; its numbers are ``fmpq``, or ``WideNumber`` once a token is drawn."""

    zero = fmpq(0)
    one = fmpq(1)

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary = vocabulary
        self.ones: Integers = np.full(vocabulary, 1, dtype=object)
        self.known: dict[Any, Any] = {}
        self._everything = np.ones(vocabulary, dtype=bool)
        self._later: list[list[bool]] = []
        self._start([], [])

    def _start(self, script: list[bool], tokens: list[WideToken]) -> None:
        self._script, self._position = script, 0
        self._tokens, self._drawn = tokens, 0
        self._mass = self.one
        self._weights: dict[int, WideNumber] = {}  # of a drawn token: its probability and the flips after it
        self._masks: dict[int, npt.NDArray[np.bool_]] = {}  # and what comparisons left of the vocabulary

    def number(self, value: Fraction | int) -> fmpq:
        return fmpq(value.numerator, value.denominator)

    def vector(self, row: IntegerRow) -> WideVector:
        return WideVector(self, fmpq(1, row.denominator), row.numerators)

    def vector_of_zeros(self) -> WideVector:
        return WideVector(self, self.zero, self.ones)

    def draw(self, distribution: WideVector, coin: Any = None) -> WideToken:
        if not isinstance(distribution, WideVector):
            raise RuleError(f"the rule draws from {distribution!r}, which is no vector")
        distribution.check()
        if coin is not None:
            distribution = self._inverse_transform(distribution, coin)
        if self._drawn == len(self._tokens):
            self._tokens.append(WideToken(self))
        token = self._tokens[self._drawn]
        self._drawn += 1
        self._weights[id(token)] = distribution[token]
        self._masks[id(token)] = self._everything
        return token

    def _inverse_transform(self, distribution: WideVector, coin: Any) -> WideVector:
        """The law of the token that the coin chooses, given what is known of the coin."""
        if not isinstance(coin, Coin) or any(isinstance(b, WideNumber) for b in (coin.low, coin.high)):
            raise Undecided("the rule draws a token with a coin whose range depends on another token")
        ends = np.add.accumulate(distribution.integers)
        starts = ends - distribution.integers
        scale = distribution.coefficient
        low, high = coin.low / scale, coin.high / scale
        common = lcm(int(low.q), int(high.q))
        low, high = int((low * common).p), int((high * common).p)
        overlaps = np.maximum(np.minimum(ends * common, high) - np.maximum(starts * common, low), 0)
        coin.low = coin.high = _SpentCoin()
        return WideVector(self, fmpq(1, high - low), overlaps)

    def flip(self, probability: Any) -> bool:
        if isinstance(probability, WideNumber):
            live = self._live(probability.token)
            bad = live & (probability.compare(0, "<") | probability.compare(1, ">"))
            if bad.any():
                raise RuleError(
                    "the rule flips with a probability outside [0, 1] "
                    f"after drawing token {int(np.argmax(bad))}"
                )
        else:
            try:
                inside = 0 <= self.one * probability <= 1
            except TypeError:
                raise RuleError(f"the rule flips with probability {probability!r}, no exact number") from None
            if not inside:
                raise RuleError(f"the rule flips with probability {float_text(probability)}, outside [0, 1]")
        value = self._choose()
        factor = probability if value else 1 - probability
        if isinstance(factor, WideNumber):
            name = id(factor.token)
            self._weights[name] = _weighted(self._weights[name], factor, self._masks[name])
            null = not self._live(factor.token).any()
        else:
            self._mass = self._mass * factor
            null = self._mass == 0
        if null:
            raise _Null
        return value

    def split(self, token: WideToken, mask: npt.NDArray[np.bool_]) -> bool:
        """True on the part of the path where the drawn token is one of ``mask``, false on the rest."""
        live = self._live(token)
        if not (live & mask).any():
            return False
        if not (live & ~mask).any():
            return True
        self._masks[id(token)] = self._masks[id(token)] & (mask if self._choose() else ~mask)
        return self._script[self._position - 1]

    def require_nonzero(self, divisor: WideNumber) -> None:
        """The part of the path where the divisor is zero ends undefined."""
        if self.split(divisor.token, divisor.compare(0, "==")):
            raise Undefined("a division by zero")

    def _choose(self) -> bool:
        """Takes one side of a decision and leaves the other to a later run."""
        if self._position == len(self._script):
            if self._position == MOST_CHOICES:
                raise RuleError(f"the rule makes more than {MOST_CHOICES} choices: it may never return")
            self._later.append([*self._script, False])
            self._script.append(True)
        self._position += 1
        return self._script[self._position - 1]

    def _live(self, token: WideToken) -> npt.NDArray[np.bool_]:
        """Which tokens the drawn token can be on this path."""
        if id(token) not in self._weights:
            raise Undecided("a probability depends on the token drawn for an earlier sibling")
        live: npt.NDArray[np.bool_] = self._weights[id(token)].compare(0, ">") & self._masks[id(token)]
        return live

    def coin(self, levels: int | None = None) -> Coin:
        if levels is not None:
            raise Undecided("the rule throws a coin with finitely many values")
        return Coin(self)

    def min(self, a: Any, b: Any) -> Any:
        if isinstance(a, (WideVector, WideNumber)):
            return a.minimum(b)
        return b.minimum(a) if isinstance(b, WideNumber) else min(a, b)

    def relu(self, a: Any) -> Any:
        return a.positive_part() if isinstance(a, (WideVector, WideNumber)) else max(a, self.zero)

    def sum(self, vector: WideVector) -> fmpq:
        return vector.total

    def norm(self, vector: WideVector, otherwise: WideVector | None = None) -> WideVector:
        if vector.negative:
            raise RuleError("the rule normalises a vector with a negative entry")
        if vector.total != 0:
            normalised: WideVector = vector / vector.total
            return normalised
        if otherwise is None:
            raise Undefined("norm of a vector that sums to zero")
        return otherwise

    def without(self, vector: WideVector, *tokens: Any) -> WideVector:
        removed: WideVector = vector.without(*tokens)
        return removed

    def uniform(self, without: Sequence[Any] = ()) -> WideVector:
        rest = WideVector(self, self.one, self.ones).without(*without)
        if rest.total == 0:
            raise Undefined("uniform distribution over no token")
        return self.norm(rest)

    def point(self, token: Any) -> WideVector:
        if isinstance(token, WideToken):
            raise Undecided("a vector depends on the token that was drawn")
        integers = self.ones * 0
        integers[token] = 1
        return WideVector(self, self.one, integers)

    def top(self, vector: WideVector, count: int) -> tuple[int, ...]:
        values = self._by_size(vector).tolist()
        return tuple(heapq.nsmallest(count, range(self.vocabulary), key=lambda t: (-values[t], t)))

    def argmax(self, vector: WideVector) -> int:
        return int(np.argmax(self._by_size(vector)))

    def _by_size(self, vector: WideVector) -> Integers:
        """Integers in the order of the vector's entries."""
        return vector.integers if vector.coefficient >= 0 else -vector.integers

    def call(self, state: tuple[Any, ...], continuation: Callable[[], Any]) -> Any:
        return continuation()

    def paths(self, program: Callable[[], Any]) -> Iterator[Ending]:
        """Every path of positive probability; while it is the current one, ``total`` and ``law`` answer."""
        tokens: list[WideToken] = []
        self._later = [[]]
        while self._later:
            self._start(self._later.pop(), tokens)
            try:
                result = program()
            except _Null:
                continue
            except (Undefined, ZeroDivisionError):
                result = Ending("undefined")
            except (LosslesscheckError, MemoryError):
                raise
            except Exception as error:
                raise raised(error) from error
            if not isinstance(result, Ending):
                raise RuleError(f"the rule returned {result!r}, not what a continuation returned")
            yield result
        self.known.clear()

    def total(self) -> fmpq:
        """The probability of the current path."""
        mass = self._mass
        for name, weight in self._weights.items():
            mass = mass * _vector(weight, self._masks[name]).total
        return mass

    def law(self, token: Any) -> WideVector:
        """The probability of the current path and of the token being t there, for every t."""
        if not isinstance(token, WideToken):
            if not isinstance(token, int) or not 0 <= token < self.vocabulary:
                raise RuleError(f"the rule emits {token!r}, which is no token")
            return self.point(token).times(self.total())
        self._live(token)
        weight = _vector(self._weights.pop(id(token)), self._masks[id(token)])
        return weight.times(self.total())


def _weighted(weight: WideNumber, factor: WideNumber, mask: npt.NDArray[np.bool_]) -> WideNumber:
    """weight · factor, zero wherever the weight is: there, the factor may be anything."""
    product: WideNumber = weight * factor
    if factor.divisors is None:
        return product
    live = weight.compare(0, ">") & mask
    if live.all():
        return product
    integers = np.where(live, product.integers, 0)
    divisors = None if product.divisors is None else np.where(live, product.divisors, 1)
    return WideNumber(weight.m, weight.token, product.coefficient, integers, divisors)


def _vector(weight: WideNumber, mask: npt.NDArray[np.bool_]) -> WideVector:
    """The weight as a vector; divisors that no probability took away are brought to one."""
    integers = weight.integers if mask.all() else np.where(mask, weight.integers, 0)
    if weight.divisors is None:
        return WideVector(weight.m, weight.coefficient, integers)
    divisors = np.where(integers != 0, weight.divisors, 1)
    common = 1
    for divisor in divisors:
        common = lcm(common, int(divisor))
        if common.bit_length() * len(divisors) > MOST_BITS:
            raise Undecided("the probabilities of the rule have no common denominator of a fair size")
    return WideVector(weight.m, weight.coefficient / common, integers * (common // divisors))
