"""Closed form, exact enumeration and simulation agree on random settings.

``LOSSLESSCHECK_SETTINGS=1000`` tries as many. A simulation's interval misses with probability at most 1e-9.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.sim import ByPosition, BySibling, Constant, Prediction, predict, simulate
from losslesscheck.sim.acceptance import Acceptance
from losslesscheck.sim.acceptance.exact import accepted_law
from losslesscheck.sim.tokens import closed_forms
from losslesscheck.tree import Tree

SETTINGS = int(os.environ.get("LOSSLESSCHECK_SETTINGS", "40"))
THROWN: dict[str, Any] = {"confidence": 1 - 1e-9, "precision": 0.05, "most_steps": 2**17}

Setting = tuple[float, float, Prediction]
"""Tokens per step by closed form, by enumeration, and as simulated."""


def row(rng: random.Random, vocabulary: int) -> list[Fraction]:
    parts = [rng.choice((0, 1, 2, 5, 9, 30)) for _ in range(vocabulary)]
    parts[rng.randrange(vocabulary)] += 1
    return [Fraction(part, sum(parts)) for part in parts]


def of_rule(name: str, closed: Any, p: Any, q: Any, tree: Tree, seed: int, **parameters: Any) -> Setting:
    rule = rules.get(name).bind(**parameters)
    exact = accepted_law(rule, p, q, tree=tree).tokens_per_step
    return float(closed), float(exact), simulate.of_rule(rule, p, q, tree=tree, seed=seed, **THROWN)


def chain(rng: random.Random, seed: int) -> Setting:
    size, length = rng.randint(2, 5), rng.randint(1, 4)
    p, q = row(rng, size), row(rng, size)
    closed = closed_forms.chain(closed_forms.overlap(p, q), draft_length=length)
    return of_rule("chain", closed, p, q, Tree.chain(length), seed)


def block_verification(rng: random.Random, seed: int) -> Setting:
    size, length = rng.randint(2, 3), rng.randint(1, 3)
    p, q = row(rng, size), row(rng, size)
    lengths = closed_forms.block_verification(p, q, draft_length=length)
    return of_rule("block_verification", 1 + sum(lengths), p, q, Tree.chain(length), seed)


def multi_step(rng: random.Random, seed: int) -> Setting:
    size, widths = rng.randint(2, 4), [rng.randint(1, 3) for _ in range(rng.randint(1, 2))]
    p, q = row(rng, size), row(rng, size)
    closed = closed_forms.multi_step_tree(p, q, widths=widths)
    return of_rule("specinfer", closed, p, q, Tree.regular(widths), seed)


def without_replacement(rng: random.Random, seed: int) -> Setting:
    size, widths = rng.randint(3, 4), [rng.randint(1, 3), 1]
    p, q = row(rng, size), row(rng, size)
    closed = closed_forms.without_replacement_tree(p, q, widths=widths)
    return of_rule("without_replacement", closed, p, q, Tree.regular(widths), seed, exhausted="uniform")


def target_only(rng: random.Random, seed: int) -> Setting:
    size = rng.randint(3, 5)
    p = row(rng, size)
    names = rng.sample(range(size), 3)
    tree = Tree((Tree((Tree(token=names[2]),), names[0]), Tree(token=names[1])))
    return of_rule("target_only", closed_forms.target_only(p, tree), p, None, tree, seed)


def enumerated(acceptance: Acceptance, tree: Tree) -> float:
    """1 + Σ P(node reached), by walking every way of accepting and rejecting."""

    def below(node: Tree, depth: int) -> float:
        if not node.children:
            return 0.0
        chances = acceptance.siblings(depth, len(node.children))
        return math.fsum(
            chance * (1 + below(child, depth + 1))
            for chance, child in zip(chances, node.children, strict=True)
        )

    return 1 + below(tree, 0)


def of_model(acceptance: Acceptance, tree: Tree, seed: int) -> Setting:
    closed = predict(acceptance, tree=tree)
    assert closed.method == "closed-form"
    thrown = simulate.of_acceptance(acceptance, tree=tree, seed=seed, **THROWN)
    return closed.tokens_per_step, enumerated(acceptance, tree), thrown


def constant(rng: random.Random, seed: int) -> Setting:
    return of_model(Constant(rng.random()), Tree.chain(rng.randint(1, 12)), seed)


def positions(rng: random.Random, seed: int) -> Setting:
    alphas = tuple(rng.random() for _ in range(rng.randint(1, 8)))
    return of_model(ByPosition(alphas), Tree.chain(len(alphas)), seed)


def siblings(rng: random.Random, seed: int) -> Setting:
    widths = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    rows = []
    for width in widths:
        shares = [rng.random() for _ in range(width + 1)]
        rows.append(tuple(share / sum(shares) for share in shares[:width]))
    return of_model(BySibling(tuple(rows)), Tree.regular(widths), seed)


KINDS: tuple[Callable[[random.Random, int], Setting], ...] = (
    chain,
    block_verification,
    multi_step,
    without_replacement,
    target_only,
    constant,
    positions,
    siblings,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_all_three_agree(kind: Callable[[random.Random, int], Setting]) -> None:
    widest = 0.0
    for number in range(-(-SETTINGS // len(KINDS))):
        closed, exact, thrown = kind(random.Random(f"{kind.__name__} {number}"), number)
        assert closed == pytest.approx(exact, abs=1e-12)
        assert thrown.interval is not None
        low, high = thrown.interval
        assert low <= closed <= high, (kind.__name__, number)
        widest = max(widest, high - low)
    assert widest < 0.2  # the intervals say something


def test_the_lengths_agree_too() -> None:
    p, q = (
        [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)],
        [Fraction(1, 5), Fraction(1, 2), Fraction(3, 10)],
    )
    for name, tree in itertools.product(("chain", "block_verification"), (Tree.chain(2), Tree.chain(3))):
        exact = np.array([float(x) for x in accepted_law(name, p, q, tree=tree).lengths])
        thrown = simulate.of_rule(name, p, q, tree=tree, most_steps=2**17)
        assert thrown.steps is not None
        # 6.2 standard deviations: 1e-9 for all.
        off = np.abs(thrown.lengths - exact)
        assert (off <= 6.5 * np.sqrt(exact * (1 - exact) / thrown.steps) + 1e-12).all()
