"""Greedy verification of a token tree."""

from collections.abc import Sequence

from losslesscheck.machines.vocabulary import Accept, End, Machine, Outcome, Token, Vector
from losslesscheck.rule import rule
from losslesscheck.tree import Tree


@rule(
    paper="SGLang, verify_tree_greedy; Miao et al. 2023 (arXiv 2305.09781), Alg. 2, VerifyGreedy",
    claim="The tokens are those of the target's greedy decoding, for every tree of draft tokens.",
    conditions=("ties between equal probabilities are broken as greedy decoding breaks them",),
    greedy=True,
    tree=Tree.regular((2, 1)),
)
def tree_greedy(m: Machine, p: Vector, siblings: Sequence[Token], accept: Accept, end: End) -> Outcome:
    """Accept the sibling that is the target's best token; none: emit that token and stop."""
    best = m.argmax(p)
    for token in siblings:
        if best == token:
            return accept(token)
    return end(best)
