"""Measured servers: EAGLE by batch size, SGLang, Su et al.'s best lengths by batch.

The roofline is a bound: a real pass takes at least as long; by how much longer no table of peak rates says.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from losslesscheck.sim.acceptance import Constant
from losslesscheck.sim.cost import Cost, Draft, Linear, Roofline, Sequential, hardware, transformer
from losslesscheck.sim.published.comparison import Comparison, Verdict, compare, derived, rounding, show
from losslesscheck.sim.published.tables import load
from losslesscheck.sim.tune.by_batch import by_batch_size


def eagle_by_batch() -> tuple[Comparison, ...]:
    """The ratio by batch size. With costs linear in the batch it is (a + b B)/(d + e B) at fixed tokens per
    step, which is monotone in B: having fallen, it can't rise."""
    rows = []
    for method in ("EAGLE", "EAGLE-3"):
        entries = [entry for entry in load("eagle_by_batch").rows if entry["method"] == method]
        for before, entry in pairwise(entries):
            verdict: Verdict = "follows"
            if Fraction(entry["ratio"]) > Fraction(before["ratio"]):
                touching = rounding(entry["ratio"])[0] <= rounding(before["ratio"])[1]
                verdict = "within rounding" if touching else "does not follow"
            rows.append(
                Comparison(
                    f"{method}, batch {entry['batch']}",
                    "throughput ratio",
                    entry["ratio"],
                    f"≤ {before['ratio']}",
                    verdict,
                    f"the ratio at batch {before['batch']}",
                )
            )
    return tuple(rows)


def sglang() -> tuple[Comparison, ...]:
    """SGLang's tokens a second against the roofline's bound, and the time of a step where it is known."""
    rows = []
    for entry in load("sglang_throughput").rows:
        where = f"{entry['target']}, {entry['method']}"
        target = Roofline(
            transformer(entry["target"]),
            hardware(entry["hardware"]),
            tensor_parallel=entry["tensor_parallel"],
        )
        most = 1.0 / float(target.seconds(1))
        rows.append(
            derived(
                where,
                f"most tokens/s alone, printed {entry['alone']}",
                most,
                arithmetic=f"roofline, no context: {float(entry['alone']) / most:.0%} of it is reached",
            )
        )
        speedup = Fraction(entry["speculating"]) / Fraction(entry["alone"])
        rows.append(derived(where, "speedup", speedup, arithmetic=f"{entry['speculating']}/{entry['alone']}"))
        if entry["accept_length"]:
            rows.append(
                derived(
                    where,
                    "step in decoding steps",
                    Fraction(entry["accept_length"]) / speedup,
                    arithmetic=f"{entry['accept_length']}/{show(speedup)}; it counts the bonus token",
                )
            )
    return tuple(rows)


def lengths_by_batch() -> tuple[Comparison, ...]:
    """Su et al.'s best lengths, against α = 0.8 on a 7B target whose draft costs 5 % of a pass, on one
    RTX 3090. Their α, draft and hardware differ: the fall with the batch is compared, not the numbers."""
    card = hardware("RTX-3090")
    target = Roofline(transformer("LLaMA-2-7B"), card)
    cost = Cost(target, Sequential(Linear(0.05 * float(target.seconds(1)))))
    entries = load("lengths_by_batch").rows
    tuned = by_batch_size(Constant(0.8), cost, up_to=max(entry["batch"] for entry in entries), longest=16)
    rows = []
    for entry in entries:
        length = next(row.draft_length for row in tuned if row.first <= entry["batch"] <= row.last)
        rows.append(
            derived(
                f"batch {entry['batch']}",
                f"best γ, theirs {entry['least']} to {entry['most']}",
                str(length),
                arithmetic="LLaMA-2-7B on an RTX 3090 (roofline), α = 0.8, c = 0.05 at batch 1: all assumed",
            )
        )
    return tuple(rows)


def standalone_bound() -> tuple[Comparison, ...]:
    """The least time of the STANDALONE step, by the roofline of both models, at the fewest draft tokens that
    the accept length allows."""
    entry = next(entry for entry in load("sglang_throughput").rows if entry["accept_length"])
    card = hardware(entry["hardware"])
    shards = entry["tensor_parallel"]
    target = Roofline(transformer(entry["target"]), card, tensor_parallel=shards)
    draft = Roofline(transformer("Llama-3.2-1B"), card, tensor_parallel=shards)
    gamma = -(-Fraction(entry["accept_length"]) // 1) - 1
    least = float(Cost(target, Sequential(draft)).seconds(Draft.chain(int(gamma)))) / float(target.seconds(1))
    return (
        derived(
            f"{entry['target']}, {entry['method']}",
            "least step in decoding steps",
            least,
            arithmetic=f"roofline of both on {shards} {entry['hardware']}, γ = {gamma}, the fewest that an "
            f"accept length of {entry['accept_length']} allows",
        ),
    )


def sglang_documented() -> tuple[Comparison, ...]:
    """The speedups that SGLang's documentation prints beside the throughputs, 1.54 and 2.36."""
    return tuple(
        compare(
            f"{entry['target']}, {entry['method']}",
            "speedup",
            printed,
            lambda a, b: a / b,
            entry["speculating"],
            entry["alone"],
            arithmetic=f"{entry['speculating']}/{entry['alone']}",
        )
        for entry, printed in zip(load("sglang_throughput").rows, ("1.54", "2.36"), strict=False)
    )
