"""Chen et al. 2023: tokens per loop and α from the times, and the wide and shallow draft."""

from __future__ import annotations

from fractions import Fraction

from losslesscheck.sim.cost import Roofline, hardware, transformer
from losslesscheck.sim.published.comparison import Comparison, compare, derived, show
from losslesscheck.sim.published.invert import alpha_of
from losslesscheck.sim.published.tables import load

CHIPS = 16


def times() -> tuple[Comparison, ...]:
    """Table 1. A loop is K draft tokens and one verification, taken to last as long as a target token."""
    rows = []
    for entry in load("chen").rows:
        target, draft, mine = entry["target_ms"], entry["draft_ms"], entry["ms_per_token"]
        gamma, where = entry["gamma"], entry["task"]
        rows.append(
            compare(
                where,
                "speedup",
                entry["speedup"],
                lambda a, b: a / b,
                target,
                mine,
                arithmetic=f"{target}/{mine}",
            )
        )
        loop = Fraction(target) + gamma * Fraction(draft)
        tokens = loop / Fraction(mine)
        rows.append(
            derived(
                where,
                "tokens per loop",
                tokens,
                arithmetic=f"({target} + {gamma}·{draft})/{mine}, if verifying takes {target} ms",
            )
        )
        rows.append(
            derived(where, "α", alpha_of(tokens, gamma), arithmetic=f"Σ α^i, i ≤ {gamma}, = {show(tokens)}")
        )
    return tuple(rows)


def wide_and_shallow() -> tuple[Comparison, ...]:
    """What a layer costs besides its bytes: with that, a deep draft of the same size would be slow."""
    entry = load("chen").rows[0]
    chip = hardware("TPU-v4")
    rows, per_layer = [], {}
    for name, printed in (("Chinchilla-70B", entry["target_ms"]), ("Chinchilla-draft-4B", entry["draft_ms"])):
        model = transformer(name)
        ideal = float(Roofline(model, chip, tensor_parallel=CHIPS).seconds(1)) * 1e3
        per_layer[name] = (float(printed) - ideal) / model.layers
        rows.append(
            derived(
                name,
                f"ms a layer from {printed} ms",
                per_layer[name],
                arithmetic=f"({printed} − {ideal:.2f} of the roofline)/{model.layers} layers, {CHIPS} TPU v4",
            )
        )
    draft = transformer("Chinchilla-draft-4B")
    more = 32 - draft.layers
    deep = float(entry["draft_ms"]) + more * per_layer["Chinchilla-70B"]
    rows.append(
        derived(
            "4B in 32 layers",
            "ms a token",
            deep,
            arithmetic=f"{entry['draft_ms']} + {more} more layers at the target's cost of a layer: c is "
            f"{deep / float(entry['target_ms']):.2f}, not "
            f"{float(entry['draft_ms']) / float(entry['target_ms']):.2f}",
        )
    )
    return tuple(rows)
