"""Greedy verification in NumPy, right and wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Verifier:
    """Greedy verification, row by row; faults override its parts."""

    def __init__(self) -> None:
        self.__qualname__ = type(self).__name__

    def __call__(self, target: Any, tokens: Any, parents: Any, draft: Any) -> Any:
        rows, count = tokens.shape
        emitted, accepted = np.zeros((rows, count + 2), dtype=int), np.zeros(rows, dtype=int)
        for row in range(rows):
            path, node = [], 0
            for i in range(count):
                if not self.below(parents[row], i, node, len(path)):
                    continue
                p = self.compared(target[row], draft[row], node, i)
                if self.accepts(p, int(tokens[row, i]), i == np.flatnonzero(parents[row] + 1 == node)[0]):
                    path.append(int(tokens[row, i]))
                    node = i + 1
                elif self.gives_up():
                    break
            path.append(self.last(target[row], node, tokens[row], parents[row]))
            emitted[row, : len(path)] = path
            accepted[row] = len(path) - 1
        return self.returned(emitted, accepted, count)

    def below(self, parents: Any, i: int, node: int, accepted: int) -> bool:
        return bool(parents[i] + 1 == node)

    def compared(self, target: Any, draft: Any, node: int, i: int) -> Any:
        return target[node]

    def best(self, p: Any) -> int:
        return int(p.argmax())

    def accepts(self, p: Any, x: int, first: bool) -> bool:
        return self.best(p) == x

    def gives_up(self) -> bool:
        return False

    def last(self, target: Any, node: int, tokens: Any, parents: Any) -> int:
        return self.best(target[node])

    def returned(self, emitted: Any, accepted: Any, count: int) -> Any:
        return emitted, accepted


class OneTooFew(Verifier):
    def returned(self, emitted: Any, accepted: Any, count: int) -> Any:
        return emitted, np.maximum(accepted - 1, 0)


class OneTooMany(Verifier):
    def returned(self, emitted: Any, accepted: Any, count: int) -> Any:
        return emitted, np.minimum(accepted + 1, count)


class NothingAccepted(Verifier):
    def accepts(self, p: Any, x: int, first: bool) -> bool:
        return False


class RowOfTheParent(Verifier):
    def compared(self, target: Any, draft: Any, node: int, i: int) -> Any:
        return target[max(node - 1, 0)]


class RowOfTheDraft(Verifier):
    def compared(self, target: Any, draft: Any, node: int, i: int) -> Any:
        return target[i + 1]


class RowOfTheRoot(Verifier):
    def compared(self, target: Any, draft: Any, node: int, i: int) -> Any:
        return target[0]


class BestOfTheDraft(Verifier):
    def compared(self, target: Any, draft: Any, node: int, i: int) -> Any:
        return draft[i]


class LastOfTies(Verifier):
    def best(self, p: Any) -> int:
        return len(p) - 1 - int(p[::-1].argmax())


class LastOfTiesAtTheEnd(Verifier):
    def last(self, target: Any, node: int, tokens: Any, parents: Any) -> int:
        return len(target[node]) - 1 - int(target[node][::-1].argmax())


class AnyOfTies(Verifier):
    def accepts(self, p: Any, x: int, first: bool) -> bool:
        return bool(p[x] == p.max())


class SecondBestToo(Verifier):
    def accepts(self, p: Any, x: int, first: bool) -> bool:
        return x in np.argsort(-p, kind="stable")[:2]


class SecondBest(Verifier):
    def best(self, p: Any) -> int:
        return int(np.argsort(-p, kind="stable")[1])


class WithoutTheLastToken(Verifier):
    def best(self, p: Any) -> int:
        return int(p[:-1].argmax())


class DraftAsBonus(Verifier):
    def last(self, target: Any, node: int, tokens: Any, parents: Any) -> int:
        below = np.flatnonzero(parents + 1 == node)
        return int(tokens[below[0]]) if len(below) else self.best(target[node])


class BonusFromTheRowBefore(Verifier):
    def last(self, target: Any, node: int, tokens: Any, parents: Any) -> int:
        return self.best(target[max(node - 1, 0)])


class WhateverThePathBefore(Verifier):
    """Goes on below a draft token that was not accepted."""

    def below(self, parents: Any, i: int, node: int, accepted: int) -> bool:
        depth, above = 0, int(parents[i])
        while above >= 0:
            depth, above = depth + 1, int(parents[above])
        return depth == accepted and i >= node


class AcceptsEverything(Verifier):
    def accepts(self, p: Any, x: int, first: bool) -> bool:
        return True


class FirstChildOnly(Verifier):
    def accepts(self, p: Any, x: int, first: bool) -> bool:
        return first and super().accepts(p, x, first)


class NeverTheFirstChild(Verifier):
    def accepts(self, p: Any, x: int, first: bool) -> bool:
        return not first and super().accepts(p, x, first)


class TheNeighboursRow(Verifier):
    def __call__(self, target: Any, tokens: Any, parents: Any, draft: Any) -> Any:
        return super().__call__(np.roll(target, 1, axis=0), tokens, parents, draft)


FAULTS: tuple[Callable[[], Verifier], ...] = (
    OneTooFew,
    OneTooMany,
    NothingAccepted,
    RowOfTheParent,
    RowOfTheDraft,
    RowOfTheRoot,
    BestOfTheDraft,
    LastOfTies,
    LastOfTiesAtTheEnd,
    AnyOfTies,
    SecondBestToo,
    SecondBest,
    WithoutTheLastToken,
    DraftAsBonus,
    BonusFromTheRowBefore,
    WhateverThePathBefore,
    AcceptsEverything,
    FirstChildOnly,
    NeverTheFirstChild,
    TheNeighboursRow,
)

IN_TREES = (WhateverThePathBefore, FirstChildOnly)
"""On a chain they are right."""
