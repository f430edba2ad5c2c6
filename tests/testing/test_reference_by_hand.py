"""The references against the papers' algorithms written for one row, with loops and lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from losslesscheck import rules
from losslesscheck.testing import reference
from losslesscheck.testing.subject import Batch

Row = Sequence[Any]
ROOT = -1


def norm(weights: Row) -> Row:
    total = sum(weights)
    return [w / total for w in weights] if total else weights


def draw(weights: Row, coin: Any, target: Row) -> int:
    """Inverse transform; from the target if no weight is left."""
    weights = weights if any(weights) else target
    threshold, so_far = coin * sum(weights), 0
    for token, weight in enumerate(weights):
        so_far += weight
        if so_far > threshold and weight > 0:
            return token
    return max(token for token, weight in enumerate(weights) if weight > 0)


def below(p: Row, q: Row, weight: Any = 1) -> Row:
    return [max(weight * a - b, 0) for a, b in zip(p, q, strict=True)]


def best(row: Row) -> int:
    return row.index(max(row))


class OneRow:
    """One row of a batch: p after every draft token and at the root, q and children by node."""

    def __init__(self, batch: Batch, row: int, number: Callable[[float], Any]) -> None:
        def numbers(values: Any) -> list[Any]:
            return [number(value) for value in values.tolist()]

        self.length = int(batch.lengths[row])
        self.tokens = batch.tokens[row].tolist()
        self.p = {i - 1: numbers(values) for i, values in enumerate(batch.target[row])}
        self.q = [numbers(values) for values in batch.draft[row]]
        self.coins, self.final = numbers(batch.coins[row]), number(float(batch.final[row]))
        self.children: dict[int, list[int]] = {}
        for i, parent in enumerate(batch.parents[row].tolist()[: self.length]):
            self.children.setdefault(parent, []).append(i)

    def siblings(self, node: int) -> list[int]:
        return self.children.get(node, [])


def chain(row: OneRow, kernel: bool = False) -> list[int]:
    emitted: list[int] = []
    for i in range(row.length):
        x, p, q = row.tokens[i], row.p[i - 1], row.q[i]
        allowed = 0 < q[x] <= 1 or not kernel
        if not (allowed and row.coins[i] * q[x] < p[x]):
            return [*emitted, draw(below(p, q), row.final, p)]
        emitted.append(x)
    p = row.p[row.length - 1]
    return [*emitted, draw(p, row.final, p)]


def block_verification(row: OneRow) -> list[int]:
    kept, weight, weight_kept = 0, 1.0, 1.0
    for i in range(1, row.length + 1):
        x, p, q = row.tokens[i - 1], row.p[i - 2], row.q[i - 1]
        ratio = weight * p[x] / q[x] if q[x] else float(weight * p[x] > 0)
        weight = min(1.0, ratio)
        if i == row.length:
            keep = weight
        else:
            surplus = sum(below(row.p[i - 1], row.q[i], weight))
            keep = surplus / (surplus + 1 - weight) if weight < 1 else 1.0
        if row.coins[i - 1] < keep:
            kept, weight_kept = i, weight
    p = row.p[kept - 1]
    left = p if kept == row.length else below(p, row.q[kept], weight_kept)
    return [*row.tokens[:kept], draw(left, row.final, p)]


def blockwise(row: OneRow, top_k: int = 1, distance: int = 0, minimum_block: int = 1) -> list[int]:
    emitted: list[int] = []
    for i in range(row.length):
        x, p = row.tokens[i], row.p[i - 1]
        top = sorted(range(len(p)), key=lambda t: (-p[t], t))[:top_k]
        if i + 1 >= minimum_block and x not in top and abs(x - best(p)) > distance:
            break
        emitted.append(x)
    return [*emitted, best(row.p[len(emitted) - 1])]


def specinfer(row: OneRow) -> list[int]:
    node, emitted = ROOT, list[int]()
    while True:
        left, accepted = row.p[node], None
        for i in row.siblings(node):
            x, q = row.tokens[i], row.q[i]
            if row.coins[i] * q[x] < left[x]:
                accepted = i
                break
            left = norm(below(left, q))
        if accepted is None:
            return [*emitted, draw(left, row.final, row.p[node])]
        node = accepted
        emitted.append(row.tokens[node])


def without_replacement(row: OneRow, exhausted: str = "uniform") -> list[int]:
    node, emitted = ROOT, list[int]()
    while True:
        left, accepted, tried = row.p[node], None, set[int]()
        for i in row.siblings(node):
            x = row.tokens[i]
            q = row.q[i]
            if tried:
                q = [0 if t in tried else value for t, value in enumerate(q)]
                if not any(q) and exhausted == "uniform":
                    q = [0 if t in tried else 1 for t in range(len(q))]
                q = norm(q)
            if row.coins[i] * q[x] < left[x]:
                accepted = i
                break
            left = norm(below(left, q))
            tried.add(x)
        if accepted is None:
            return [*emitted, draw(left, row.final, row.p[node])]
        node = accepted
        emitted.append(row.tokens[node])


def point_mass(row: OneRow) -> list[int]:
    node, emitted = ROOT, list[int]()
    while True:
        left, accepted = list(row.p[node]), None
        for i in row.siblings(node):
            x = row.tokens[i]
            if row.coins[i] < left[x]:
                accepted = i
                break
            left[x] = 0
            left = list(norm(left))
        if accepted is None:
            return [*emitted, draw(left, row.final, row.p[node])]
        node = accepted
        emitted.append(row.tokens[node])


def target_only(row: OneRow, threshold_single: Any = 1, threshold_acc: Any = 1) -> list[int]:
    node, emitted = ROOT, list[int]()
    while True:
        p, accepted, so_far = row.p[node], None, 0
        left = list(p)
        for i in row.siblings(node):
            x = row.tokens[i]
            so_far += p[x]
            if row.coins[row.siblings(node)[0]] < so_far / threshold_acc or p[x] >= threshold_single:
                accepted = i
                break
            left[x] = 0
        if accepted is None:
            return [*emitted, draw(left, row.final, p)]
        node = accepted
        emitted.append(row.tokens[node])


def naive_sampling(row: OneRow) -> list[int]:
    node, emitted = ROOT, list[int]()
    while True:
        siblings = row.siblings(node)
        y = draw(row.p[node], row.coins[siblings[0]] if siblings else row.final, row.p[node])
        emitted.append(y)
        matching = [i for i in siblings if row.tokens[i] == y]
        if not matching:
            return emitted
        node = matching[0]


def tree_greedy(row: OneRow) -> list[int]:
    node, emitted = ROOT, list[int]()
    while True:
        y = best(row.p[node])
        emitted.append(y)
        matching = [i for i in row.siblings(node) if row.tokens[i] == y]
        if not matching:
            return emitted
        node = matching[0]


ALGORITHMS: dict[str, tuple[str, Callable[[OneRow], list[int]], dict[str, Any]]] = {
    "chain": ("chain", chain, {}),
    "chain_kernel": ("chain_kernel", lambda row: chain(row, kernel=True), {}),
    "block_verification": ("block_verification", block_verification, {}),
    "blockwise": ("blockwise", blockwise, {}),
    "blockwise top_k": ("blockwise", lambda row: blockwise(row, top_k=3), {"top_k": 3}),
    "blockwise distance": ("blockwise", lambda row: blockwise(row, distance=2), {"distance": 2}),
    "blockwise minimum_block": (
        "blockwise",
        lambda row: blockwise(row, minimum_block=3),
        {"minimum_block": 3},
    ),
    "specinfer": ("specinfer", specinfer, {}),
    "without_replacement": ("without_replacement", without_replacement, {}),
    "without_replacement undefined": (
        "without_replacement",
        lambda row: without_replacement(row, "undefined"),
        {"exhausted": "undefined"},
    ),
    "point_mass": ("point_mass", point_mass, {}),
    "target_only": ("target_only", target_only, {}),
    "target_only thresholds": (
        "target_only",
        lambda row: target_only(row, threshold_single=0.75, threshold_acc=0.5),
        {"threshold_single": 0.75, "threshold_acc": 0.5},
    ),
    "standalone": ("standalone", target_only, {}),
    "naive_sampling": ("naive_sampling", naive_sampling, {}),
    "tree_greedy": ("tree_greedy", tree_greedy, {}),
}
"""Rule, algorithm, parameters."""

WITHOUT_QUOTIENTS = [
    "chain",
    "chain_kernel",
    "target_only",
    "target_only thresholds",
    "naive_sampling",
    "blockwise",
    "tree_greedy",
]
"""No number is divided by one that is no power of two: on coarse grids floats are exact."""


def random_rows(rng: np.random.Generator, shape: tuple[int, ...], vocabulary: int) -> np.ndarray:
    """Distributions of every kind, among them one-hot rows and rows with many zeros."""
    rows = rng.random((*shape, vocabulary)) ** rng.choice([0.1, 0.5, 6], size=(*shape, 1))
    rows *= rng.random(rows.shape) < rng.choice([0.2, 0.7, 1, 1], size=(*shape, 1))
    rows[..., 0] += rows.sum(axis=-1) == 0
    moved = np.take_along_axis(
        rows, rng.permuted(np.arange(rows.size).reshape(rows.shape) % vocabulary, axis=-1), -1
    )
    return moved / moved.sum(axis=-1, keepdims=True)


def random_batch(seed: int, *, chains: bool, grid: int = 0) -> Batch:
    """Ragged rows with trees of their own, duplicate siblings, siblings of probability 0.

    Args:
        grid: probabilities and coins are multiples of 1/grid, so that ties are frequent.
    """
    rng = np.random.default_rng(seed)
    size, count, vocabulary = 200, int(rng.integers(0, 13)), int(rng.integers(1, 8))
    target = random_rows(rng, (size, count + 1), vocabulary)
    draft = random_rows(rng, (size, count), vocabulary)
    same, apart = rng.random((2, size, count)) < 0.15
    draft[same] = target[:, :count][same]
    coins, final = rng.random((size, count)), rng.random(size)
    if grid:
        target, draft = (np.floor(rows * grid) / grid for rows in (target, draft))
        for rows in (target, draft):
            rows[..., 0] += 1 - rows.sum(axis=-1)
        coins, final = np.floor(coins * grid) / grid, np.floor(final * grid) / grid
    # Supports that have nothing in common.
    draft[apart] = np.where(target[:, :count][apart] > 0, 0, 1)
    draft[~draft.any(axis=-1), 0] = 1
    if not grid:
        draft /= draft.sum(axis=-1, keepdims=True)
    widths = np.ones((size, 1), dtype=np.int64) if chains else rng.integers(1, 4, size=(size, 1))
    lengths = rng.integers(count + 1, size=size)
    lengths[::2] = count
    return Batch(
        target=target,
        draft=draft,
        tokens=rng.integers(vocabulary, size=(size, count)),
        parents=np.arange(count) // widths - 1,  # level by level, the last node with children may have fewer
        lengths=lengths,
        coins=coins,
        final=final,
        seed=0,
    )


def compare(name: str, batch: Batch, dtype: str, number: Callable[[float], Any]) -> None:
    rule, algorithm, parameters = ALGORITHMS[name]
    subject = reference.subject(rules.get(rule).bind(**parameters), dtype=dtype)
    given = Batch(
        batch.target.astype(dtype),
        batch.draft.astype(dtype),
        batch.tokens,
        batch.parents,
        batch.lengths,
        batch.coins.astype(dtype),
        batch.final.astype(dtype),
        batch.seed,
    )
    found = subject(given)
    for row in range(batch.size):
        emitted = algorithm(OneRow(batch, row, number))
        length = int(found.accepted[row]) + 1
        assert found.tokens[row, :length].tolist() == emitted, f"row {row}"


@pytest.mark.parametrize("name", ALGORITHMS)
def test_random_rows(name: str) -> None:
    chains = "parents" not in reference.subject(ALGORITHMS[name][0]).takes
    for seed in range(15):
        compare(name, random_batch(seed, chains=chains), "float64", float)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", WITHOUT_QUOTIENTS)
def test_ties_on_a_coarse_grid(name: str, dtype: str) -> None:
    """Coins equal p/q, or a cumulative probability, in many rows; fractions say what is right."""
    chains = "parents" not in reference.subject(ALGORITHMS[name][0]).takes
    for seed in range(5):
        compare(name, random_batch(seed, chains=chains, grid=8), dtype, Fraction)
