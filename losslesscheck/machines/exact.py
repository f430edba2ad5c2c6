"""The exact reading: the law of a rule for given rational distributions, every path followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import fmpq

from losslesscheck.errors import RuleError, Undefined
from losslesscheck.machines.coin import Coin, GridCoin
from losslesscheck.machines.replay import Forward
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree


def _once(operation: Callable[[Any, Any], ExactVector]) -> Callable[[Any, Any], ExactVector]:
    """Makes an operation on two vectors answer the same two with the same object.

    A step is run again for every token that it can draw; what does not depend on the token is then
    computed, checked and hashed once.
    """

    def remembered(self: ExactVector, other: ExactVector) -> ExactVector:
        key = (operation.__name__, id(other))
        if key not in self.results:
            self.results[key] = (other, operation(self, other))
        return self.results[key][1]

    return remembered


class ExactVector(tuple[fmpq, ...]):
    """A vector of rationals, indexed by token."""

    @_once
    def __add__(self, other: ExactVector) -> ExactVector:
        return ExactVector([a + b for a, b in zip(self, other, strict=True)])

    @_once
    def __sub__(self, other: ExactVector) -> ExactVector:
        return ExactVector([a - b for a, b in zip(self, other, strict=True)])

    @_once
    def minimum(self, other: ExactVector) -> ExactVector:
        return ExactVector([min(a, b) for a, b in zip(self, other, strict=True)])

    def __mul__(self, factor: fmpq | int) -> ExactVector:
        return ExactVector([a * factor for a in self])

    __rmul__ = __mul__

    def __truediv__(self, divisor: fmpq | int) -> ExactVector:
        return ExactVector([a / divisor for a in self])

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    @cached_property
    def results(self) -> dict[tuple[str, int], tuple[ExactVector, ExactVector]]:
        """Operation and ``id`` of the other operand → that operand (kept alive) and the result."""
        return {}

    @cached_property
    def total(self) -> fmpq:
        return sum(self, fmpq(0))

    @cached_property
    def positive_part(self) -> ExactVector:
        return ExactVector([max(a, fmpq(0)) for a in self])

    @cached_property
    def normalised(self) -> ExactVector:
        if min(self) < 0:
            raise RuleError(f"the rule normalises {_show(self)}, which has a negative entry")
        total = self.total
        return ExactVector([a / total for a in self])

    @cached_property
    def support(self) -> list[tuple[int, fmpq]]:
        """The tokens of positive probability, with it.

        Raises:
            RuleError: if the vector is no distribution.
        """
        if self.total != 1 or min(self) < 0:
            raise RuleError(
                f"the rule draws from {_show(self)}, which is no distribution"
                + (f": it sums to {self.total}" if self.total != 1 else "")
            )
        return [(token, weight) for token, weight in enumerate(self) if weight != 0]


class Exact(Forward):
    """The machine for a vocabulary of ``vocabulary`` tokens; its numbers are ``flint.fmpq``."""

    zero = fmpq(0)
    one = fmpq(1)

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary

    def number(self, value: Fraction | int) -> fmpq:
        return fmpq(value.numerator, value.denominator)

    def draw(self, distribution: ExactVector, coin: Coin | GridCoin | None = None) -> int:
        if not isinstance(distribution, ExactVector):
            raise RuleError(f"the rule draws from {distribution!r}, which is no vector")
        if coin is None:
            return int(self.choose(distribution.support))
        return self._invert(distribution.support, coin)

    def _invert(self, support: list[tuple[int, fmpq]], coin: Coin | GridCoin) -> int:
        reached = self.zero
        for token, weight in support[:-1]:
            reached = reached + weight
            if coin < reached:
                return token
        return support[-1][0]

    def flip(self, probability: fmpq | int) -> bool:
        try:
            complement = self.one - probability
        except TypeError:
            raise RuleError(f"the rule flips with probability {probability!r}, no exact number") from None
        if not 0 <= probability <= 1:
            raise RuleError(f"the rule flips with probability {probability}, outside [0, 1]")
        if complement == 0:
            return True
        if probability == 0:
            return False
        return bool(self.choose([(True, probability), (False, complement)]))

    def coin(self, levels: int | None = None) -> Coin | GridCoin:
        return Coin(self) if levels is None else GridCoin(self, levels)

    def min(self, a: Any, b: Any) -> Any:
        return a.minimum(b) if isinstance(a, ExactVector) else min(a, b)

    def relu(self, a: Any) -> Any:
        return a.positive_part if isinstance(a, ExactVector) else max(a, self.zero)

    def sum(self, vector: ExactVector) -> fmpq:
        return vector.total

    def norm(self, vector: ExactVector, otherwise: ExactVector | None = None) -> ExactVector:
        if any(vector):
            return vector.normalised
        if otherwise is None:
            raise Undefined("norm of a vector that sums to zero")
        return otherwise

    def without(self, vector: ExactVector, *tokens: int) -> ExactVector:
        return ExactVector([self.zero if t in tokens else a for t, a in enumerate(vector)])

    def uniform(self, without: Sequence[int] = ()) -> ExactVector:
        left = self.vocabulary - len(set(without))
        if left == 0:
            raise Undefined("uniform distribution over no token")
        return ExactVector([self.zero if t in without else fmpq(1, left) for t in range(self.vocabulary)])

    def point(self, token: int) -> ExactVector:
        return ExactVector([self.one if t == token else self.zero for t in range(self.vocabulary)])

    def top(self, vector: ExactVector, count: int) -> tuple[int, ...]:
        return tuple(sorted(range(self.vocabulary), key=lambda t: (-vector[t], t))[:count])

    def argmax(self, vector: ExactVector) -> int:
        return self.top(vector, 1)[0]

    def check_outcome(self, result: Any) -> None:
        if not (  # the quick answer for what nearly every result is
            type(result) is tuple
            and set(map(type, result)) == {int}
            and min(result) >= 0
            and max(result) < self.vocabulary
        ):
            super().check_outcome(result)

    def is_token(self, value: Any) -> bool:
        return type(value) is int and 0 <= value < self.vocabulary


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


def fraction(value: fmpq | Fraction | int) -> Fraction:
    """An exact number as it appears at the public surface."""
    return Fraction(int(value.p), int(value.q)) if isinstance(value, fmpq) else Fraction(value)


def vectors(model: Model) -> Callable[[tuple[int, ...]], ExactVector]:
    """The model as the exact machine's function of the context."""
    rows: dict[int, ExactVector] = {}
    known: dict[tuple[int, ...], ExactVector] = {}

    def at(context: tuple[int, ...]) -> ExactVector:
        if context not in known:
            number = int(model.index(context))
            if number not in rows:
                rows[number] = ExactVector([fmpq(a.numerator, a.denominator) for a in model.exact(context)])
            known[context] = rows[number]
        return known[context]

    return at


def _show(vector: ExactVector) -> str:
    values = [str(a) for a in vector[:6]]
    return f"({', '.join(values)}{', …' if len(vector) > 6 else ''})"
