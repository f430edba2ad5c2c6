"""The speculative sampling of transformers as a subject, on a CPU, one row after the other.

pytest --losslesscheck-subject reports/engines/transformers_chain.py:chain
"""

from __future__ import annotations

import torch
from transformers.generation.utils import _speculative_sampling

from losslesscheck.testing import subject


@subject(rule="chain", array="torch")
def chain(target: torch.Tensor, draft: torch.Tensor, tokens: torch.Tensor, seed: int) -> torch.Tensor:
    """It takes logits and torch's global generator."""
    count = tokens.shape[1]
    emitted = torch.full((len(tokens), count + 1), -1)
    torch.manual_seed(seed)
    for row, (p, q, x) in enumerate(zip(target.log(), draft.log(), tokens, strict=True)):
        found, _ = _speculative_sampling(x[None], q[None], count, p[None])
        emitted[row, : found.shape[1]] = found[0]
    return emitted
