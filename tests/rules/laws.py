"""What the tests of the rules share: exact laws, and models that cover the awkward cases."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from losslesscheck.law import UNDEFINED, rows
from losslesscheck.machines.exact import exact_law
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

Row = list[Fraction]


def row(*values: str | int) -> Row:
    """A distribution from decimal strings or integers."""
    return [Fraction(value) for value in values]


def model(rows_or_model: Model | Row) -> Model:
    return rows_or_model if isinstance(rows_or_model, Model) else Model.constant(rows_or_model)


def law(
    rule: Rule, p: Model | Row, q: Model | Row | None = None, tree: Tree | None = None
) -> dict[tuple[Any, ...], Fraction]:
    """The exact law of the rule in fractions; a row stands for the same row after every context."""
    target = model(p)
    exact = exact_law(rule, target, None if q is None else model(q), rule.fit(tree, target.vocabulary))
    return {outcome: fraction(mass) for outcome, mass in exact.items()}


def fraction(value: Any) -> Fraction:
    return Fraction(int(value.numerator), int(value.denominator))


def first_token(emitted: dict[tuple[Any, ...], Fraction], vocabulary: int) -> Row:
    """The law of the first emitted token."""
    return [
        sum((mass for outcome, mass in emitted.items() if outcome[0] == token), Fraction(0))
        for token in range(vocabulary)
    ]


def accepted(emitted: dict[tuple[Any, ...], Fraction]) -> Fraction:
    """The expected number of accepted drafts: every step emits one token more."""
    return sum(((len(outcome) - 1) * mass for outcome, mass in emitted.items()), Fraction(0))


def off(rule: Rule, p: Model | Row, q: Model | Row | None = None, tree: Tree | None = None) -> str:
    """Where the law is not the target's (or its greedy decoding's), as text; empty if nowhere."""
    target = model(p)
    emitted = law(rule, target, q, tree)
    if UNDEFINED in emitted:
        return f"undefined with probability {emitted[UNDEFINED]}"
    return law_off(emitted, target, greedy=rule.greedy)


def law_off(emitted: dict[tuple[Any, ...], Fraction], target: Model, *, greedy: bool = False) -> str:
    """Where a law without undefined mass is not the target's, as text; empty if nowhere."""

    def demanded(context: tuple[int, ...]) -> Row:
        return one_hot(target.exact(context)) if greedy else target.exact(context)

    for found in rows(emitted, target.vocabulary, demanded):
        if any(found.differences):
            return f"after {found.context}: {found.emitted}, not {found.expected}"
    return ""


def one_hot(values: Sequence[Fraction]) -> Row:
    best = max(range(len(values)), key=lambda t: (values[t], -t))
    return [Fraction(token == best) for token in range(len(values))]


def random_row(rng: random.Random, vocabulary: int) -> Row:
    """A dense, a sparse, a one-hot or a flat distribution."""
    most = rng.choice((12, 12, 2, 1))
    parts = [rng.randint(0, most) for _ in range(vocabulary)]
    if not any(parts) or rng.random() < 0.2:
        parts = [0] * vocabulary
        parts[rng.randrange(vocabulary)] = 1
    return [Fraction(part, sum(parts)) for part in parts]


def random_models(seed: int, vocabulary: int, depth: int) -> tuple[Model, Model]:
    """A target and a draft with a row for every context of up to ``depth`` tokens.

    Some draft rows equal the target's, some have a support disjoint from it.
    """
    rng = random.Random(seed)
    target, draft = [], []
    for length in range(depth + 1):
        for _ in itertools.product(range(vocabulary), repeat=length):
            p = random_row(rng, vocabulary)
            q = random_row(rng, vocabulary)
            kind = rng.randrange(5)
            if kind == 0:
                q = p
            elif kind == 1 and (gap := [t for t in range(vocabulary) if p[t] == 0]):
                q = [Fraction(int(t in gap), len(gap)) for t in range(vocabulary)]
            target.append(p)
            draft.append(q)
    return Model.table(target, "target"), Model.table(draft, "draft")
