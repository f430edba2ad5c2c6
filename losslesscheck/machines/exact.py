"""The exact reading: the law of a rule for given rational distributions, every path followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from flint import fmpq

from losslesscheck.errors import RuleError, Undefined
from losslesscheck.machines.coin import Coin, GridCoin
from losslesscheck.machines.replay import Replay
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree


class ExactVector(tuple[fmpq, ...]):
    """A vector of rationals, indexed by token."""

    __slots__ = ()

    def __add__(self, other: ExactVector) -> ExactVector:  # type: ignore[override]
        return ExactVector([a + b for a, b in zip(self, other, strict=True)])

    def __sub__(self, other: ExactVector) -> ExactVector:
        return ExactVector([a - b for a, b in zip(self, other, strict=True)])

    def __mul__(self, factor: fmpq | int) -> ExactVector:
        return ExactVector([a * factor for a in self])

    __rmul__ = __mul__

    def __truediv__(self, divisor: fmpq | int) -> ExactVector:
        return ExactVector([a / divisor for a in self])


class Exact(Replay):
    """The machine for a vocabulary of ``vocabulary`` tokens; its numbers are ``flint.fmpq``."""

    zero = fmpq(0)
    one = fmpq(1)

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary

    def number(self, value: Fraction | int) -> fmpq:
        return fmpq(value.numerator, value.denominator)

    def draw(self, distribution: ExactVector, coin: Coin | GridCoin | None = None) -> int:
        total = sum(distribution, self.zero)
        if total != 1 or min(distribution) < 0:
            raise RuleError(
                f"the rule draws from {_show(distribution)}, which is no distribution"
                + (f": it sums to {total}" if total != 1 else "")
            )
        if coin is None:
            return int(self.choose([(t, w) for t, w in enumerate(distribution) if w != 0]))
        return self._invert(distribution, coin)

    def _invert(self, distribution: ExactVector, coin: Coin | GridCoin) -> int:
        reached = self.zero
        last = max(t for t, w in enumerate(distribution) if w != 0)
        for token, weight in enumerate(distribution[:last]):
            reached = reached + weight
            if weight != 0 and coin < reached:
                return token
        return last

    def flip(self, probability: fmpq) -> bool:
        if not 0 <= probability <= 1:
            raise RuleError(f"the rule flips with probability {probability}")
        options = [(True, probability), (False, 1 - probability)]
        return bool(self.choose([(value, weight) for value, weight in options if weight != 0]))

    def coin(self, levels: int | None = None) -> Coin | GridCoin:
        return Coin(self) if levels is None else GridCoin(self, levels)

    def min(self, a: Any, b: Any) -> Any:
        if isinstance(a, ExactVector):
            return ExactVector([min(x, y) for x, y in zip(a, b, strict=True)])
        return min(a, b)

    def relu(self, a: Any) -> Any:
        if isinstance(a, ExactVector):
            return ExactVector([max(x, self.zero) for x in a])
        return max(a, self.zero)

    def sum(self, vector: ExactVector) -> fmpq:
        return sum(vector, self.zero)

    def norm(self, vector: ExactVector, otherwise: ExactVector | None = None) -> ExactVector:
        total = self.sum(vector)
        if total == 0:
            if otherwise is None:
                raise Undefined("norm of a vector that sums to zero")
            return otherwise
        return vector / total

    def without(self, vector: ExactVector, *tokens: int) -> ExactVector:
        return ExactVector([self.zero if t in tokens else a for t, a in enumerate(vector)])

    def uniform(self, without: Sequence[int] = ()) -> ExactVector:
        left = self.vocabulary - len(set(without))
        if left == 0:
            raise Undefined("uniform distribution over no token")
        return ExactVector(
            [self.zero if t in without else fmpq(1, left) for t in range(self.vocabulary)]
        )

    def point(self, token: int) -> ExactVector:
        return ExactVector([self.one if t == token else self.zero for t in range(self.vocabulary)])

    def top(self, vector: ExactVector, count: int) -> tuple[int, ...]:
        return tuple(sorted(range(self.vocabulary), key=lambda t: (-vector[t], t))[:count])

    def argmax(self, vector: ExactVector) -> int:
        return self.top(vector, 1)[0]

    def is_token(self, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < self.vocabulary


def exact_law(rule: Rule, target: Model, draft: Model | None, tree: Tree) -> dict[tuple[int, ...], fmpq]:
    """The law of what one draft-and-verify step emits.

    Args:
        rule: the rule, with its parameters bound.
        target, draft: models over the same vocabulary; ``draft`` may be ``None`` for a rule that
            never asks for it.
        tree: the token tree, as ``rule.fit`` returns it.

    Returns:
        Emitted sequence → probability; ``law.UNDEFINED`` carries the probability of reaching an
        undefined value.

    Raises:
        RuleError: if the rule raises, or does what no rule may do.
    """
    m = Exact(target.vocabulary)
    p = vectors(target)
    q = p if draft is None else vectors(draft)
    return m.law(lambda: rule.run(m, p, q, tree))


def vectors(model: Model) -> Callable[[tuple[int, ...]], ExactVector]:
    """The model as the exact machine's function of the context."""
    cache: dict[int, ExactVector] = {}

    def at(context: tuple[int, ...]) -> ExactVector:
        number = int(model.index(context))
        if number not in cache:
            cache[number] = ExactVector(
                [fmpq(a.numerator, a.denominator) for a in model.exact(context)]
            )
        return cache[number]

    return at


def _show(vector: ExactVector) -> str:
    values = [str(a) for a in vector[:6]]
    return f"({', '.join(values)}{', …' if len(vector) > 6 else ''})"
