"""Multi-step speculative sampling over a token tree."""

from losslesscheck.machines.vocabulary import Accept, Machine, Outcome, Reject, Vector
from losslesscheck.rule import rule
from losslesscheck.tree import Tree


@rule(
    paper="Miao et al. 2023, SpecInfer (arXiv 2305.09781), Alg. 2 and Thm 4.2",
    claim="The tokens follow the target's law, for every target, every draft and every tree.",
    conditions=(
        "the siblings of a node are drawn from q independently of one another",
        "they are tried in the order in which they were drawn, or in one that ignores their tokens",
    ),
    tree=Tree.regular((2, 1)),
)
def specinfer(m: Machine, p: Vector, q: Vector, accept: Accept, reject: Reject) -> Outcome:
    """Try the siblings one by one: accept x ~ q with min(1, p(x)/q(x)), else p ← norm((p − q)₊);
    when all are rejected, draw from what is left of p."""
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))
