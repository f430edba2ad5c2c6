"""The machine for a vocabulary that is not fixed: it follows a rule's text with symbols for everything.

Tokens are fixed ones (siblings, the target's argmax) or drawn ones; different names are different tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from losslesscheck.algebra.field import Field, Rational
from losslesscheck.errors import RuleError, Undecided
from losslesscheck.machines import coin as coins
from losslesscheck.machines.any_vocabulary.coordinates import Coordinates, is_drawn
from losslesscheck.machines.any_vocabulary.decisions import Entries
from losslesscheck.machines.any_vocabulary.explorer import Choice, Explorer, positive_lead
from losslesscheck.machines.any_vocabulary.signs import Signs
from losslesscheck.machines.any_vocabulary.values import Number, Token, Tried, Vector, rational
from losslesscheck.machines.vocabulary import Outcome


class Case(BaseException):
    """A case distinction that a proof must make from the start: which fixed token is the argmax."""

    def __init__(self, of: str) -> None:
        self.of = of


class TokenCoin(coins.Coin):
    """A coin that can also draw a token, but not both draw and be compared: tokens have no order here."""

    m: Generic

    def __init__(self, m: Generic) -> None:
        super().__init__(m)
        self.compared = self.drew = False

    def draw(self) -> None:
        if self.compared or self.drew:
            raise Undecided("the rule draws with a coin that was used before: this needs the order of tokens")
        self.drew = True

    def __lt__(self, threshold: Any) -> bool:
        if self.drew:
            raise Undecided("the rule compares a coin that drew a token: this needs the order of tokens")
        self.compared = True
        return super().__lt__(threshold)

    __le__ = __lt__


class Generic(Explorer):
    """The machine.

    Args:
        capacity: how many symbols there is room for.
        fixed: the names of the fixed tokens.
        largest: vector (its ``key``) → the fixed token at which it is largest.
        either: sums that are not supposed to differ from zero where ``norm`` has an alternative.

    Attributes:
        alternatives: sums that are, though ``norm`` has an alternative.
        definitions: what the vectors stand for that are neither p nor q nor atoms.
        suppositions: what the rule needs of the vocabulary.
        models: the vectors that are distributions of the target or the draft.
    """

    def __init__(
        self,
        capacity: int,
        fixed: Sequence[str] = (),
        largest: dict[str, str] | None = None,
        either: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(fixed)
        self.coordinates = Coordinates(capacity)
        self.field: Field = self.coordinates.field
        self.signs = Signs(self.coordinates)
        self.largest = dict(largest or {})
        self.either = either
        self.alternatives: dict[str, None] = {}
        self.definitions: dict[str, dict[str, Any]] = {}
        self.suppositions: dict[str, None] = {}
        self.zero, self.one = Number(self, self.field.zero), Number(self, self.field.one)
        self.models: set[str] = set()
        self._vectors: dict[str, Vector] = {}

    # What a rule may ask

    def number(self, value: Fraction | int) -> Number:
        return Number(self, self.field.constant(value))

    def draw(self, distribution: Vector, coin: TokenCoin | None = None) -> Token:
        if coin is not None:
            coin.draw()
        if self.replaying:
            token: Token = self.next()
            return token
        self.require_distribution(distribution, "draws from")
        options: list[tuple[str | bool, Any, Rational]] = [
            (t, Token(t), distribution.entries.entry(self.coordinates, t)) for t in self.known
        ]
        generic = f"x{sum(map(is_drawn, self.known)) + 1}"
        smooth = self.coordinates.rename(distribution.entries.smooth, "y", generic)
        options.append((generic, Token(generic), smooth))
        raise Choice(options, generic)

    def flip(self, probability: Number | int) -> bool:
        if self.replaying:
            return bool(self.next())
        p = self._number(probability)
        if not (self.signs.nonnegative(p) and self.signs.nonnegative(self.field.one - p)):
            raise Undecided(f"the rule flips with {p}, which is not known to lie in [0, 1]")
        raise Choice([(True, True, p), (False, False, self.field.one - p)])

    def coin(self, levels: int | None = None) -> TokenCoin:
        if levels is not None:
            raise Undecided("the rule flips a coin on a grid")
        return TokenCoin(self)

    def min(self, a: Any, b: Any) -> Any:
        if isinstance(a, Vector) and isinstance(b, Vector):
            return Vector(self, a.entries.combine(b.entries, self.coordinates, self.signs.minimum))
        return Number(self, self.signs.minimum(self._number(a), self._number(b)))

    def relu(self, a: Any) -> Any:
        if isinstance(a, Vector):
            return Vector(self, a.entries.map(self.signs.positive_part))
        return Number(self, self.signs.positive_part(self._number(a)))

    def norm(self, vector: Vector, otherwise: Vector | None = None) -> Vector:
        total = vector.entries.total(self.coordinates)
        if not self._nonnegative(vector):
            raise Undecided("the rule normalises a vector that is not known to be non-negative")
        if total.is_zero():
            if otherwise is None:
                raise Undecided("the rule normalises a vector that sums to zero")
            return otherwise
        if total.same(self.field.one):
            return vector
        if not total.is_constant():
            self.signs.know(total)
            if otherwise is not None:
                key = str(positive_lead(total))
                if key in self.either:
                    return self._either(vector, otherwise)
                self.alternatives[key] = None
            self.owe(total)
        inverse = total.inverse()
        return Vector(self, vector.entries.map(lambda a: a * inverse))

    def _either(self, vector: Vector, otherwise: Vector) -> Vector:
        """``norm`` with an alternative: a distribution either way, and nothing else is known of it."""
        self.require_distribution(otherwise, "falls back on")
        return self._opaque(
            f"norm({vector.key()}; otherwise {otherwise.key()})",
            {"norm": self.written(vector), "otherwise": self.written(otherwise)},
            (vector, otherwise),
            distribution=True,
        )

    def sum(self, vector: Vector) -> Number:
        return Number(self, vector.entries.total(self.coordinates))

    def without(self, vector: Vector, *tokens: Any) -> Vector:
        unknown = [t.name for t in tokens if isinstance(t, Tried)]
        if unknown:
            if not self._nonnegative(vector):
                raise Undecided(f"the rule takes tokens out of {vector.key()}, which may be negative")
            whole = vector
            vector = self._opaque(
                f"without({vector.key()}; {unknown})",
                {"without": self.written(vector), "tokens": unknown},
                (vector,),
                distribution=False,
            )
            if not whole.entries.at:
                self.signs.know(whole.entries.smooth - vector.entries.smooth)
        at = dict(vector.entries.at)
        for token in tokens:
            if isinstance(token, Token):
                at[token.name] = self.field.zero
            elif not isinstance(token, Tried):
                raise Undecided(f"the rule takes out {token!r}: it names a token of the vocabulary")
        return Vector(self, Entries(vector.entries.smooth, at))

    def uniform(self, without: Sequence[Any] = ()) -> Vector:
        excluded = list(without)
        if any(isinstance(t, Tried) for t in excluded):
            # A token for every sibling rejected, and one more: with fewer siblings than tokens, one is left.
            if sum(isinstance(t, Token) for t in excluded) > 1:
                raise Undecided("the rule leaves out more than the tokens tried before and one of its own")
            self.suppositions["a node has fewer siblings than the vocabulary has tokens"] = None
        elif excluded:
            self.suppositions[f"the vocabulary has more than {len(excluded)} tokens"] = None
        names = sorted(t.name for t in excluded)
        tokens = [t.name for t in excluded if isinstance(t, Token)]
        return self._opaque(
            f"uniform({names})", {"uniform without": names}, (), distribution=True, tokens=frozenset(tokens)
        )

    def point(self, token: Token) -> Vector:
        return Vector(self, Entries(self.field.zero, {token.name: self.field.one}))

    def top(self, vector: Vector, count: int) -> tuple[Token, ...]:
        if count != 1:
            raise Undecided(f"the rule asks for the {count} largest entries: this needs the order of numbers")
        return (self.argmax(vector),)

    def argmax(self, vector: Vector) -> Token:
        if any(is_drawn(t) for t in self.depends(vector)):
            raise Undecided("the rule asks where a vector is largest that depends on a drawn token")
        key = vector.key()
        models = self.coordinates.vectors(vector.entries.smooth) <= self.models
        if vector.entries.at or not models:
            raise Undecided(f"the rule asks where {key} is largest, which is no distribution of a model")
        if key not in self.largest:
            raise Case(key)
        return Token(self.largest[key])

    def call(self, state: tuple[Any, ...], continuation: Callable[[], Outcome]) -> Outcome:
        return continuation()

    # What its numbers ask

    def divide(self, a: Rational, b: Rational) -> Rational:
        if b.is_zero():
            raise Undecided("the rule divides by zero")
        if not b.is_constant():
            self.owe(b)
        return a * b.inverse()

    def less(self, a: Rational, b: Rational, strict: bool) -> bool:
        """a < b, or a <= b; where only the weak sign of the difference is known, it owes a ≠ b."""
        difference = b - a
        if difference.is_zero():
            return not strict
        sign = self.signs.sign(difference)
        if not sign:
            raise Undecided(f"the rule compares {a} with {b}: which is larger depends on the distributions")
        if not difference.is_constant() and strict == (sign > 0):
            self.owe(difference)
        return sign > 0

    def equal(self, a: Rational, b: Rational) -> bool:
        """a = b only if the formulas are equal; else it owes a ≠ b."""
        difference = a - b
        if difference.is_zero():
            return True
        if not difference.is_constant():
            self.owe(difference)
        return False

    # Vectors

    def distribution(self, name: str, hidden: Sequence[Token] = ()) -> Vector:
        """An arbitrary distribution, which may depend on tokens."""
        drawn = frozenset(t.name for t in hidden if is_drawn(t.name))
        self.models.add(name)
        return Vector(self, Entries(self.coordinates.vector(name, distribution=True, hidden=drawn)))

    def _opaque(
        self,
        key: str,
        definition: dict[str, Any],
        parts: Sequence[Vector],
        *,
        distribution: bool,
        tokens: frozenset[str] = frozenset(),
    ) -> Vector:
        """A non-negative vector of which only that is known; the same for the same ``key``."""
        if key not in self._vectors:
            name = f"d{len(self.definitions)}"
            self.definitions[name] = definition
            hidden = frozenset(t for part in parts for t in self.depends(part)) | tokens
            smooth = self.coordinates.vector(
                name, distribution=distribution, hidden=frozenset(filter(is_drawn, hidden))
            )
            self._vectors[key] = Vector(self, Entries(smooth))
        return self._vectors[key]

    def depends(self, vector: Vector) -> set[str]:
        """The tokens that a vector depends on."""
        c = self.coordinates
        found = set(vector.entries.at).union(c.all_tokens(vector.entries.smooth))
        for value in vector.entries.at.values():
            found |= c.all_tokens(value)
        return found - {"y"}

    def summed_vectors(self, f: Rational) -> set[str]:
        """The vectors in ``f``, those in its sums included."""
        names = self.coordinates.vectors(f)
        sums = " ".join(self.coordinates.sums[name] for name in names if name in self.coordinates.sums)
        return names | {name for name in self.definitions if f"{name}[" in sums}

    def written(self, vector: Vector) -> dict[str, str]:
        """A vector as a certificate holds it: token, or ``y`` for all others, → entry."""
        return {"y": str(vector.entries.smooth)} | {t: str(v) for t, v in vector.entries.at.items()}

    def require_distribution(self, vector: Vector, verb: str) -> None:
        """Raises ``Undecided`` unless the vector is seen to be a distribution."""
        if not isinstance(vector, Vector):
            raise RuleError(f"the rule {verb} {vector!r}, which is no vector")
        total = vector.entries.total(self.coordinates)
        if not total.same(self.field.one):
            raise Undecided(f"the rule {verb} a vector that sums to {total}, not to 1")
        if not self._nonnegative(vector):
            raise Undecided(f"the rule {verb} {vector.key()}, which is not known to be non-negative")

    def _nonnegative(self, vector: Vector) -> bool:
        entries = [vector.entries.smooth]
        entries += [vector.entries.entry(self.coordinates, t) for t in (*self.known, *vector.entries.at)]
        return all(self.signs.nonnegative(a) for a in entries)

    def _number(self, value: Any) -> Rational:
        if (number := rational(self, value)) is None:
            raise RuleError(f"the rule uses {value!r} as a number")
        return number
