"""Blockwise parallel decoding: the longest drafted prefix that greedy decoding would have produced."""

from typing import Any, cast

from losslesscheck.machines.vocabulary import Context, Machine, NextToken, Outcome, Token, Vector
from losslesscheck.rule import Parameter, rule
from losslesscheck.tree import Tree


@rule(
    paper="Stern, Shazeer & Uszkoreit 2018 (arXiv 1811.03115), Sec. 3; criteria: Sec. 5",
    claim="The tokens are those of the target's greedy decoding, for every draft.",
    conditions=(
        "top_k = 1, distance = 0 and minimum_block = 1",
        "draft and target break ties between equal probabilities alike",
    ),
    greedy=True,
    single_path=True,
    tree=Tree.chain(2),
    lossless=lambda v: v["top_k"] == 1 and v["distance"] == 0 and v["minimum_block"] == 1,
    parameters={
        "top_k": Parameter(1, "accept a draft among this many most likely tokens (Sec. 5.1)", 1),
        "distance": Parameter(
            0, "accept a draft whose index is this close to the best token's (Sec. 5.2)", 0
        ),
        "minimum_block": Parameter(
            1, "emit at least this many tokens, whatever the target says (Sec. 5.3)", 1
        ),
    },
)
def blockwise(
    m: Machine,
    p: NextToken,
    q: NextToken,
    tree: Tree,
    *,
    top_k: int,
    distance: int,
    minimum_block: int,
) -> Outcome:
    """Propose the draft's best tokens; keep the longest prefix whose tokens are the target's best
    (or meet a looser criterion); then emit the target's best token."""

    def meets(x: Token, target: Vector) -> bool:
        best = m.argmax(target)
        if x == best:
            return True
        if top_k > 1 and x in m.top(target, top_k):
            return True
        return distance > 0 and bool(abs(cast(Any, x) - best) <= distance)

    drafts: Context = ()
    for _ in range(tree.depth):
        drafts = (*drafts, m.argmax(q(drafts)))

    kept: Context = ()
    for x in drafts:
        # A block is the kept drafts and the target's own token.
        if len(kept) + 1 >= minimum_block and not meets(x, p(kept)):
            break
        kept = (*kept, x)
    return (*kept, m.argmax(p(kept)))
