"""Miao et al. 2024, SpecInfer: how Tables 1, 2 and 3 fit together."""

from __future__ import annotations

from fractions import Fraction

from losslesscheck.sim.cost import exact
from losslesscheck.sim.published.comparison import Comparison, compare, derived, show
from losslesscheck.sim.published.invert import alpha_of
from losslesscheck.sim.published.tables import load

LENGTH = 8
"""The speculation length of Table 2."""


def width_one() -> tuple[Comparison, ...]:
    """Table 2 at width 1 from Table 1's top-1, for one α at all positions."""
    widths = {(entry["decoding"], entry["data"]): entry["tokens"] for entry in load("specinfer_widths").rows}
    rows = []
    for entry in load("specinfer_top_k").rows:
        key = entry["decoding"], entry["data"]
        alpha, printed = entry["top"][0], widths[key][0]
        rows.append(
            compare(
                " ".join(key),
                "tokens at width 1",
                printed,
                lambda a: exact.tokens(a, LENGTH),
                alpha,
                arithmetic=f"(1 − {alpha}^{LENGTH + 1})/(1 − {alpha}); "
                f"{printed} would need α = {show(alpha_of(Fraction(printed), LENGTH))}",
            )
        )
    return tuple(rows)


def full_trees() -> tuple[Comparison, ...]:
    """What Table 1's top-5 would give if every node had five children. Which nodes of the paper's trees have
    more than one child is not in the table, so that wider trees than a chain can't be computed."""
    widths = {(entry["decoding"], entry["data"]): entry["tokens"] for entry in load("specinfer_widths").rows}
    return tuple(
        derived(
            f"{entry['decoding']} {entry['data']}",
            f"tokens of a full tree, printed {widths[entry['decoding'], entry['data']][-1]} at width 5",
            exact.tokens(Fraction(entry["top"][-1]), LENGTH),
            arithmetic=f"Σ {entry['top'][-1]}^i, i ≤ {LENGTH}",
        )
        for entry in load("specinfer_top_k").rows
    )


def sampling() -> tuple[Comparison, ...]:
    """Table 3: its MSS column is Table 2's stochastic width 5; the ratio to naive sampling."""
    widest = {
        entry["data"]: entry["tokens"][-1]
        for entry in load("specinfer_widths").rows
        if entry["decoding"] == "stochastic"
    }
    rows = []
    for entry in load("specinfer_sampling").rows:
        rows.append(
            compare(
                entry["data"],
                "MSS",
                entry["multi_step"],
                lambda tokens: tokens,
                widest[entry["data"]],
                arithmetic="Table 2, stochastic, width 5",
            )
        )
        rows.append(
            derived(
                entry["data"],
                "MSS over naive",
                Fraction(entry["multi_step"]) / Fraction(entry["naive"]),
                arithmetic=f"{entry['multi_step']}/{entry['naive']}",
            )
        )
    return tuple(rows)
