"""Writes every published table beside what the simulator says of it: `reports/published.md`.

python -m reports.published
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from losslesscheck.sim.published import (
    Comparison,
    blockwise,
    chen,
    leviathan,
    load,
    sequoia,
    serving,
    spec_bench,
    specinfer,
)

FILE = Path(__file__).with_suffix(".md")
INTRODUCTION = """# Published figures beside the simulator's

Written by `python -m reports.published`. *Follows*: the value computed from the printed inputs rounds to the
printed figure. *Within rounding*: some inputs that round to the printed ones give it. *Does not follow*: none
do, and the arithmetic is shown. *Derived*: computed from printed figures, with nothing printed to hold it
against. No formula was adjusted to fit. Tokens count the bonus token (accepted + 1) throughout.
"""


@dataclass(frozen=True)
class Section:
    """One published table.

    Attributes:
        tables: the names of its data.
        text: what it shows.
        parts: the comparisons.
    """

    title: str
    tables: tuple[str, ...]
    text: str
    parts: tuple[Callable[[], tuple[Comparison, ...]], ...]


SECTIONS = (
    Section(
        "Leviathan et al., Table 1",
        ("leviathan_operations",),
        "All twelve figures are reproduced to the printed digits.",
        (leviathan.operations,),
    ),
    Section(
        "Leviathan et al., Tables 2 and 4",
        ("leviathan_speedups",),
        "Nine of the twelve predicted speedups (Exp) are reproduced to the printed digit, three "
        "within the rounding of α and c. Four measured ones (Emp) exceed the tokens per step and "
        "so imply c < 0: under one α, drafting at no cost at all would be too slow. For three of "
        "them that stands whatever the rounding; EnDe small at T = 1 could just have c ≥ 0 if its"
        " α were .625.",
        (leviathan.speedups,),
    ),
    Section(
        "Leviathan et al., Tables 3 and 5",
        ("leviathan_acceptance", "leviathan_lenience"),
        "The α of the tables agree with one another.",
        (leviathan.acceptance,),
    ),
    Section(
        "Leviathan et al., lenience (Appendix A.5)",
        ("leviathan_lenience_speedups",),
        "At T = 0 the strict speedup follows; the lenient ones would need the α below, which none"
        " of the tables here has. At T = 1 the claims for l = 1, .5 and .3 exceed what any γ "
        "gives at the α of Table 5, also with rounding. The last one is printed without a "
        "decimal: as 5 it follows, as 5.0 it would not.",
        (leviathan.lenience,),
    ),
    Section(
        "The best draft lengths",
        ("optimal_draft_lengths",),
        "γ and its speedup in exact fractions, all reproduced.",
        (leviathan.optimal_draft_lengths,),
    ),
    Section(
        "Stern et al., block sizes",
        ("blockwise_block_sizes", "blockwise_super_resolution"),
        "For translation the α that a block size implies falls with k in every setting, so no "
        "single α explains the table: the α of k = 2 overstates every greater k. (Each k is a "
        "model of its own, so that this is no acceptance by position either.)",
        (blockwise.one_alpha, blockwise.block_sizes, blockwise.super_resolution),
    ),
    Section(
        "Stern et al., wall clock",
        ("blockwise_wall_clock",),
        "Block size over speedup is the time of an iteration: it grows from 1.09 to 1.63 decoding"
        " steps, though the heads draft in parallel.",
        (blockwise.wall_clock,),
    ),
    Section(
        "Chen et al., Table 1",
        ("chen",),
        "Tokens per loop and α are derived from the times. The 1.92× of the first row does not "
        "follow from 14.1 ms and 7.52 ms a token. If the weights have 16 bits and are read at the "
        "peak rate, a layer costs .1 to .2 ms besides, so that depth and not size decides what a "
        "draft costs: the same 4B weights in 32 layers would more than double c.",
        (chen.times, chen.wide_and_shallow),
    ),
    Section(
        "Miao et al. (SpecInfer), Tables 1, 2 and 3",
        ("specinfer_top_k", "specinfer_widths", "specinfer_sampling"),
        "At width 1 a step is a chain of 8 draft tokens. With Table 1's top-1 as the acceptance "
        "of each, none of the ten figures of Table 2 follows; all are smaller, stochastic ones by"
        " 17 to 26 %. A spread of the acceptance between steps would make them greater; easy and "
        "hard stretches along the text would make them smaller, since steps begin more often in "
        "hard ones. Table 3's MSS column is Table 2's width 5.",
        (specinfer.width_one, specinfer.full_trees, specinfer.sampling),
    ),
    Section(
        "Chen et al. (Sequoia)",
        ("sequoia",),
        "Tokens over speedup leaves t(128) = 1.05 for the one tree that is known, and room for 9 "
        "to 11 levels elsewhere.",
        (sequoia.step_times,),
    ),
    Section(
        "Acceptance by depth",
        ("acceptance_by_depth",),
        "Both claims follow from their inputs, but the linear decay passes by the printed second acceptance.",
        (sequoia.by_depth,),
    ),
    Section(
        "Spec-Bench",
        ("spec_bench",),
        "A step takes 1.05 to 2 decoding steps; none is below 1. Equal tokens with unequal speedups "
        "do not follow from the cards' peak rates: by the roofline verifying 64 tokens costs as "
        "much as one on both, and only beyond 76 does the RTX 3090 fall behind. What makes a step "
        "of token recycling 1.95 there and 1.23 on the A100, and one of SpS 1.27 there and 1.50 on "
        "the A100, is not in these rates.",
        (spec_bench.steps, spec_bench.verifying_trees),
    ),
    Section(
        "EAGLE-3 by batch size",
        ("eagle_by_batch",),
        "The ratio falls with the batch. Where it rises again by more than a rounding (EAGLE from "
        "48 to 56, EAGLE-3 from 32 to 48 and from 56 to 64), no costs linear in the batch can give "
        "that at fixed tokens per step.",
        (serving.eagle_by_batch,),
    ),
    Section(
        "SGLang",
        ("sglang_throughput",),
        "The baselines reach 66 to 71 % of the roofline's bound. The STANDALONE step takes 1.42 "
        "decoding steps, the two rooflines alone would allow 1.06.",
        (serving.sglang_documented, serving.sglang, serving.standalone_bound),
    ),
    Section(
        "Su et al., best lengths by batch size",
        ("lengths_by_batch",),
        "A qualitative check: γ falls to 2 at batch 32. An ideal roofline has a corner instead of"
        " a slope, so at batch 8 it still finds 8 where 3 to 4 were measured.",
        (serving.lengths_by_batch,),
    ),
)


def render() -> str:
    """The whole report."""
    results = [(section, [row for part in section.parts for row in part()]) for section in SECTIONS]
    verdicts = ("follows", "within rounding", "does not follow", "derived")
    lines = [INTRODUCTION, f"| table | {' | '.join(verdicts)} |", "|---|---|---|---|---|"]
    for section, rows in results:
        counts = Counter(row.verdict for row in rows)
        cells = [str(counts[verdict] or "") for verdict in verdicts]
        lines.append(f"| {section.title} | {' | '.join(cells)} |")
    everything = [(section, row) for section, rows in results for row in rows]
    totals = Counter(row.verdict for _, row in everything)
    lines.append(f"| **all** | {' | '.join(str(totals[verdict]) for verdict in verdicts)} |")
    lines += ["", "## What does not follow", "", *_misfits(everything)]
    for section, rows in results:
        lines += ["", f"## {section.title}", "", section.text, ""]
        lines += [f"- {_source(name)}" for name in section.tables]
        lines += ["", "| | figure | printed | computed | | how |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {row.row} | {row.what} | {row.printed} | {row.computed} | {row.verdict} | {row.arithmetic} |"
            for row in rows
        ]
    return "\n".join(lines) + "\n"


def _misfits(rows: list[tuple[Section, Comparison]]) -> list[str]:
    lines = ["| table | row | figure | printed | computed | how |", "|---|---|---|---|---|---|"]
    return lines + [
        f"| {section.title} | {row.row} | {row.what} | {row.printed} | {row.computed} | {row.arithmetic} |"
        for section, row in rows
        if row.verdict == "does not follow"
    ]


def _source(name: str) -> str:
    table = load(name)
    arxiv = f" (arXiv {table.arxiv})" if table.arxiv else ""
    return f"{table.source}{arxiv}, {table.table}: {table.note}."


if __name__ == "__main__":
    FILE.write_text(render(), encoding="utf-8")
