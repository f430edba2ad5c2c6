"""Simulation of rules on given models, held against their exact laws."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.errors import InputError, RuleError
from losslesscheck.machines.vocabulary import Machine, NextToken, Outcome
from losslesscheck.model import Model
from losslesscheck.sim.acceptance.exact import accepted_law
from losslesscheck.sim.simulate import of_rule, standalone
from losslesscheck.tree import Tree

CHANCE = 1e-7
"""The probability with which one of these comparisons fails although nothing is wrong."""

P = [Fraction(4, 10), Fraction(3, 10), Fraction(2, 10), Fraction(1, 10)]
Q = [Fraction(1, 10), Fraction(2, 10), Fraction(3, 10), Fraction(4, 10)]
ROWS = ([P, Q, P], [Q, P, P])

CASES: dict[str, tuple[str, Any, Any, Tree | None]] = {
    "chain": ("chain", P, Q, Tree.chain(3)),
    "chain, rows by position": ("chain", *ROWS, Tree.chain(2)),
    "block verification": ("block_verification", P, Q, Tree.chain(3)),
    "multi-step": ("specinfer", P, Q, Tree.regular((2, 2))),
    "without replacement": ("without_replacement", P, Q, Tree.regular((3, 1))),
    "naive sampling": ("naive_sampling", P, Q, Tree.regular((2, 1))),
    "target-only": ("target_only", P, None, Tree.regular((2, 2))),
    "point mass": ("point_mass", P, None, Tree.siblings([0, 3])),
}


def covers(found: Any, expected: Fraction) -> bool:
    assert found.interval is not None
    return bool(found.interval[0] <= expected <= found.interval[1])


@pytest.mark.parametrize("name", CASES)
def test_as_in_the_exact_law(name: str) -> None:
    rule, p, q, tree = CASES[name]
    found = of_rule(rule, p, q, tree=tree, precision=0.05, confidence=1 - CHANCE, seed=1)
    law = accepted_law(rule, p, q, tree=tree)
    assert covers(found, law.tokens_per_step)
    assert found.steps is not None
    off = np.sqrt(np.log(2 * len(found.lengths) / CHANCE) / (2 * found.steps))
    assert np.abs(found.lengths - np.array(law.lengths, dtype=float)).max() <= off


def test_another_rule_is_told_apart() -> None:
    found = of_rule("block_verification", P, Q, tree=Tree.chain(3), precision=0.02, confidence=1 - CHANCE)
    assert not covers(found, accepted_law("chain", P, Q, tree=Tree.chain(3)).tokens_per_step)


@pytest.mark.parametrize(
    ("steps", "topk", "draft_tokens"), [(3, 1, 4), (2, 2, 5), (1, 3, 4)], ids=["chain", "tree", "one level"]
)
def test_standalone_as_in_its_rule(steps: int, topk: int, draft_tokens: int) -> None:
    settings = {"steps": steps, "topk": topk, "draft_tokens": draft_tokens}
    draft = Model.table([Q, *[P[i:] + P[:i] for i in range(4)], *[Q] * 16], "draft")
    law = accepted_law(rules.get("standalone").bind(**settings), P, draft)
    found = standalone(P, draft, **settings, precision=0.03, confidence=1 - CHANCE)
    assert covers(found, law.tokens_per_step)
    assert len(found.lengths) == steps + 1


def test_thresholds_of_standalone_are_kept() -> None:
    lossy = rules.get("standalone").bind(threshold_acc="1/2")
    found = of_rule(lossy, P, Q, precision=0.05, confidence=1 - CHANCE)
    assert covers(found, accepted_law(lossy, P, Q).tokens_per_step)
    assert not covers(found, accepted_law("standalone", P, Q).tokens_per_step)


def half(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    """Accepts every draft token with probability ½."""
    context: tuple[Any, ...] = ()
    while len(context) < tree.depth:
        token = m.draw(q(context))
        context = (*context, token)
        if not m.flip(m.number(Fraction(1, 2))):
            return context
    return (*context, m.draw(p(context)))


def test_a_rule_of_ones_own() -> None:
    found = of_rule(half, P, Q, tree=Tree.chain(2), precision=0.05, confidence=1 - CHANCE)
    assert covers(found, Fraction(7, 4))


def too_long(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    return tuple(m.draw(p(())) for _ in range(tree.depth + 2))


def undefined(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    return (m.draw(m.norm(m.relu(p(()) - p(())))),)


def builds_its_own(m: Machine, p: NextToken, q: NextToken) -> Outcome:
    return (m.draw(p(())),)


def test_threads_do_not_matter() -> None:
    one, two = (of_rule("chain", P, Q, precision=0.05, seed=3, threads=threads) for threads in (1, 2))
    assert one.lengths.tolist() == two.lengths.tolist()


@pytest.mark.parametrize(
    ("rule", "target", "draft", "tree", "error", "message"),
    [
        ("chain", P, None, None, InputError, "draft: chain asks"),
        ("chain", P, Q[:2], None, InputError, r"draft\[0\] sums to 3/10"),
        ("chain", [0.5, 0.6], Q, None, InputError, "target"),
        ("chain", P, [0.5, 0.5], None, InputError, "draft: 2 tokens"),
        ("chain", P, Q, Tree.regular((2,)), InputError, "single path"),
        ("no_such_rule", P, Q, None, InputError, "no_such_rule"),
        (builds_its_own, P, Q, None, InputError, "builds its own token tree"),
        ("standalone", P, Q, Tree.chain(1), InputError, "builds its own token tree"),
        (too_long, P, Q, Tree.chain(1), RuleError, "emits 3 tokens on a tree of depth 1"),
        (undefined, P, Q, Tree.chain(1), RuleError, "undefined value"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-",
)
def test_bad_input(rule: Any, target: Any, draft: Any, tree: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        of_rule(rule, target, draft, tree=tree, most_steps=1000)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps: 0"),
        ({"topk": 0}, "topk: 0"),
        ({"draft_tokens": 5}, "draft_tokens: 5"),
        ({"steps": 129}, "steps: 129"),
    ],
    ids=str,
)
def test_bad_settings_of_standalone(settings: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        standalone(P, Q, **settings)
