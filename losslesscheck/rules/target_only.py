"""Target-only verification of a tree of fixed tokens."""

from collections.abc import Sequence
from fractions import Fraction

from losslesscheck.machines.vocabulary import Accept, End, Machine, Number, Outcome, Token, Vector
from losslesscheck.rule import Parameter, rule
from losslesscheck.tree import Tree

SMALLEST_THRESHOLD = Fraction(1, 10**9)
"""What SGLang raises a smaller threshold_acc to."""


@rule(
    paper="SGLang, tree_speculative_sampling_target_only",
    claim="The tokens follow the target's law, for every target and every tree of fixed draft tokens.",
    conditions=("both thresholds are 1", "the siblings of a node are distinct"),
    distinct_siblings=True,
    tree=Tree.regular((2, 1)),
    lossless=lambda v: v["threshold_single"] == v["threshold_acc"] == 1,
    parameters={
        "threshold_single": Parameter(
            Fraction(1),
            "a sibling with at least this target probability is accepted outright",
            SMALLEST_THRESHOLD,
            1,
        ),
        "threshold_acc": Parameter(
            Fraction(1), "what the siblings' cumulative probability is divided by", SMALLEST_THRESHOLD, 1
        ),
    },
)
def target_only(
    m: Machine,
    p: Vector,
    siblings: Sequence[Token],
    accept: Accept,
    end: End,
    *,
    threshold_single: Number,
    threshold_acc: Number,
) -> Outcome:
    """One coin for all siblings of a node, compared with their cumulative target probability;
    none accepted: draw from the target without the siblings tried, with a coin of its own."""
    coin, cumulative, rest = m.coin(), m.zero, p
    for token in siblings:
        cumulative = cumulative + p[token]
        if coin < cumulative / threshold_acc or threshold_single <= p[token]:
            return accept(token)
        rest = m.without(rest, token)
    return end(m.draw(m.norm(rest)))
