"""Naive sampling: the target draws as usual, and the tree serves if it happens to hold the token."""

from collections.abc import Sequence

from losslesscheck.machines.vocabulary import Accept, End, Machine, Outcome, Token, Vector
from losslesscheck.rule import rule
from losslesscheck.tree import Tree


@rule(
    paper="Miao et al. 2023, SpecInfer (arXiv 2305.09781), Sec. 4.3 (the baseline of Thm 4.3)",
    claim="The tokens follow the target's law, for every target and every tree.",
    conditions=("the tree was drafted before the target draws",),
    tree=Tree.regular((2, 1)),
)
def naive_sampling(m: Machine, p: Vector, siblings: Sequence[Token], accept: Accept, end: End) -> Outcome:
    """Draw y ~ p and emit it; go on below the sibling that is y, if there is one."""
    y = m.draw(p)
    for token in siblings:
        if y == token:
            return accept(token)
    return end(y)
