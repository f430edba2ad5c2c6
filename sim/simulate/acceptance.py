"""Simulation of an acceptance model."""

from __future__ import annotations

from functools import partial

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import Acceptance, ByPosition, BySibling, Constant, Correlated
from losslesscheck.sim.acceptance.base import FloatArray, IntArray, Nodes, check_drafted
from losslesscheck.sim.simulate import coins
from losslesscheck.sim.simulate.sequences import STEPS, Sequences
from losslesscheck.sim.simulate.stopping import Source, simulate
from losslesscheck.sim.tokens.prediction import Prediction
from losslesscheck.tree import Tree


def of_acceptance(
    acceptance: Acceptance,
    *,
    draft_length: int | None = None,
    tree: Tree | None = None,
    precision: float = 1e-3,
    confidence: float = 0.99,
    most_steps: int = 2**30,
    seed: int = 0,
    threads: int | None = None,
) -> Prediction:
    """Tokens per step (accepted draft tokens + 1) by throwing a coin for every draft token looked at.

    The law of accepted lengths that the model computes is never asked for, so the simulation can be held
    against it. For ``Correlated`` only the law of the state at the very beginning is; whole sequences of 64
    steps are the independent units. Of a model that is not one of the package's own the steps are taken to
    be independent.

    Args:
        draft_length, tree: one of the two; at most 128 draft tokens deep.
        precision, confidence, most_steps, seed, threads: see ``stopping.simulate``: it stops as soon as the
            interval's half width is at most ``precision``, and the interval is valid although it does.

    Raises:
        InputError: unless exactly one of draft length and tree is given and fits the model; for the options,
            as ``stopping.simulate`` says.

    >>> from losslesscheck.sim.acceptance import Constant
    >>> found = of_acceptance(Constant(0.8), draft_length=4, precision=0.01)
    >>> found.method, abs(found.tokens_per_step - 3.3616) < 0.01
    ('simulated', True)
    """
    check_drafted(draft_length, tree)
    if tree is None:
        assert draft_length is not None
        tree = Tree.chain(draft_length)
    if not isinstance(acceptance, Acceptance):
        raise InputError(f"acceptance: {acceptance!r} is no acceptance model")
    return simulate(
        _source(acceptance, tree),
        precision=precision,
        confidence=confidence,
        most_steps=most_steps,
        seed=seed,
        threads=threads,
    )


def _source(acceptance: Acceptance, tree: Tree) -> Source:
    if isinstance(acceptance, Correlated):
        return Source(Sequences(acceptance, tree).draw, tree.depth, unit=STEPS, batch=2**12, streams=4)
    if isinstance(acceptance, (Constant, ByPosition, BySibling)):
        nodes = Nodes(tree)
        below = coins.chances(acceptance, nodes)
        return Source(partial(_anonymous, nodes, below), tree.depth)
    acceptance.tree_lengths(tree)  # raises here, not in a thread, if it does not fit
    return Source(partial(_thrown, acceptance, tree), tree.depth, batch=2**16)


def _anonymous(
    nodes: Nodes, below: list[FloatArray], steps: int, rng: np.random.Generator
) -> tuple[IntArray, float]:
    lengths = coins.walk(steps, nodes, below, rng)
    return lengths, coins.squares(lengths)


def _thrown(
    acceptance: Acceptance, tree: Tree, steps: int, rng: np.random.Generator
) -> tuple[IntArray, float]:
    if tree.width <= 1:
        accepted = acceptance.throw(steps, tree.depth, rng)
    else:
        accepted = acceptance.throw_tree(steps, tree, rng)
    lengths = np.bincount(accepted, minlength=tree.depth + 1)
    return lengths, coins.squares(lengths)
