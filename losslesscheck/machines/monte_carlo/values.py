"""What a rule handles on the sampling machine: numbers, tokens, coins and vectors of many lanes.

A value belongs to the group of lanes that it was computed for. When a decision splits the group, a
value is cut down to the lanes that are left only if the rule goes on to use it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from losslesscheck.errors import RuleError, Undecided
from losslesscheck.machines.monte_carlo.rows import Rows

if TYPE_CHECKING:
    from losslesscheck.machines.monte_carlo.lanes import Lanes


class Group:
    """The lanes that have decided alike so far.

    Attributes:
        lanes: how many there are.
        parent: the group that they were split from.
        selection: their places in the parent.
    """

    __slots__ = ("lanes", "parent", "selection")

    def __init__(self, lanes: int, parent: Group | None = None, selection: Any = None) -> None:
        self.lanes, self.parent, self.selection = lanes, parent, selection


class Lane:
    """One value for every lane of a group."""

    __slots__ = ("_recent", "array", "group", "m")

    def __init__(self, m: Lanes, array: Any) -> None:
        self.m, self.group, self.array = m, m.group, array
        self._recent: tuple[Group, Any] = (m.group, array)

    def here(self) -> Any:
        """The values in the lanes of the machine's current group."""
        current = self.m.group
        near, array = self._recent
        if current is near:
            return array
        selections = []
        group: Group | None = current
        while group is not near and group is not self.group:
            if group is None:
                raise RuleError("the rule uses a value that it kept from another run")
            selections.append(group.selection)
            group = group.parent
        if group is self.group:
            array = self.array
        for selection in reversed(selections):
            array = array.take(selection)
        self._recent = (current, array)
        return array

    def __hash__(self) -> int:
        raise Undecided(f"Monte Carlo: a {type(self).__name__} of many lanes has no single value to hash")

    def __index__(self) -> int:
        raise Undecided(f"Monte Carlo: a {type(self).__name__} of many lanes is no single integer")


def here(value: Any) -> Any:
    """The value in the current lanes: an array, or the Python number that it is in all of them."""
    if isinstance(value, Lane):
        return value.here()
    return value if isinstance(value, int | float) else float(value)


def _compared(compare: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], bool]:
    def method(self: Any, other: Any) -> bool:
        if isinstance(other, Vector) or other is None:
            return NotImplemented  # type: ignore[no-any-return]
        decision: bool = self.m.decide(name, lambda: compare(self.here(), here(other)))
        return decision

    return method


def _computed(compute: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, Vector):
            return NotImplemented
        return self.m.once(name, lambda: Number(self.m, compute(self.here(), here(other))))

    return method


class Ordered(Lane):
    """A value of every lane whose comparisons split the lanes."""

    __slots__ = ()

    __lt__ = _compared(operator.lt, "<")
    __le__ = _compared(operator.le, "<=")
    __gt__ = _compared(operator.gt, ">")
    __ge__ = _compared(operator.ge, ">=")
    __eq__ = _compared(operator.eq, "==")
    __ne__ = _compared(operator.ne, "!=")
    __hash__ = Lane.__hash__


class Number(Ordered):
    """A number of every lane. Comparisons split the lanes."""

    __slots__ = ()

    __add__ = __radd__ = _computed(lambda a, b: a + b, "+")
    __mul__ = __rmul__ = _computed(lambda a, b: a * b, "*")
    __sub__ = _computed(lambda a, b: a - b, "-")
    __rsub__ = _computed(lambda a, b: b - a, "-")

    def __truediv__(self, divisor: Any) -> Any:
        return self.m.divide(self, divisor)

    def __rtruediv__(self, dividend: Any) -> Any:
        return self.m.divide(dividend, self)

    def __neg__(self) -> Any:
        return self.m.once("neg", lambda: Number(self.m, -self.here()))

    def __abs__(self) -> Any:
        return self.m.once("abs", lambda: Number(self.m, np.abs(self.here())))

    def __bool__(self) -> bool:
        return self.m.decide("bool", lambda: self.here() != 0)


class Token(Ordered):
    """A token of every lane. Comparisons split the lanes; a difference is a number."""

    __slots__ = ()

    __sub__ = _computed(lambda a, b: np.subtract(a, b, dtype=np.float64), "-")
    __rsub__ = _computed(lambda a, b: np.subtract(b, a, dtype=np.float64), "-")

    def __bool__(self) -> bool:
        """Token 0 counts as false, as it does where tokens are plain integers."""
        return self.m.decide("bool", lambda: self.here() != 0)


class Coin(Lane):
    """A uniform number of every lane, fixed when it is made.

    ``slack`` is half the width of the doubt that rounding leaves on a grid coin: on a grid a
    comparison with equality matters, so the coin is moved off the grid point in the direction in
    which it is meant. A continuous coin has resolution 2⁻⁵³, where ``<`` and ``<=`` are the same.
    """

    __slots__ = ("slack",)

    def __init__(self, m: Lanes, array: Any, slack: float = 0.0) -> None:
        super().__init__(m, array)
        self.slack = slack

    def __lt__(self, threshold: Any) -> bool:
        return self.m.decide("coin<", lambda: self.here() + self.slack < here(threshold))

    def __le__(self, threshold: Any) -> bool:
        return self.m.decide("coin<=", lambda: self.here() - self.slack < here(threshold))

    def __mul__(self, factor: Any) -> Scaled:
        return Scaled(self, factor)

    __rmul__ = __mul__


class Scaled:
    """``coin * factor``, which can only be compared; a factor that is not positive counts as 0."""

    def __init__(self, coin: Coin, factor: Any) -> None:
        self.coin, self.factor = coin, factor

    def __lt__(self, bound: Any) -> bool:
        def below() -> Any:
            factor = np.maximum(here(self.factor), 0.0)
            return (self.coin.here() + self.coin.slack) * factor < here(bound)

        return self.coin.m.decide("coin*<", below)

    def __le__(self, bound: Any) -> bool:
        def below() -> Any:
            factor, limit = here(self.factor), here(bound)
            least = (self.coin.here() - self.coin.slack) * factor
            return np.where(np.greater(factor, 0.0), least < limit, np.less_equal(0.0, limit))

        return self.coin.m.decide("coin*<=", below)


class Vector:
    """A vector for every lane: distinct rows, and which of them each lane has.

    Attributes:
        index: the row of every lane, or ``None`` where all lanes have the only one.
    """

    __slots__ = ("index", "m", "rows")
    __array_ufunc__ = None

    def __init__(self, m: Lanes, rows: Rows, index: Lane | None = None) -> None:
        self.m, self.rows, self.index = m, rows, index

    def __getitem__(self, token: Any) -> Any:
        return self.m.entry(self, token)

    def __add__(self, other: Any) -> Any:
        return self.m.combine("add", self, other)

    def __sub__(self, other: Any) -> Any:
        return self.m.combine("sub", self, other)

    def __mul__(self, factor: Any) -> Any:
        return self.m.scale(self, factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        return self.m.shrink(self, divisor)
