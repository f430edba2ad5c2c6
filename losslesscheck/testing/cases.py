"""Problems of every awkward kind that an implementation must get right.

Rows are multiples of 1/256, which every dtype down to bfloat16 holds exactly, and differ from context
to context.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.instances import uses_draft
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.testing.drafting import own_tree
from losslesscheck.testing.problem import Problem
from losslesscheck.tree import Tree

UNIT = 256
"""The common denominator of the rows."""

ROWS = 61
"""Rows that the contexts share: a prime, so that the rows of neighbouring contexts differ."""

Parts = npt.NDArray[np.int64]
Kind = Callable[[np.random.Generator, int], tuple[Parts, Parts]]
"""Makes a target and a draft row over so many tokens, in multiples of 1/256."""


def _share(weights: npt.NDArray[np.float64]) -> Parts:
    """Whole parts of 256 in about these proportions, none for a weight of zero."""
    if not weights.any():
        weights = np.ones_like(weights)
    parts: Parts = np.floor(weights / weights.sum() * UNIT).astype(np.int64)
    parts[int(np.argmax(parts))] += UNIT - parts.sum()
    return parts


def _dense(rng: np.random.Generator, vocabulary: int) -> Parts:
    return _share(rng.random(vocabulary) + 0.2)


def _sparse(rng: np.random.Generator, vocabulary: int) -> Parts:
    return _share((rng.random(vocabulary) + 0.1) * (rng.random(vocabulary) < 0.5))


def _peaked(rng: np.random.Generator, vocabulary: int) -> Parts:
    parts = np.zeros(vocabulary, dtype=np.int64)
    few = rng.permutation(vocabulary)[:4]
    parts[few] = 1
    parts[few[0]] += UNIT - parts.sum()
    return parts


def _one_hot(rng: np.random.Generator, vocabulary: int) -> Parts:
    parts = np.zeros(vocabulary, dtype=np.int64)
    parts[rng.integers(vocabulary)] = UNIT
    return parts


def _mixed(rng: np.random.Generator, vocabulary: int) -> tuple[Parts, Parts]:
    every = [make for name, make in KINDS.items() if name != "mixed"]
    return every[int(rng.integers(len(every)))](rng, vocabulary)


def _equal(rng: np.random.Generator, vocabulary: int) -> tuple[Parts, Parts]:
    row = _dense(rng, vocabulary)
    return row, row


def _neighbours(rng: np.random.Generator, vocabulary: int) -> tuple[Parts, Parts]:
    """p and q differ by 1/256 at two tokens."""
    p = _dense(rng, vocabulary)
    q = p.copy()
    if vocabulary > 1:
        q[int(p.argmax())] -= 1
        q[int(p.argmin())] += 1
    return p, q


def _disjoint(rng: np.random.Generator, vocabulary: int) -> tuple[Parts, Parts]:
    if vocabulary == 1:
        return _equal(rng, 1)
    mine = np.zeros(vocabulary, dtype=bool)
    mine[rng.permutation(vocabulary)[: vocabulary // 2]] = True
    weights = rng.random(vocabulary) + 0.2
    return _share(weights * mine), _share(weights * ~mine)


def _zero_tail(rng: np.random.Generator, vocabulary: int) -> tuple[Parts, Parts]:
    """The last half of the target is zero, the last quarter of the draft: padding looks like that."""
    p, q = rng.random(vocabulary) + 0.2, rng.random(vocabulary) + 0.2
    p[(vocabulary + 1) // 2 :] = 0
    q[(3 * vocabulary + 3) // 4 :] = 0
    return _share(p), _share(q)


def _ties(rng: np.random.Generator, vocabulary: int) -> tuple[Parts, Parts]:
    """Two values only, one twice the other, and zeros: several tokens are the likeliest."""

    def row() -> Parts:
        units = 2 ** (vocabulary.bit_length() - 1)  # so that they divide 256
        twos = int(rng.integers(units // 2 + 1))
        parts = np.zeros(vocabulary, dtype=np.int64)
        parts[:twos], parts[twos : units - twos] = 2, 1
        mixed: Parts = rng.permutation(parts) * (UNIT // units)
        return mixed

    return row(), row()


def _flat(rng: np.random.Generator, vocabulary: int) -> tuple[Parts, Parts]:
    return _share(np.ones(vocabulary)), _dense(rng, vocabulary)


def _flat_draft(rng: np.random.Generator, vocabulary: int) -> tuple[Parts, Parts]:
    return _dense(rng, vocabulary), _share(np.ones(vocabulary))


KINDS: dict[str, Kind] = {
    "mixed": _mixed,
    "dense": lambda rng, v: (_dense(rng, v), _dense(rng, v)),
    "peaked": lambda rng, v: (_peaked(rng, v), _peaked(rng, v)),
    "flat": _flat,
    "flat draft": _flat_draft,
    "sparse": lambda rng, v: (_sparse(rng, v), _sparse(rng, v)),
    "zero tail": _zero_tail,
    "ties": _ties,
    "disjoint": _disjoint,
    "p = q": _equal,
    "p ≈ q": _neighbours,
    "one-hot target": lambda rng, v: (_one_hot(rng, v), _dense(rng, v)),
    "one-hot draft": lambda rng, v: (_dense(rng, v), _one_hot(rng, v)),
}
"""The kinds of rows; ``mixed`` has a kind of its own after every context."""


def problem(
    rule: Rule,
    kind: str = "mixed",
    *,
    vocabulary: int = 8,
    tree: Tree | None = None,
    seed: int = 0,
    ragged: bool = False,
    padded: int = 0,
) -> Problem:
    """A problem of a kind.

    For ``mixed`` the row after no tokens at all is dense.

    Args:
        rule: the rule that it is a problem for.
        kind: one of ``KINDS``.
        vocabulary: at most 64 tokens.
        tree: the shape of the token tree, or a tree; by default the rule's own. Where the rule needs
            fixed tokens and the tree has none, they are chosen at random.
        seed: of the rows and tokens.
        ragged: see ``Problem``.
        padded: how many tokens of probability 0 in both models are added at the end.

    Raises:
        InputError: for an unknown kind, or a vocabulary that is too large or too small for the tree.
    """
    if kind not in KINDS:
        raise InputError(f"kind: {kind!r} is none of {', '.join(KINDS)}")
    if not 1 <= vocabulary <= UNIT // 4:
        raise InputError(f"vocabulary: {vocabulary} is not from 1 to {UNIT // 4}")
    rng = np.random.default_rng(seed)
    pairs = [KINDS[kind](rng, vocabulary) for _ in range(ROWS)]
    if kind == "mixed":
        pairs[0] = KINDS["dense"](rng, vocabulary)
    pad = np.zeros(padded, dtype=np.int64)
    target, draft = (
        Model(np.array([np.append(pair[which], pad) for pair in pairs]) / UNIT, _row, name)
        for which, name in enumerate(("target", "draft"))
    )
    if not rule.takes_tree:
        if not {"steps", "topk", "draft_tokens"} <= rule.settings.keys():
            raise InputError(f"rule: {rule.name} builds its own token tree, of which nothing is known here")
        tree = own_tree(rule, draft)
    else:
        tree = rule.tree if tree is None else tree
        if rule.fixed_tokens and not tree.tokens:
            tree = _tokens(tree, vocabulary, rng)
        tree = rule.fit(tree, vocabulary)
    name = " ".join([kind] + ["ragged"] * ragged + ["padded"] * (padded > 0))
    given = draft if uses_draft(rule) or not rule.takes_tree else None
    return Problem(f"{name}, V = {vocabulary + padded}", rule, target, given, tree, ragged)


def _row(context: tuple[npt.NDArray[np.int64] | int, ...]) -> npt.NDArray[np.int64] | int:
    number: npt.NDArray[np.int64] | int = 0
    for token in context:
        number = (number * 7 + token + 1) % ROWS
    return number


def _tokens(tree: Tree, vocabulary: int, rng: np.random.Generator) -> Tree:
    """The tree with distinct tokens for the siblings of every node."""
    if tree.width > vocabulary:
        raise InputError(f"tree: {tree.width} siblings of a node in a vocabulary of {vocabulary}")
    names = rng.permutation(vocabulary)[: len(tree.children)].tolist()
    return Tree(
        tuple(
            Tree(_tokens(child, vocabulary, rng).children, name)
            for child, name in zip(tree.children, names, strict=True)
        ),
        tree.token,
    )
