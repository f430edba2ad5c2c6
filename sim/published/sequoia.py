"""Chen et al. 2024, Sequoia, and acceptance that falls with the depth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from losslesscheck.sim.acceptance import ByPosition
from losslesscheck.sim.cost import exact
from losslesscheck.sim.published.comparison import Comparison, compare, derived, show
from losslesscheck.sim.published.tables import load
from losslesscheck.sim.tokens.prediction import predict


def step_times() -> tuple[Comparison, ...]:
    """G / speedup is the time of a step, t(n) + d c in target passes. Where the tree is known, t(n) follows;
    elsewhere the greatest depth that leaves t(n) ≥ 1."""
    rows = []
    for entry in load("sequoia").rows:
        where = f"{entry['data']}, T = {entry['temperature']}"
        tokens, speedup = entry["tokens"], entry["speedup"]
        step = Fraction(tokens) / Fraction(speedup)
        draft, target = entry["draft_ms"], entry["target_ms"]
        c = Fraction(draft) / Fraction(target)
        if entry["tree"]:
            nodes, depth = entry["tree"]
            rows.append(
                derived(
                    where,
                    f"t({nodes})",
                    step - depth * c,
                    arithmetic=f"{tokens}/{speedup} − {depth}·{draft}/{target}",
                )
            )
        else:
            rows.append(
                derived(
                    where,
                    "greatest depth",
                    (step - 1) / c,
                    arithmetic=f"({tokens}/{speedup} − 1)·{target}/{draft}, as t(n) ≥ 1",
                )
            )
    return tuple(rows)


def by_depth() -> tuple[Comparison, ...]:
    """One α against a vector: the linear decay that is claimed passes by the printed second acceptance."""
    (entry,) = load("acceptance_by_depth").rows
    gamma = entry["gamma"]
    first, second, last = (float(entry[name]) for name in ("first", "second", "fifth"))

    def tokens(alphas: list[float]) -> float:
        return predict(ByPosition(tuple(alphas)), draft_length=gamma).tokens_per_step

    def linear(start: Fraction, end: Fraction) -> Fraction:
        total = power = Fraction(1)
        for i in range(gamma):
            power *= start + (end - start) * i / (gamma - 1)
            total += power
        return total

    interpolated = np.interp(range(1, gamma + 1), [1, 2, gamma], [first, second, last]).tolist()
    return (
        compare(
            "one α",
            "tokens",
            entry["constant"],
            lambda a: exact.tokens(a, gamma),
            entry["first"],
            arithmetic=f"(1 − {entry['first']}^{gamma + 1})/(1 − {entry['first']})",
        ),
        compare(
            "linear decay",
            "tokens",
            entry["linear"],
            linear,
            entry["first"],
            entry["fifth"],
            arithmetic=f"acceptances from {entry['first']} to {entry['fifth']} in equal steps",
        ),
        derived(
            "through the second",
            "tokens",
            tokens(interpolated),
            arithmetic=" · ".join(show(alpha) for alpha in interpolated)
            + f": linear from the second on, which is printed as {entry['second']}; the decay above has "
            f"{show(first + (last - first) / (gamma - 1))} there",
        ),
    )
