"""A separate small draft model, drafted and verified as SGLang's STANDALONE does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import cast

from losslesscheck.errors import InputError
from losslesscheck.machines.vocabulary import Context, Machine, NextToken, Number, Outcome
from losslesscheck.rule import Parameter, rule
from losslesscheck.rules.target_only import target_only
from losslesscheck.tree import Tree
from losslesscheck.walk import walk_nodes


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A proposed token: the last one of its path from the root, whose draft probability is the score."""

    parent: Draft | None
    path: Context
    score: Number

    @property
    def token(self) -> int | None:
        return cast(int, self.path[-1]) if self.path else None


@rule(
    paper="SGLang, STANDALONE: select_top_k_tokens, organize_draft_results, then target-only verification",
    claim="The tokens follow the target's law, for every target and every draft.",
    conditions=("both thresholds are 1", "draft and target share one vocabulary"),
    tree=Tree.chain(3),
    lossless=lambda v: v["threshold_single"] == v["threshold_acc"] == 1,
    parameters={
        "steps": Parameter(3, "draft steps, the largest depth of the tree", 1),
        "topk": Parameter(1, "paths that are extended at each step, and tokens proposed for each", 1),
        "draft_tokens": Parameter(4, "nodes of the tree, the root counted", 2),
        "threshold_single": target_only.parameters["threshold_single"],
        "threshold_acc": target_only.parameters["threshold_acc"],
    },
)
def standalone(
    m: Machine,
    p: NextToken,
    q: NextToken,
    *,
    steps: int,
    topk: int,
    draft_tokens: int,
    threshold_single: Number,
    threshold_acc: Number,
) -> Outcome:
    """Each step proposes the draft's topk tokens after each of topk paths, and goes on with the
    topk best of these; the best draft_tokens − 1 of all proposals are verified as in target_only."""
    root = Draft(None, (), m.one)
    beams, proposed = [root], list[Draft]()
    for _ in range(steps):
        level = [
            Draft(beam, (*beam.path, x), beam.score * q(beam.path)[x])
            for beam in beams
            for x in m.top(q(beam.path), topk)
        ]
        proposed += level
        beams = best(level, topk)

    # A path is no likelier than its beginning, which also comes first in
    # the list: no chosen token lacks its parent.
    chosen = best(proposed, draft_tokens - 1)
    if len(chosen) < draft_tokens - 1:
        raise too_few(steps, topk, draft_tokens, len(chosen))

    def node(draft: Draft) -> Tree:
        below = tuple(node(d) for d in chosen if d.parent == draft)
        return Tree(below, draft.token)

    verify = partial(
        target_only.function,
        threshold_single=threshold_single,
        threshold_acc=threshold_acc,
    )
    return walk_nodes(m, verify, p, node(root))


def best(drafts: list[Draft], count: int) -> list[Draft]:
    """The ``count`` drafts of the highest score, highest first, ties by lower index."""
    if len(drafts) <= count:
        return drafts
    return sorted(drafts, key=lambda draft: draft.score, reverse=True)[:count]


def too_few(steps: int, topk: int, draft_tokens: int, proposed: int) -> InputError:
    return InputError(
        f"draft_tokens: {draft_tokens} with the root, but steps = {steps} and topk = {topk} "
        f"propose only {proposed} tokens"
    )
