"""Coins for the machines that enumerate: a uniform number known only to lie in an interval."""

from __future__ import annotations

from typing import Any


class Coin:
    """A coin uniform on [low, high), narrowed by every comparison.

    ``m`` must offer ``flip``, ``min``, ``relu``, ``zero`` and ``one``.
    """

    def __init__(self, m: Any) -> None:
        self.m, self.low, self.high = m, m.zero, m.one

    def __lt__(self, threshold: Any) -> bool:
        m = self.m
        bound = m.min(self.low + m.relu(threshold - self.low), self.high)
        if m.flip((bound - self.low) / (self.high - self.low)):
            self.high = bound
            return True
        self.low = bound
        return False

    __le__ = __lt__

    def __mul__(self, factor: Any) -> Scaled:
        return Scaled(self, factor)

    __rmul__ = __mul__


class GridCoin:
    """A coin uniform on {low/levels, …, (high − 1)/levels}; exact machines only."""

    def __init__(self, m: Any, levels: int) -> None:
        self.m, self.levels, self.low, self.high = m, levels, 0, levels

    def __lt__(self, threshold: Any) -> bool:
        return self._below(-_floor(-threshold * self.levels))

    def __le__(self, threshold: Any) -> bool:
        return self._below(_floor(threshold * self.levels) + 1)

    def _below(self, bound: int) -> bool:
        bound = max(self.low, min(self.high, bound))
        if self.m.flip(self.m.number(bound - self.low) / (self.high - self.low)):
            self.high = bound
            return True
        self.low = bound
        return False

    def __mul__(self, factor: Any) -> Scaled:
        return Scaled(self, factor)

    __rmul__ = __mul__


class Scaled:
    """``coin * factor``, which can only be compared."""

    def __init__(self, coin: Coin | GridCoin, factor: Any) -> None:
        self.coin, self.factor = coin, factor

    def __lt__(self, bound: Any) -> bool:
        if self.factor > self.coin.m.zero:
            return bool(self.coin < bound / self.factor)
        return bool(self.coin.m.zero < bound)

    def __le__(self, bound: Any) -> bool:
        if self.factor > self.coin.m.zero:
            return bool(self.coin <= bound / self.factor)
        return bool(self.coin.m.zero <= bound)


def _floor(value: Any) -> int:
    return int(value.numerator // value.denominator)
