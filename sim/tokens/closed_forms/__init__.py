"""The papers' closed forms, each under its own name.

p is the target, q the draft, γ the draft length. *Tokens* are emitted tokens per draft-and-verify step,
always one more than the accepted draft tokens. Rows of fractions and integers give fractions, floats give
floats.
"""

from losslesscheck.sim.tokens.closed_forms.chains import (
    block_verification,
    by_position,
    chain,
    greedy,
    oracle,
    overlap,
)
from losslesscheck.sim.tokens.closed_forms.trees import (
    multi_step,
    multi_step_tree,
    naive_sampling,
    target_only,
    without_replacement,
    without_replacement_tree,
)

__all__ = [
    "block_verification",
    "by_position",
    "chain",
    "greedy",
    "multi_step",
    "multi_step_tree",
    "naive_sampling",
    "oracle",
    "overlap",
    "target_only",
    "without_replacement",
    "without_replacement_tree",
]
