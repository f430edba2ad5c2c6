"""Speculative sampling along a chain of drafts."""

from losslesscheck.machines.vocabulary import Accept, Machine, Outcome, Reject, Vector
from losslesscheck.rule import rule
from losslesscheck.tree import Tree


@rule(
    paper="Leviathan, Kalman & Matias 2023 (arXiv 2211.17192), Alg. 1; Chen et al. 2023 (2302.01318), Alg. 2",
    claim="The tokens follow the target's law, for every target and every draft.",
    conditions=("the drafts are drawn from the q that the ratio uses",),
    single_path=True,
    tree=Tree.chain(2),
)
def chain(m: Machine, p: Vector, q: Vector, accept: Accept, reject: Reject) -> Outcome:
    """Accept x ~ q with min(1, p(x)/q(x)); on the first rejection draw from norm((p − q)₊) and stop."""
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))
