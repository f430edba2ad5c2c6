"""Stern, Shazeer and Uszkoreit 2018: is one α enough, and what does an iteration cost?"""

from __future__ import annotations

from fractions import Fraction

from losslesscheck.sim.cost import exact
from losslesscheck.sim.published.comparison import Comparison, compare, derived
from losslesscheck.sim.published.invert import alpha_of
from losslesscheck.sim.published.tables import load


def block_sizes() -> tuple[Comparison, ...]:
    """Table 1: the α that each mean block size implies. The k-th head makes k tokens a step possible, so that
    γ = k − 1 draft tokens are verified; the block size counts all tokens of a step."""
    rows = []
    for entry in load("blockwise_block_sizes").rows:
        k, size = entry["k"], entry["block_size"]
        if k > 1:
            alpha = alpha_of(Fraction(size), k - 1)
            rows.append(
                derived(
                    f"{entry['setting']}, k = {k}",
                    f"α from block size {size}",
                    alpha,
                    arithmetic=f"Σ α^i, i < {k}, = {size}",
                )
            )
    return tuple(rows)


def one_alpha() -> tuple[Comparison, ...]:
    """Whether the α of k = 2, which is its block size − 1, explains the block sizes of the greater k."""
    rows = []
    for setting in ("regular", "distillation", "fine-tuning", "both"):
        sizes = {
            entry["k"]: entry["block_size"]
            for entry in load("blockwise_block_sizes").rows
            if entry["setting"] == setting and entry["k"] > 1
        }
        rows += [
            compare(
                f"{setting}, k = {k}",
                "block size",
                sizes[k],
                lambda size, k=k: exact.tokens(size - 1, k - 1),
                sizes[2],
                arithmetic=f"Σ α^i, i < {k}, with α = {sizes[2]} − 1 of k = 2",
            )
            for k in sorted(sizes)[1:]
        ]
    return tuple(rows)


def wall_clock() -> tuple[Comparison, ...]:
    """Block size over speedup is the time of an iteration in decoding steps; heads draft in parallel, so it
    should not grow with k as it does. The block sizes are newstest2013's, the speedups newstest2014's."""
    sizes = {
        entry["k"]: entry["block_size"]
        for entry in load("blockwise_block_sizes").rows
        if entry["setting"] == "both"
    }
    return tuple(
        derived(
            f"k = {entry['k']}",
            f"iteration from speedup {entry['speedup']}",
            Fraction(sizes[entry["k"]]) / Fraction(entry["speedup"]),
            arithmetic=f"{sizes[entry['k']]}/{entry['speedup']} decoding steps",
        )
        for entry in load("blockwise_wall_clock").rows
        if entry["k"] in sizes
    )


def super_resolution() -> tuple[Comparison, ...]:
    """The same as ``block_sizes`` for the lossy criterion on images."""
    return tuple(
        derived(
            f"{entry['setting']}, k = {entry['k']}",
            f"α from block size {entry['block_size']}",
            alpha_of(Fraction(entry["block_size"]), entry["k"] - 1),
            arithmetic=f"Σ α^i, i < {entry['k']}, = {entry['block_size']}",
        )
        for entry in load("blockwise_super_resolution").rows
    )
