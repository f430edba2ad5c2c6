"""Spec-Bench: the same tokens per step, other speedups on other cards."""

from __future__ import annotations

from fractions import Fraction

from losslesscheck.sim.cost import Roofline, hardware, transformer
from losslesscheck.sim.published.comparison import Comparison, derived
from losslesscheck.sim.published.tables import load

CONTEXT = 500
"""Tokens of context for the roofline; the benchmark's prompts vary."""


def steps() -> tuple[Comparison, ...]:
    """Tokens over speedup: the time of a step in decoding steps, which can't be below 1."""
    rows = []
    for entry in load("spec_bench").rows:
        step = Fraction(entry["tokens"]) / Fraction(entry["speedup"])
        rows.append(
            derived(
                f"{entry['method']}, {entry['model']}, {entry['hardware']}",
                f"step from {entry['tokens']} tokens, {entry['speedup']}×",
                step,
                arithmetic=f"{entry['tokens']}/{entry['speedup']} decoding steps",
            )
        )
    return tuple(rows)


def verifying_trees() -> tuple[Comparison, ...]:
    """What verifying many draft tokens costs by the roofline of a 7B model on the two cards."""
    rows = []
    for chip in ("RTX-3090", "A100-80GB"):
        target = Roofline(transformer("LLaMA-2-7B"), hardware(chip))
        ridge = target.hardware.flops / target.hardware.bandwidth
        for tokens in (64, 128):
            many, one = (float(target.seconds(count, context=CONTEXT)) for count in (tokens + 1, 1))
            rows.append(
                derived(
                    f"Vicuna-7B, {chip}",
                    f"t({tokens})",
                    many / one,
                    arithmetic=f"roofline; arithmetic outweighs reading from {ridge:.0f} tokens on",
                )
            )
    return tuple(rows)
