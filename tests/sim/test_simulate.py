"""Simulation of acceptance models, held against their closed forms."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import Acceptance, ByPosition, BySibling, Constant, Correlated, Mixed
from losslesscheck.sim.acceptance.base import Nodes
from losslesscheck.sim.simulate import coins, of_acceptance
from losslesscheck.sim.simulate.sequences import STEPS, Sequences
from losslesscheck.sim.tokens import predict
from losslesscheck.tree import Tree

CHANCE = 1e-7
"""The probability with which one of these comparisons fails although nothing is wrong."""

STICKY = Correlated((0.95, 0.3), ((0.98, 0.02), (0.05, 0.95)))
UNEVEN = Tree.from_parents([-1, -1, 0, 0, 1, 2, 5])

CHAINS: dict[str, Acceptance] = {
    "constant": Constant(0.8),
    "never": Constant(0.0),
    "always": Constant(1.0),
    "by position": ByPosition((0.75, 0.69, 0.67, 0.64)),
    "by sibling": BySibling(((0.6, 0.2), (0.5, 0.1))),
    "mixed per token": Mixed(0.7, 3.0, per="token"),
    "mixed per step": Mixed(0.7, 3.0, per="step"),
    "correlated": STICKY,
}


def agrees(acceptance: Acceptance, **shape: Any) -> bool:
    found = of_acceptance(acceptance, precision=0.02, confidence=1 - CHANCE, seed=1, **shape)
    expected = predict(acceptance, **shape)
    assert found.interval is not None
    assert found.steps is not None
    assert found.method == "simulated"
    assert found.lengths.sum() == pytest.approx(1)
    assert found.tokens_per_step == pytest.approx(1 + found.lengths @ np.arange(len(found.lengths)))
    units = found.steps // (STEPS if isinstance(acceptance, Correlated) else 1)
    off = np.sqrt(np.log(2 * len(found.lengths) / CHANCE) / (2 * units))  # Hoeffding's inequality
    low, high = found.interval
    covered = low <= expected.tokens_per_step <= high
    return bool(covered and (np.abs(found.lengths - expected.lengths) <= off).all())


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("draft_length", [0, 1, 4])
def test_chain_as_in_closed_form(name: str, draft_length: int) -> None:
    assert agrees(CHAINS[name], draft_length=draft_length)


@pytest.mark.parametrize("name", [name for name in CHAINS if name != "by position"])
@pytest.mark.parametrize("tree", [Tree.regular((2, 2)), UNEVEN], ids=str)
def test_tree_as_in_closed_form(name: str, tree: Tree) -> None:
    assert agrees(CHAINS[name], tree=tree)


def test_another_acceptance_is_told_apart() -> None:
    found = of_acceptance(Constant(0.8), draft_length=4, precision=0.02, confidence=1 - CHANCE)
    assert found.interval is not None
    assert found.interval[1] < predict(Constant(0.81), draft_length=4).tokens_per_step


@pytest.mark.parametrize("name", ["constant", "mixed per step", "correlated"])
def test_threads_do_not_matter_but_the_seed_does(name: str) -> None:
    found = [
        of_acceptance(CHAINS[name], draft_length=3, precision=0.05, seed=7, threads=threads)
        for threads in (1, 2, 5)
    ]
    for other in found[1:]:
        assert other.lengths.tolist() == found[0].lengths.tolist()
        assert other.interval == found[0].interval
    another = of_acceptance(CHAINS[name], draft_length=3, precision=0.05, seed=8)
    assert another.lengths.tolist() != found[0].lengths.tolist()


@pytest.mark.parametrize(
    ("name", "steps", "most"),
    [("constant", 2**25, 2**20), ("mixed per step", 2**21, 2**23), ("correlated", 2**20, 2**21)],
)
def test_memory_does_not_grow_with_steps(name: str, steps: int, most: int) -> None:
    assert 8 * steps > most  # what the lengths of all steps would take
    tracemalloc.start()
    of_acceptance(CHAINS[name], draft_length=2, precision=1e-9, most_steps=steps, threads=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < most


class Fair:
    """A bit generator whose coins are all in the middle, and which counts how many it is asked for."""

    def __init__(self) -> None:
        self.bit_generator = self
        self.words = 0

    def random_raw(self, size: int) -> np.ndarray:
        self.words += size
        return np.full(size, 2**63 + 2**31, dtype=np.uint64)


@pytest.mark.parametrize(
    ("alphas", "coins_thrown"),
    [((0.0, 0.0, 0.0), 10), ((0.9, 0.0, 0.9), 20), ((0.9, 0.9, 0.9), 30)],
    ids=["rejected at once", "rejected at the second", "all accepted"],
)
def test_no_coin_behind_a_rejection(alphas: tuple[float, ...], coins_thrown: int) -> None:
    nodes, rng = Nodes(Tree.chain(3)), Fair()
    below = coins.chances(ByPosition(alphas), nodes)
    lengths = coins.walk(10, nodes, below, rng)  # type: ignore[arg-type]
    assert lengths.sum() == 10
    assert 2 * rng.words == coins_thrown


@pytest.mark.parametrize("number", [0, 1, 2, 3, coins.CHUNK - 1, coins.CHUNK, 3 * coins.CHUNK + 1])
def test_every_coin_counts_once(number: int) -> None:
    rng = np.random.Generator(np.random.SFC64(0))
    assert coins.successes(number, 1.0, rng) == number
    assert coins.successes(number, 0.0, rng) == 0
    assert coins.successes(number, 1 - 2.0**-32, rng) >= number - 1  # fails with probability 1e-10


def test_coins_come_up_as_often_as_they_should() -> None:
    rng = np.random.Generator(np.random.SFC64(0))
    number = 2**22
    off = np.sqrt(np.log(2 / CHANCE) * number / 2)
    for probability in (0.01, 0.3, 0.5, 0.999):
        assert abs(coins.successes(number, probability, rng) - probability * number) <= off


def test_steps_of_a_sequence_vary_together() -> None:
    """Taken for independent, the steps of ``Correlated`` would give an interval that is too narrow."""
    sequences = 4096
    lengths, squares = Sequences(STICKY, Tree.chain(4)).draw(sequences, np.random.default_rng(0))
    steps = sequences * STEPS
    mean = lengths @ np.arange(5) / steps
    of_steps = lengths @ np.arange(5) ** 2 / steps - mean**2
    of_means = squares / sequences - mean**2
    assert of_means > 4 * of_steps / STEPS


@pytest.mark.parametrize(
    ("acceptance", "options", "message"),
    [
        (Constant(0.5), {}, "draft_length: give either"),
        (Constant(0.5), {"draft_length": 1, "tree": Tree.chain(1)}, "draft_length: give either"),
        (Constant(0.5), {"draft_length": -1}, "draft_length: -1"),
        (Constant(0.5), {"draft_length": 129}, "129 draft tokens is longer than 128"),
        (Constant(0.5), {"tree": (4, 2)}, r"tree: \(4, 2\)"),
        (0.5, {"draft_length": 1}, "acceptance: 0.5"),
        (ByPosition((0.5,)), {"draft_length": 2}, "position 2"),
        (BySibling(((0.5,),)), {"tree": Tree.regular((2,))}, "2 are asked for"),
        (Constant(0.5), {"draft_length": 1, "precision": 0.0}, "precision: 0.0"),
        (Constant(0.5), {"draft_length": 1, "precision": float("nan")}, "precision: nan"),
        (Constant(0.5), {"draft_length": 1, "confidence": 1.0}, "confidence: 1.0"),
        (Constant(0.5), {"draft_length": 1, "most_steps": 1}, "most_steps: 1"),
        (STICKY, {"draft_length": 1, "most_steps": 2 * STEPS - 1}, "most_steps: 127"),
        (Constant(0.5), {"draft_length": 1, "seed": -1}, "seed: -1"),
        (Constant(0.5), {"draft_length": 1, "threads": 0}, "threads: 0"),
    ],
    ids=str,
)
def test_bad_input(acceptance: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        of_acceptance(acceptance, **options)
