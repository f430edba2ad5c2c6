"""The vocabulary of a rule: everything that an acceptance rule may do with probabilities.

A rule is a plain Python function whose first argument is a *machine* ``m``. It touches numbers
only through the machine and through the vectors that it is handed, so that the same text can be
read by every machine: proved for any vocabulary, proved for all distributions, evaluated exactly,
searched for counterexamples, sampled. Control flow is ordinary Python.

Values
    *Number*: a probability or an expression in probabilities. ``+ - * /`` with numbers and
    integers; ``< <= > >=`` with numbers and integers decide a branch. ``==`` is not offered:
    symbolic expressions are equal at some distributions only.
    *Vector*: a function of the token, such as a next-token distribution. ``v[x]`` is its value at
    a token; ``v + w``, ``v - w``, ``v * c``, ``v / c`` act on every coordinate.
    *Token*: an element of the vocabulary. ``==`` and ``!=`` decide a branch; tokens are ordered
    by index (``<``), but only the machines with a fixed vocabulary can use the order.
    *Coin*: see ``coin``.

What is undefined, and when that is harmless
    ``a / 0`` (0/0 included), ``norm`` of a vector without mass and a draw from it are
    *undefined*. A branch taken with probability zero is never run by the exact and the sampling
    machines, and what it would compute counts for nothing. The symbolic machines cannot see which
    branches are null at which distributions, so they record an *obligation* for every divisor and
    every normaliser: wherever it is zero, the probability of getting there is zero. A proof counts
    only if every obligation holds; a rule that reaches an undefined value with positive probability
    is reported as undefined there, with the probability.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Protocol

Outcome = Any
"""What a rule returns: a tuple of tokens, or what a continuation or ``m.call`` returned."""


class Number(Protocol):
    """A probability, or an expression in probabilities."""

    def __add__(self, other: Number | int, /) -> Number: ...
    def __radd__(self, other: int, /) -> Number: ...
    def __sub__(self, other: Number | int, /) -> Number: ...
    def __rsub__(self, other: int, /) -> Number: ...
    def __mul__(self, other: Number | int, /) -> Number: ...
    def __rmul__(self, other: int, /) -> Number: ...
    def __truediv__(self, other: Number | int, /) -> Number: ...
    def __rtruediv__(self, other: int, /) -> Number: ...
    def __lt__(self, other: Number | int, /) -> bool: ...
    def __le__(self, other: Number | int, /) -> bool: ...
    def __gt__(self, other: Number | int, /) -> bool: ...
    def __ge__(self, other: Number | int, /) -> bool: ...


class Token(Protocol):
    """An element of the vocabulary."""

    def __eq__(self, other: object, /) -> bool: ...
    def __lt__(self, other: Token, /) -> bool: ...


class Vector(Protocol):
    """A function of the token: a distribution, a residual, a difference of the two."""

    def __getitem__(self, token: Token, /) -> Number: ...
    def __add__(self, other: Vector, /) -> Vector: ...
    def __sub__(self, other: Vector, /) -> Vector: ...
    def __mul__(self, factor: Number | int, /) -> Vector: ...
    def __rmul__(self, factor: Number | int, /) -> Vector: ...
    def __truediv__(self, divisor: Number | int, /) -> Vector: ...


class Coin(Protocol):
    """A number drawn uniformly from [0, 1), once, and compared as often as the rule likes.

    ``coin < t`` and ``coin <= t`` decide a branch; ``coin * a < b`` means ``coin < b / a`` for
    a > 0, and ``0 < b`` for a = 0.
    """

    def __lt__(self, threshold: Number | int, /) -> bool: ...
    def __le__(self, threshold: Number | int, /) -> bool: ...
    def __mul__(self, factor: Number, /) -> Coin: ...


class Machine(Protocol):
    """A reading of rules. Source of the primitives: Leviathan et al. 2023 and Miao et al. 2023."""

    @property
    def zero(self) -> Number: ...
    @property
    def one(self) -> Number: ...

    def number(self, value: Fraction | int) -> Number:
        """A constant, exactly."""

    def draw(self, distribution: Vector, coin: Coin | None = None) -> Token:
        """A token drawn from ``distribution``, which must be non-negative and sum to one.

        With a ``coin``: by inverse transform, the first token in index order whose cumulative
        probability exceeds the coin, so that a coin already compared gives the conditional law.
        """

    def flip(self, probability: Number) -> bool:
        """True with ``probability``, which must lie in [0, 1]."""

    def coin(self, levels: int | None = None) -> Coin:
        """A fresh uniform coin; with ``levels`` it is uniform on the grid {0, 1/n, …, (n−1)/n}."""

    def min(self, a: Any, b: Any) -> Any:
        """The smaller of two numbers, or coordinate by coordinate of two vectors."""

    def relu(self, a: Any) -> Any:
        """max(0, a) of a number, or of every coordinate of a vector."""

    def norm(self, vector: Vector, otherwise: Vector | None = None) -> Vector:
        """``vector``, which must be non-negative, divided by its sum; where the sum is zero,
        ``otherwise``, else undefined."""

    def sum(self, vector: Vector) -> Number:
        """The sum of the vector over the vocabulary."""

    def without(self, vector: Vector, *tokens: Token) -> Vector:
        """``vector`` with the entries at ``tokens`` set to zero (not renormalised)."""

    def uniform(self, without: Sequence[Token] = ()) -> Vector:
        """The uniform distribution on the tokens not in ``without``; undefined if none is left."""

    def point(self, token: Token) -> Vector:
        """The distribution that is one at ``token``."""

    def top(self, vector: Vector, count: int) -> tuple[Token, ...]:
        """The ``count`` tokens with the largest entries, largest first, ties by lower index."""

    def argmax(self, vector: Vector) -> Token:
        """The token with the largest entry, ties by lower index: ``top(vector, 1)[0]``."""

    def call(self, state: tuple[Any, ...], continuation: Callable[[], Outcome]) -> Outcome:
        """Goes on with ``continuation``; its value must be returned by the rule as it is.

        ``state`` names all that the continuation depends on. Machines that enumerate use it to
        evaluate each state once.
        """


Accept = Callable[[Token], Outcome]
"""Continuation of a step or node rule: the draft token is emitted and the walk goes on below it."""

Reject = Callable[..., Outcome]
"""Continuation of a step rule: ``reject(residual)`` tries the next sibling against the residual;
``reject(residual, tried=...)`` also hands on the tokens tried so far at this node."""

End = Callable[[Token], Outcome]
"""Continuation of a node rule: the token is emitted and the draft-and-verify step is over."""

Context = tuple[Token, ...]
"""The tokens emitted since the root of the token tree."""

NextToken = Callable[[Context], Vector]
"""A language model: the distribution of the next token after a context."""
