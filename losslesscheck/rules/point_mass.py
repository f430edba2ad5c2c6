"""Multi-step speculative sampling of tokens that were not drawn: the draft is a point mass."""

from losslesscheck.machines.vocabulary import Accept, Machine, Outcome, Reject, Token, Vector
from losslesscheck.rule import rule
from losslesscheck.tree import Tree


@rule(
    paper="Miao et al. 2023 (arXiv 2305.09781), Alg. 2, with q = δₓ; as in REST (2311.08252) and EAGLE-2",
    claim="The tokens follow the target's law, for every target and every tree of fixed draft tokens.",
    conditions=("the tree was drafted before any coin of the verification is thrown",),
    tree=Tree.regular((2, 1)),
)
def point_mass(m: Machine, p: Vector, token: Token, accept: Accept, reject: Reject) -> Outcome:
    """Accept the token with p(token); else p(token) ← 0, and p is renormalised."""
    if m.flip(p[token]):
        return accept(token)
    return reject(m.norm(m.without(p, token)))
