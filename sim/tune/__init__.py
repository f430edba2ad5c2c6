"""Tuning: the best γ, tree and engine settings for an acceptance model and a cost."""

from losslesscheck.sim.tune.by_batch import BatchRange, by_batch_size
from losslesscheck.sim.tune.draft_length import (
    DraftLength,
    ExactDraftLength,
    best_draft_length,
    draft_lengths,
    exact_draft_length,
)
from losslesscheck.sim.tune.engines import SGLang, eagle_values, sglang, speculative_config, vllm
from losslesscheck.sim.tune.sensitivity import Mistake, sensitivity
from losslesscheck.sim.tune.trees import TreeChoice, Trees, best_size, best_tree

__all__ = [
    "BatchRange",
    "DraftLength",
    "ExactDraftLength",
    "Mistake",
    "SGLang",
    "TreeChoice",
    "Trees",
    "best_draft_length",
    "best_size",
    "best_tree",
    "by_batch_size",
    "draft_lengths",
    "eagle_values",
    "exact_draft_length",
    "sensitivity",
    "sglang",
    "speculative_config",
    "vllm",
]
