"""Random rational distributions on which the checker runs a rule, and what a scene's symbols are there."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from losslesscheck.checker.expression import ExpressionError, evaluate
from losslesscheck.checker.interpreter import Interpreter, Path, RuleProblem, Vector

ATTEMPTS = 400

Ending = tuple[list[Fraction], tuple[int, ...]]


@dataclass(frozen=True)
class Tree:
    """A token tree of one level, as a whole rule sees it."""

    children: tuple[Tree, ...] = ()
    token: int | None = None

    @property
    def width(self) -> int:
        return len(self.children)

    @property
    def size(self) -> int:
        return len(self.children)

    @property
    def depth(self) -> int:
        return min(1, len(self.children))


@dataclass
class Sample:
    """Distributions and tokens for one run of a scene.

    Attributes:
        vocabulary: the number of tokens V, which are 0 … V − 1.
        fixed: label → token of the fixed tokens.
        history: piece of history → the tokens tried before that it stands for.
    """

    scene: dict[str, Any]
    vocabulary: int
    fixed: dict[str, int]
    history: dict[str, list[int]]
    seed: int
    _rows: dict[tuple[str, tuple[int, ...]], list[Fraction]] = field(default_factory=dict)
    _known: dict[Any, Fraction] = field(default_factory=dict)

    def row(self, model: str, context: tuple[int, ...] = ()) -> list[Fraction]:
        """p or q after a context."""
        if (model, context) not in self._rows:
            rng = random.Random(f"{self.seed} {model} {context}")
            self._rows[model, context] = _distribution(self.vocabulary, rng)
        return self._rows[model, context]

    def run(self, function: Callable[..., Any], parameters: dict[str, Any]) -> list[Path]:
        """The paths of the rule on these distributions."""
        m, call = Interpreter(self.vocabulary, self.fixed), self.scene["call"]
        keywords = {k: m.number(v) if isinstance(v, Fraction) else v for k, v in parameters.items()}
        call = self.scene["call"]

        def emit(token: int) -> Ending:
            return m.point(token).values, ()

        def reject(residual: Vector, **state: Any) -> Ending:
            if sum(residual.values) != 1 or min(residual.values) < 0:
                raise RuleProblem(f"the rule rejects with {[str(a) for a in residual.values]}")
            before = {t for piece in self.history.values() for t in piece}
            if len(set(state.get("tried", ())) - before) > 1:
                raise RuleProblem("the rule hands on more than one token more as tried")
            return residual.values, ()

        def model(name: str) -> Callable[[tuple[int, ...]], Vector]:
            return lambda context: Vector(m, self.row(name, tuple(context)))

        def program() -> Ending:
            p, q = Vector(m, self.row("p")), Vector(m, self.row("q"))
            labels = call.get("siblings", ["t1"] if "t1" in self.fixed else [])
            siblings = [self.fixed[label] for label in labels]
            if call["form"] == "step":
                if "tried" in call:
                    keywords["tried"] = tuple(t for piece in self.history.values() for t in piece)
                ending: Ending = function(m, p, siblings[0] if siblings else q, emit, reject, **keywords)
                return ending
            if call["form"] == "node":
                ending = function(m, p, siblings, emit, emit, **keywords)
                return ending
            trees = []
            if call["width"] is not None:
                trees = [Tree(tuple(Tree(token=t) for t in siblings) or (Tree(),) * call["width"])]
            emitted = function(m, model("p"), model("q"), *trees, **keywords)
            return m.point(emitted[0]).values, tuple(emitted)

        return m.paths(program)

    def evaluate(self, text: str, labels: dict[str, int]) -> Fraction | None:
        """A formula of the scene; ``None`` where it is undefined or a token in it has no value."""
        try:
            return Fraction(evaluate(text, _Values(self, labels)))
        except (ZeroDivisionError, _NoToken):
            return None

    def sum(self, entries: dict[str, str], labels: dict[str, int]) -> Fraction | None:
        """The sum of a vector of the scene; ``None`` where it is undefined."""
        try:
            return sum(self._written(entries, labels), Fraction(0))
        except (ZeroDivisionError, _NoToken):
            return None

    def symbol(self, name: str, labels: dict[str, int]) -> Fraction:
        """The true value of an entry, a sum or an atom."""
        vector, _, token = name.rstrip("]").partition("[")
        if token:
            if token not in labels:
                raise _NoToken
            return self._entry(vector, labels[token], labels)
        key = (name, tuple(sorted((k, v) for k, v in labels.items() if k != "y")))
        if key not in self._known:
            self._known[key] = self._scalar(name, labels)
        return self._known[key]

    def _scalar(self, name: str, labels: dict[str, int]) -> Fraction:
        if name == "V":
            return Fraction(self.vocabulary)
        if name in self.scene["sums"]:
            text = self.scene["sums"][name]
            terms = (evaluate(text, _Values(self, {**labels, "y": t})) for t in range(self.vocabulary))
            return Fraction(sum(terms))
        if name in self.scene["atoms"]:
            return min(Fraction(evaluate(self.scene["atoms"][name], _Values(self, labels))), Fraction(0))
        raise ExpressionError(f"{name} is not defined")

    def _entry(self, vector: str, token: int, labels: dict[str, int]) -> Fraction:
        model, *context = vector.split("_")
        if model in ("p", "q"):
            if not set(context) <= set(labels):
                raise _NoToken
            return self.row(model, tuple(labels[label] for label in context))[token]
        if f"{vector}[y]" in self.scene["atoms"]:
            of = evaluate(self.scene["atoms"][f"{vector}[y]"], _Values(self, {**labels, "y": token}))
            return min(Fraction(of), Fraction(0))
        if vector in self.scene["vectors"]:
            return self._defined(self.scene["vectors"][vector], labels)[token]
        raise ExpressionError(f"{vector} is not defined")

    def _defined(self, definition: dict[str, Any], labels: dict[str, int]) -> list[Fraction]:
        """A vector that the certificate gives by how it arose."""
        if "uniform without" in definition:
            out = {t for name in definition["uniform without"] for t in self._piece(name, labels)}
            share = Fraction(1, self.vocabulary - len(out))
            return [Fraction(0) if t in out else share for t in range(self.vocabulary)]
        if "without" in definition:
            out = {t for name in definition["tokens"] for t in self._piece(name, labels)}
            values = self._written(definition["without"], labels)
            return [Fraction(0) if t in out else a for t, a in enumerate(values)]
        values = self._written(definition["norm"], labels)
        total = sum(values)
        return [a / total for a in values] if total else self._written(definition["otherwise"], labels)

    def _piece(self, name: str, labels: dict[str, int]) -> list[int]:
        if name in self.history:
            return self.history[name]
        if name not in labels:
            raise _NoToken
        return [labels[name]]

    def _written(self, entries: dict[str, str], labels: dict[str, int]) -> list[Fraction]:
        named = {labels[label]: text for label, text in entries.items() if label != "y" and label in labels}
        return [
            Fraction(evaluate(named.get(t, entries["y"]), _Values(self, {**labels, "y": t})))
            for t in range(self.vocabulary)
        ]


class _NoToken(Exception):
    """A token of a formula has no value on this path."""


class _Values(Mapping[str, Fraction]):
    """The symbols of a scene with the true values that they have on a sample."""

    def __init__(self, sample: Sample, labels: dict[str, int]) -> None:
        self._sample, self._labels = sample, labels

    def __getitem__(self, name: str) -> Fraction:
        return self._sample.symbol(name, self._labels)

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def samples(scene: dict[str, Any], fixed_tokens: bool, count: int, rng: random.Random) -> Iterator[Sample]:
    """``count`` samples that are in the case of the scene, for V = 2 to 5 (more for many fixed tokens)."""
    pieces = scene["call"].get("tried", 0)
    least = max(2, len(scene["fixed"]), pieces + 2 if pieces else 0)
    found = 0
    for attempt in range(ATTEMPTS):
        if found == count:
            return
        vocabulary = rng.randint(least, max(5, least + 1))
        history = rng.sample(range(vocabulary), rng.randint(pieces, vocabulary - 2)) if pieces else []
        parts = {"h0": history} if pieces == 1 else {"h0": history[:1], "h1": history[1:]} if pieces else {}
        sample = Sample(scene, vocabulary, {}, parts, rng.randrange(2**30))
        if attempt % 5 == 4:
            sample._rows["q", ()] = sample.row("p")  # where a residual has no mass
        if _place(sample, scene, rng):
            found += 1
            yield sample


def _place(sample: Sample, scene: dict[str, Any], rng: random.Random) -> bool:
    """Gives every fixed token a value; false if the distributions are in another case."""
    placed: dict[str, int] = {}
    for text, label in scene["argmax"].items():
        values = [sample.evaluate(text, {**placed, "y": t}) or Fraction(0) for t in range(sample.vocabulary)]
        token = values.index(max(values))
        if placed.get(label, token) != token or token in (t for k, t in placed.items() if k != label):
            return False
        placed[label] = token
    free = [t for t in range(sample.vocabulary) if t not in placed.values()]
    others = [label for label in scene["fixed"] if label not in placed]
    if len(free) < len(others):
        return False
    placed.update(zip(others, rng.sample(free, len(others)), strict=True))
    sample.fixed.update((label, placed[label]) for label in scene["fixed"])
    return True


def _distribution(vocabulary: int, rng: random.Random) -> list[Fraction]:
    """Small random weights, with a zero now and then."""
    while True:
        weights = [rng.choice((0, rng.randint(1, 30), rng.randint(1, 30))) for _ in range(vocabulary)]
        if sum(weights):
            return [Fraction(weight, sum(weights)) for weight in weights]
