"""Instances: targets, drafts and a token tree on which a rule's exact law is computed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

SMALL_VOCABULARY = 16
LARGEST_TABLE = 4000
"""Entries of a random instance's rows; longer contexts share the row of the empty one."""

NAMES = ("target", "draft")

ContextRows = Mapping[tuple[int, ...], Sequence[Fraction]]
"""Next-token distributions by context."""


@dataclass(frozen=True)
class Instance:
    """A vocabulary, a token tree and the models' rows where they differ from a default.

    Attributes:
        vocabulary: V.
        tree: the token tree, as ``Rule.fit`` returns it.
        target, draft: rows by context; the row at the empty context stands for every context that
            is not listed.
    """

    vocabulary: int
    tree: Tree
    target: ContextRows
    draft: ContextRows = field(default_factory=dict)

    def models(self) -> tuple[Model, Model | None]:
        """The models, target first."""
        return (
            _model(self.target, "target"),
            _model(self.draft, "draft") if self.draft else None,
        )


def _model(rows: ContextRows, name: str) -> Model:
    contexts = list(rows)
    number = {context: place for place, context in enumerate(contexts)}
    return Model([list(rows[c]) for c in contexts], lambda context: number.get(context, number[()]), name)


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All tuples of ``parts`` non-negative integers with the given sum."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        cuts = (-1, *bars, total + parts - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(cuts))


def small(
    rule: Rule, trees: Sequence[Tree], vocabularies: Sequence[int], denominator: int
) -> Iterator[Instance]:
    """Every instance with the same rows after every context, in multiples of 1/denominator.

    Instances that smaller denominators already have are left out. The order is by vocabulary, then
    by tree, so that the first failure is a smallest one.
    """
    for vocabulary, tree in itertools.product(vocabularies, trees):
        if not _fits(rule, tree, vocabulary):
            continue
        simplex = list(compositions(denominator, vocabulary))
        drafts: list[tuple[int, ...]] = simplex if uses_draft(rule) else [()]
        for p, q in itertools.product(simplex, drafts):
            if gcd(denominator, *p, *q) == 1:
                yield Instance(
                    vocabulary,
                    tree,
                    {(): _row(p, denominator)},
                    {(): _row(q, denominator)} if q else {},
                )


def by_position(rule: Rule, tree: Tree, denominator: int) -> Iterator[Instance]:
    """Every instance over two tokens whose rows depend on the position only."""
    if not _fits(rule, tree, 2) or tree.depth > 2:
        return
    simplex = [_row(c, denominator) for c in compositions(denominator, 2)]
    drafts = tree.depth if uses_draft(rule) else 0
    for rows in itertools.product(simplex, repeat=tree.depth + 1 + drafts):
        yield Instance(
            2,
            tree,
            _positions(rows[: tree.depth + 1]),
            _positions(rows[tree.depth + 1 :]),
        )


def arbitrary(rule: Rule, tree: Tree, vocabulary: int, seed: int) -> Instance:
    """A random instance whose rows depend on the context; the awkward kinds are frequent.

    Kinds: dense, peaked, with zeros, one-hot, flat, and a draft equal to the target's row or with
    a disjoint support.
    """
    rng = random.Random(seed)
    every = (
        c
        for length in range(_depth(rule, tree) + 1)
        for c in itertools.product(range(vocabulary), repeat=length)
    )
    contexts = list(itertools.islice(every, min(400, max(2, LARGEST_TABLE // vocabulary))))
    target = {c: _random_row(rng, vocabulary) for c in contexts}
    draft = {}
    if uses_draft(rule):
        for context in contexts:
            kind = rng.randrange(5)
            row = target[context]
            if kind == 0:
                draft[context] = row
            elif kind == 1 and 0 in row:
                gap = [t for t in range(vocabulary) if row[t] == 0]
                draft[context] = [Fraction(t in gap, len(gap)) for t in range(vocabulary)]
            else:
                draft[context] = _random_row(rng, vocabulary)
    return Instance(vocabulary, tree, target, draft)


def tabulate(rule: Rule, target: Model, draft: Model | None, tree: Tree) -> Instance:
    """The instance that models and a tree make, with a row for every context the tree reaches."""
    contexts = [
        context
        for length in range(_depth(rule, tree) + 1)
        for context in itertools.product(range(target.vocabulary), repeat=length)
    ]
    return Instance(
        target.vocabulary,
        tree,
        {c: target.exact(c) for c in contexts},
        {} if draft is None else {c: draft.exact(c) for c in contexts},
    )


def sampling_models(
    rule: Rule, tree: Tree, vocabulary: int, seed: int, *, positive_draft: bool = False
) -> tuple[Model, Model | None]:
    """Random models for the Monte-Carlo reading: rows chosen by the context, for any number of lanes.

    Up to ``SMALL_VOCABULARY`` tokens the rows are small fractions and every short context has its
    own; beyond, a few float rows (log-normal weights) are shared out by a hash of the
    context. With ``positive_draft`` the draft's rows are without zeros (float rows always are).
    """
    if vocabulary <= SMALL_VOCABULARY:
        rng = random.Random(seed)
        count = min(sum(vocabulary**n for n in range(_depth(rule, tree) + 1)), 997)
        exact = [[_random_row(rng, vocabulary) for _ in range(count)] for _ in range(2)]
        if positive_draft:
            exact[1] = [positive(row) for row in exact[1]]
        pair = [Model(rows, hashed(vocabulary, count), n) for rows, n in zip(exact, NAMES, strict=True)]
    else:
        generator = np.random.default_rng(seed)
        floats = [np.array([_wide_row(generator, vocabulary) for _ in range(3)]) for _ in range(2)]
        pair = [Model(rows, hashed(vocabulary, 3), n) for rows, n in zip(floats, NAMES, strict=True)]
    return pair[0], pair[1] if uses_draft(rule) else None


def hashed(vocabulary: int, count: int) -> Callable[[tuple[Any, ...]], Any]:
    """The index of a model (see ``Model``) that shares ``count`` rows out by a hash of the context."""

    def index(context: tuple[Any, ...]) -> Any:
        number: Any = 0
        for token in context:
            number = (number * vocabulary + token + 1) % count
        return number

    return index


def _wide_row(generator: np.random.Generator, vocabulary: int) -> Any:
    weights = np.exp(2.5 * generator.standard_normal(vocabulary))
    return weights / weights.sum()


def uses_draft(rule: Rule) -> bool:
    """Whether the rule is handed a draft distribution."""
    return rule.form != "node" and not rule.fixed_tokens


def positive(row: Sequence[Fraction]) -> list[Fraction]:
    """The row with some mass added to every token."""
    return [(a + Fraction(1, 20)) / (1 + Fraction(len(row), 20)) for a in row]


def _fits(rule: Rule, tree: Tree, vocabulary: int) -> bool:
    return max(tree.tokens, default=0) < vocabulary


def _depth(rule: Rule, tree: Tree) -> int:
    return tree.depth if rule.takes_tree else int(rule.settings.get("steps", 3))


def _row(parts: Sequence[int], denominator: int) -> list[Fraction]:
    return [Fraction(part, denominator) for part in parts]


def _positions(rows: Sequence[Sequence[Fraction]]) -> dict[tuple[int, ...], Sequence[Fraction]]:
    return {
        context: row
        for position, row in enumerate(rows)
        for context in itertools.product(range(len(row)), repeat=position)
    }


def _random_row(rng: random.Random, vocabulary: int) -> list[Fraction]:
    kind = rng.randrange(6)
    if kind == 0:
        parts = [0] * vocabulary
        parts[rng.randrange(vocabulary)] = 1
    elif kind == 1:
        parts = [1] * vocabulary
    elif kind == 2:
        parts = [rng.choice((0, 1, 2, 5)) for _ in range(vocabulary)]
    elif kind == 3:
        parts = [rng.randint(1, 3) for _ in range(vocabulary)]
        parts[rng.randrange(vocabulary)] = 90
    else:
        parts = [rng.randint(0, 12) for _ in range(vocabulary)]
    if not any(parts):
        parts[rng.randrange(vocabulary)] = 1
    return [Fraction(part, sum(parts)) for part in parts]
