"""The sampling reading: a rule's own text, run for many lanes at once.

Tokens and numbers are arrays with one entry a lane; vectors are distinct rows, of which each lane has
one. How decisions split the lanes is in ``paths``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from losslesscheck.errors import RuleError
from losslesscheck.machines.monte_carlo import rows as operations
from losslesscheck.machines.monte_carlo.paths import Paths
from losslesscheck.machines.monte_carlo.rows import Rows
from losslesscheck.machines.monte_carlo.values import Coin, Lane, Number, Token, Vector, here
from losslesscheck.machines.vocabulary import Outcome
from losslesscheck.model import Model

CELLS = 2**21
"""Entries of one matrix of per-lane vectors; where more lanes differ, they are run in smaller groups."""

TOLERANCE = 1e-9
"""How far a flip may lie outside [0, 1] by rounding."""

COMBINATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": operations.difference,
    "min": np.minimum,
    "otherwise": lambda a, b: np.where(a.sum(axis=1, keepdims=True) == 0, b, operations.normalised(a)),
}


class Source:
    """A model with its rows, shared by the machines of all threads."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.rows = Rows(np.ascontiguousarray(model.floats), lasting=True)


class Lanes(Paths):
    """The machine for a vocabulary of ``vocabulary`` tokens; its numbers are float64.

    Args:
        rng: the only source of randomness. Coins have a resolution of 2⁻⁵³.
        deadline: value of ``time.monotonic`` after which ``BudgetExceeded`` is raised.
    """

    zero = 0.0
    one = 1.0

    def __init__(self, vocabulary: int, rng: np.random.Generator, deadline: float | None = None) -> None:
        super().__init__(vocabulary, deadline)
        self.rng = rng
        self._indices: dict[tuple[Any, ...], list[Lane]] = {}
        self._ones = Rows(np.ones((1, vocabulary)), lasting=True)

    def forget(self) -> None:
        super().forget()
        self._indices = {}

    def model(self, source: Source) -> Callable[[tuple[Any, ...]], Vector]:
        """The model as this machine's function of the context."""

        def at(context: tuple[Any, ...]) -> Vector:
            vector: Vector = self.once("model", lambda: self._select(source, context))
            if vector.index is not None:
                self._indices.setdefault(_key(context), []).append(vector.index)
            return vector

        return at

    def number(self, value: Fraction | int) -> float:
        return float(value)

    def draw(self, distribution: Vector, coin: Coin | None = None) -> Token:
        def drawn() -> Token:
            rows, index = distribution.rows, distribution.index
            chosen = None if index is None else index.here()
            if not rows.sound.all():
                refused = ~rows.sound if chosen is None else ~rows.sound.take(chosen)
                if refused.any():
                    lane = int(np.argmax(refused))
                    rows.refuse(0 if chosen is None else int(chosen[lane]))
            uniform = self.rng.random(self.group.lanes) if coin is None else coin.here() + coin.slack
            return Token(self, rows.table.draw(uniform, chosen))

        token: Token = self.once("draw", drawn)
        return token

    def flip(self, probability: Any) -> bool:
        def heads() -> Any:
            value = here(probability)
            low, high = np.min(value), np.max(value)
            if not (low >= -TOLERANCE and high <= 1 + TOLERANCE):
                worst = high if high > 1 + TOLERANCE else low
                raise RuleError(f"the rule flips with probability {worst:.9g}")
            if low >= 1 or high <= 0:
                return bool(low >= 1)
            return self.rng.random(self.group.lanes) < value

        return self.decide("flip", heads)

    def coin(self, levels: int | None = None) -> Coin:
        def tossed() -> Coin:
            if levels is None:
                return Coin(self, self.rng.random(self.group.lanes))
            slack = (1e-9 + levels * 1e-14) / levels
            return Coin(self, self.rng.integers(levels, size=self.group.lanes) / levels, slack)

        coin: Coin = self.once("coin", tossed)
        return coin

    def min(self, a: Any, b: Any) -> Any:
        if isinstance(a, Vector):
            return self.combine("min", a, b)
        if not isinstance(a, Lane) and not isinstance(b, Lane):
            return min(a, b)
        return self.once("min", lambda: Number(self, np.minimum(here(a), here(b))))

    def relu(self, a: Any) -> Any:
        if isinstance(a, Vector):
            return Vector(self, a.rows.derive("relu", operations.relu), a.index)
        if not isinstance(a, Lane):
            return max(a, 0.0)
        return self.once("relu", lambda: Number(self, np.maximum(a.here(), 0.0)))

    def norm(self, vector: Vector, otherwise: Vector | None = None) -> Vector:
        def normed() -> Vector:
            empty = vector.rows.sums == 0
            if empty.any():
                reached = empty if vector.index is None else empty.take(vector.index.here())
                if otherwise is None:
                    self.lose(reached)
                elif vector.index is None:
                    return otherwise
                elif reached.any():
                    return self._combined("otherwise", vector, otherwise)
            return Vector(self, vector.rows.derive("norm", operations.normalised), vector.index)

        result: Vector = self.once("norm", normed)
        return result

    def sum(self, vector: Vector) -> Any:
        index = vector.index
        if index is None:
            return float(vector.rows.sums[0])
        return self.once("sum", lambda: Number(self, vector.rows.sums.take(index.here())))

    def without(self, vector: Vector, *tokens: Any) -> Vector:
        for token in tokens:
            vector = self._without(vector, token)
        return vector

    def uniform(self, without: Sequence[Any] = ()) -> Vector:
        return self.norm(self.without(Vector(self, self._ones), *without))

    def point(self, token: Any) -> Vector:
        everything = Vector(self, self._ones)
        return self.combine("sub", everything, self.without(everything, token))

    def top(self, vector: Vector, count: int) -> tuple[Any, ...]:
        count = min(count, self.vocabulary)
        tokens = vector.rows.remember(("top", count), lambda: operations.largest(vector.rows.matrix, count))
        index = vector.index
        if index is None:
            return tuple(tokens[0].tolist())
        found: tuple[Token, ...] = self.once(
            "top", lambda: tuple(Token(self, tokens[:, rank].take(index.here())) for rank in range(count))
        )
        return found

    def argmax(self, vector: Vector) -> Any:
        return self.top(vector, 1)[0]

    def call(self, state: tuple[Any, ...], continuation: Callable[[], Outcome]) -> Outcome:
        return continuation()

    def entry(self, vector: Vector, token: Any) -> Any:
        """The value of ``vector`` at ``token``."""
        matrix, index = vector.rows.matrix, vector.index
        if not isinstance(token, Lane):
            if not 0 <= token < self.vocabulary:
                raise RuleError(f"the rule asks for token {token} of a vocabulary of {self.vocabulary}")
            if index is None:
                return float(matrix[0, token])

        def value() -> Number:
            place = here(token)
            if index is not None:
                place = place + index.here() * self.vocabulary
            return Number(self, matrix.ravel().take(place))

        return self.once("entry", value)

    def divide(self, dividend: Any, divisor: Any) -> Any:
        """The quotient of numbers; lanes that divide by zero become undefined."""

        def quotient() -> Number:
            self.lose(np.equal(here(divisor), 0))
            return Number(self, here(dividend) / here(divisor))

        return self.once("divide", quotient)

    def combine(self, name: str, a: Vector, b: Vector) -> Vector:
        """``COMBINATIONS[name]`` of two vectors, coordinate by coordinate."""
        result: Vector = self.once(name, lambda: self._combined(name, a, b))
        return result

    def scale(self, vector: Vector, factor: Any) -> Vector:
        """``vector`` times a number."""
        result: Vector = self.once("scale", lambda: self._scaled(np.multiply, vector, factor))
        return result

    def shrink(self, vector: Vector, divisor: Any) -> Vector:
        """``vector`` divided by a number; lanes that divide by zero become undefined."""

        def quotient() -> Vector:
            self.lose(np.equal(here(divisor), 0))
            return self._scaled(np.divide, vector, divisor)

        result: Vector = self.once("shrink", quotient)
        return result

    def _select(self, source: Source, context: tuple[Any, ...]) -> Vector:
        tokens = [here(token) for token in context]
        if any(isinstance(token, Lane) for token in context):
            tokens = [np.full(self.group.lanes, t) if isinstance(t, int) else t for t in tokens]
        number = source.model.index(tuple(tokens))
        low, high = int(np.min(number)), int(np.max(number))
        if low < 0 or high >= source.rows.count:
            raise RuleError(f"{source.model.name}: there is no row {high if low >= 0 else low}")
        if low == high:
            return Vector(self, source.rows.row(low))
        # Target and draft mostly choose alike; sharing the index lets them be combined row by row.
        for known in self._indices.get(_key(context), ()):
            if np.array_equal(known.here(), number):
                return Vector(self, source.rows, known)
        return Vector(self, source.rows, Lane(self, np.asarray(number, dtype=np.intp)))

    def _combined(self, name: str, a: Vector, b: Vector) -> Vector:
        operation = COMBINATIONS[name]
        index = b.index if a.index is None else a.index
        aligned = a.index is b.index and a.rows.count == b.rows.count
        if aligned or a.index is None or b.index is None:
            if a.rows.lasting and b.rows.lasting:
                rows = a.rows.derive((name, b.rows), lambda matrix: operation(matrix, b.rows.matrix))
            else:
                rows = Rows(operation(a.rows.matrix, b.rows.matrix))
            return Vector(self, rows, index)
        first, second, pairs = self._pairs(a, b.index.here, b.rows.count)
        return Vector(self, Rows(operation(a.rows.matrix[first], b.rows.matrix[second])), pairs)

    def _scaled(self, operation: Any, vector: Vector, factor: Any) -> Vector:
        if not isinstance(factor, Lane):
            value = float(factor)
            rows = vector.rows.derive((operation, value), lambda matrix: operation(matrix, value))
            return Vector(self, rows, vector.index)
        values, places = np.unique(factor.here(), return_inverse=True)
        which = Lane(self, places)
        first, second, pairs = self._pairs(vector, which.here, len(values))
        matrix = operation(vector.rows.matrix[first], values[second][:, None])
        return Vector(self, Rows(matrix), pairs)

    def _without(self, vector: Vector, token: Any) -> Vector:
        if not isinstance(token, Lane):

            def zeroed(matrix: Any) -> Any:
                matrix = matrix.copy()
                matrix[:, token] = 0.0
                return matrix

            return Vector(self, vector.rows.derive(("without", token), zeroed), vector.index)

        def without() -> Vector:
            first, second, pairs = self._pairs(vector, token.here, self.vocabulary)
            matrix = vector.rows.matrix[first]
            matrix[np.arange(len(second)), second] = 0.0
            return Vector(self, Rows(matrix), pairs)

        result: Vector = self.once("without", without)
        return result

    def _pairs(self, vector: Vector, others: Callable[[], Any], count: int) -> tuple[Any, Any, Lane]:
        """The distinct pairs of a row of ``vector`` and one of ``count`` others, as the lanes have them.

        Lanes are put off until the pairs that are left make a matrix of bearable size.

        Returns:
            the row and the other of every pair, and the pair of every lane.
        """
        while True:
            code = others()
            if vector.index is not None:
                code = code + vector.index.here() * count
            pairs, number = _distinct(code, vector.rows.count * count)
            if len(pairs) * self.vocabulary <= CELLS or self.group.lanes == 1:
                self.work += len(pairs) * self.vocabulary
                return pairs // count, pairs % count, Lane(self, number)
            self.halve()


def _key(context: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tells the contexts of one run apart; its record keeps the tokens alive."""
    return tuple(("lanes", id(token)) if isinstance(token, Lane) else token for token in context)


def _distinct(code: Any, size: int) -> tuple[Any, Any]:
    """The distinct codes below ``size``, ascending, and the place of every code among them."""
    if size > max(2**16, 4 * len(code)):
        return np.unique(code, return_inverse=True)
    present = np.zeros(size, dtype=bool)
    present[code] = True
    distinct = np.flatnonzero(present)
    place = np.empty(size, dtype=np.intp)
    place[distinct] = np.arange(len(distinct))
    return distinct, place.take(code)
