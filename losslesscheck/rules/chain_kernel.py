"""Speculative sampling along a chain, coin by coin as SGLang's Triton kernel does it."""

from losslesscheck.machines.vocabulary import Context, Machine, NextToken, Outcome
from losslesscheck.rule import rule
from losslesscheck.tree import Tree


@rule(
    paper="SGLang, chain_speculative_sampling_triton; Leviathan et al. 2023 (arXiv 2211.17192), Alg. 1",
    claim="In exact arithmetic the tokens follow the target's law, for every target and every draft.",
    conditions=("the drafts are drawn from exactly the q that the kernel is given",),
    single_path=True,
    tree=Tree.chain(2),
)
def chain_kernel(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    """One coin u for each draft x: accept iff 0 < q(x) ≤ 1 and u·q(x) < p(x); the recovery, from
    norm((p − q)₊), or the bonus, from p, by inverse transform with a last coin of its own."""
    drafts: Context = ()
    for _ in range(tree.depth):
        drafts = (*drafts, m.draw(q(drafts)))

    context: Context = ()
    for x in drafts:
        target, draft = p(context), q(context)
        coin = m.coin()
        if not (0 < draft[x] <= 1 and coin * draft[x] < target[x]):
            residual = m.norm(m.relu(target - draft))
            return (*context, m.draw(residual, m.coin()))
        context = (*context, x)
    return (*context, m.draw(p(context), m.coin()))
