"""Multi-step speculative sampling whose siblings are drawn without replacement."""

from losslesscheck.machines.vocabulary import Accept, Machine, Outcome, Reject, Token, Vector
from losslesscheck.rule import Parameter, rule
from losslesscheck.tree import Tree


@rule(
    paper="Chen et al. 2024, Sequoia (arXiv 2402.12374); Jeon et al. 2024, RSD (arXiv 2402.14160)",
    claim="The tokens follow the target's law, for every target, every draft and every tree.",
    conditions=(
        "a node has no more siblings than there are tokens",
        "with exhausted=undefined: the support of q has at least as many tokens as a node has siblings",
    ),
    tree=Tree.regular((2, 1)),
    lossless=lambda v: v["exhausted"] == "uniform",
    parameters={
        "exhausted": Parameter(
            "uniform",
            "what is drafted once the support of q is used up: uniform over the untried, or 0/0",
            choices=("uniform", "undefined"),
        )
    },
)
def without_replacement(
    m: Machine,
    p: Vector,
    q: Vector,
    accept: Accept,
    reject: Reject,
    tried: tuple[Token, ...] = (),
    *,
    exhausted: str,
) -> Outcome:
    """As multi-step speculative sampling, but after each try q(x) ← 0 and q is renormalised."""
    untried = m.uniform(without=tried) if exhausted == "uniform" else None
    q = m.norm(m.without(q, *tried), otherwise=untried)
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)), tried=(*tried, x))
