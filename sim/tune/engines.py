"""Settings of the engines that serve: SGLang's three flags, vLLM's JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import Acceptance, check_count
from losslesscheck.sim.acceptance.models import ByPosition, BySibling
from losslesscheck.sim.cost import Cost, Draft
from losslesscheck.sim.cost.checks import FloatArray
from losslesscheck.sim.tune.by_batch import by_batch_size
from losslesscheck.sim.tune.draft_length import best_draft_length


@dataclass(frozen=True)
class SGLang:
    """Settings of SGLang's EAGLE, EAGLE3 and STANDALONE, under their own names.

    Attributes:
        speculative_num_steps: draft passes.
        speculative_eagle_topk: branches that each pass follows.
        speculative_num_draft_tokens: tokens that the target's pass takes in: the draft tokens *and* the
            root.
        tokens_per_step: accepted draft tokens + 1, which SGLang reports as the accept length.
        speedup: expected.
    """

    speculative_num_steps: int
    speculative_eagle_topk: int
    speculative_num_draft_tokens: int
    tokens_per_step: float
    speedup: float

    @property
    def flags(self) -> tuple[str, ...]:
        """As on SGLang's command line.

        >>> " ".join(SGLang(3, 1, 4, 2.5, 1.9).flags)
        '--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4'
        """
        names = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")
        return tuple(
            word for name in names for word in (f"--{name.replace('_', '-')}", str(getattr(self, name)))
        )


def sglang(
    acceptance: Acceptance,
    cost: Cost,
    *,
    steps: int = 8,
    topk: int = 8,
    draft_tokens: int = 64,
    batch: float = 1,
    context: float = 0,
) -> SGLang | None:
    """The best (steps, topk, draft tokens) up to these bounds.

    Of ``ByPosition`` and ``BySibling`` no more is tried than they have.

    The tree is the one that SGLang drafts: the first pass gives topk tokens, every later one topk for each
    of the topk best of the level before, and the best ones of all, one fewer than the draft tokens, are
    verified. Best is taken to mean most likely accepted by ``acceptance``, which is the same for every
    context; SGLang goes by the draft's own probabilities, context by context. With topk = 1 SGLang sets the
    draft tokens to steps + 1.

    Returns:
        The one with the fewest draft tokens of several; ``None`` if none beats decoding without speculation.

    Raises:
        InputError: if a bound is out of range, or an acceptance rises with the rank of the sibling.

    >>> from losslesscheck.sim.acceptance import Constant
    >>> sglang(Constant(0.7), Cost.relative(0.1), topk=1).flags[1::2]
    ('4', '1', '5')
    """
    for name, bound, least in (("steps", steps, 1), ("topk", topk, 1), ("draft_tokens", draft_tokens, 2)):
        check_count(name, bound, least=least)
    if isinstance(acceptance, ByPosition):
        steps = min(steps, len(acceptance.alphas))
    if isinstance(acceptance, BySibling):
        topk = min(topk, *map(len, acceptance.rows[:steps]))
    best = None
    for branches in range(1, topk + 1):
        for passes in range(1, steps + 1):
            values = eagle_values(acceptance, steps=passes, topk=branches)
            sizes = [passes] if branches == 1 else range(1, min(len(values), draft_tokens - 1) + 1)
            tokens = 1.0 + np.cumsum(values)
            for size in sizes:
                if size >= draft_tokens:
                    continue
                draft = Draft((1,) + (branches,) * (passes - 1), size)
                emitted = min(float(tokens[size - 1]), size + 1.0)
                speedup = float(cost.speedup(emitted, draft, batch=batch, context=context))
                found = SGLang(passes, branches, size + 1, emitted, speedup)
                if speedup > (best.speedup if best else 1.0) or (
                    best is not None
                    and speedup == best.speedup
                    and found.speculative_num_draft_tokens < best.speculative_num_draft_tokens
                ):
                    best = found
    return best


def eagle_values(acceptance: Acceptance, *, steps: int, topk: int) -> FloatArray:
    """P(reached) of every draft token that SGLang considers, greatest first.

    Returns:
        Shape [topk + (steps − 1) topk²].

    Raises:
        InputError: if the model has no such siblings, or an acceptance rises with their rank: SGLang ranks
            by the draft's probabilities, and what it would then choose is not determined by ``acceptance``.
    """
    check_count("steps", steps, least=1)
    check_count("topk", topk, least=1)
    if not isinstance(acceptance, Acceptance):
        raise InputError(f"acceptance: {acceptance!r} is no acceptance model")
    found = []
    frontier = np.ones(1)
    for depth in range(steps):
        row = acceptance.siblings(depth, topk)
        if (np.diff(row) > 0).any():
            raise InputError(f"acceptance: at depth {depth} it rises with the rank of the sibling")
        level = np.multiply.outer(frontier, row).ravel()
        found.append(level)
        frontier = np.sort(level)[::-1][:topk]
    return np.sort(np.concatenate(found))[::-1]


def vllm(
    acceptance: Acceptance,
    cost: Cost,
    *,
    longest: int | None = None,
    batch: float = 1,
    batches: int | None = None,
    context: float = 0,
) -> dict[str, int | list[list[int]]] | None:
    """What goes into vLLM's ``--speculative-config`` besides the method and the model.

    Args:
        longest: as in ``best_draft_length``.
        batch: the batch size that γ is chosen for, unless ``batches`` is given.
        batches: the largest number of concurrent requests; adds ``num_speculative_tokens_per_batch_size``,
            [first, last, γ] for all of them (vLLM's dynamic speculative decoding, 0.25 and later).

    Returns:
        A dictionary for ``json.dumps``; ``None`` if no batch size gains from speculation.

    Raises:
        InputError: if a number is out of range.

    >>> from losslesscheck.sim.acceptance import Constant
    >>> vllm(Constant(0.8), Cost.relative(0.1))
    {'num_speculative_tokens': 6}
    """
    if batches is None:
        choice = best_draft_length(acceptance, cost, longest=longest, batch=batch, context=context)
        return {"num_speculative_tokens": choice.draft_length} if choice.draft_length else None
    rows = by_batch_size(acceptance, cost, up_to=batches, longest=longest, context=context)
    most = max(row.draft_length for row in rows)
    if not most:
        return None
    return {
        "num_speculative_tokens": most,
        "num_speculative_tokens_per_batch_size": [[row.first, row.last, row.draft_length] for row in rows],
    }


def speculative_config(settings: dict[str, int | list[list[int]]], **others: str) -> str:
    """The argument of vLLM's ``--speculative-config``.

    >>> speculative_config({"num_speculative_tokens": 3}, method="eagle3", model="some/model")
    '{"method": "eagle3", "model": "some/model", "num_speculative_tokens": 3}'
    """
    return json.dumps(others | settings)
