"""Block verification: a whole path is accepted up to some point, all at once."""

from losslesscheck.machines.vocabulary import Context, Machine, NextToken, Outcome
from losslesscheck.rule import rule
from losslesscheck.tree import Tree


@rule(
    paper="Sun et al. 2024 (arXiv 2403.10444), Alg. 2",
    claim="The tokens follow the target's joint law, and no fewer drafts are expected to be accepted "
    "than token by token.",
    conditions=("the drafts are drawn from the q that the ratios use",),
    single_path=True,
    tree=Tree.chain(2),
)
def block_verification(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    """p₀ = 1, pᵢ = min(1, pᵢ₋₁·p(xᵢ)/q(xᵢ)); keep the longest prefix whose coin falls below
    hᵢ = Sᵢ/(Sᵢ + 1 − pᵢ) with Sᵢ = Σ(pᵢ·p − q)₊ (h_γ = p_γ); then draw from norm((pᵢ·p − q)₊)."""
    length = tree.depth
    drafts: Context = ()
    for _ in range(length):
        drafts = (*drafts, m.draw(q(drafts)))

    kept, weight_kept = 0, m.one
    weight = m.one
    for i in range(1, length + 1):
        before, here = drafts[: i - 1], drafts[:i]
        x = drafts[i - 1]
        weight = m.min(m.one, weight * (p(before)[x] / q(before)[x]))
        if i == length:
            keep = weight
        else:
            surplus = m.sum(m.relu(p(here) * weight - q(here)))
            keep = surplus / (surplus + 1 - weight) if weight < 1 else m.one
        if m.flip(keep):
            kept, weight_kept = i, weight

    context = drafts[:kept]
    if kept == length:
        return (*context, m.draw(p(context)))
    residual = m.norm(m.relu(p(context) * weight_kept - q(context)))
    return (*context, m.draw(residual))
