"""Broken patterns, seen in engines and papers' code; each must be refuted by a counterexample.

Each is the text of a correct rule with one fault, on the smallest token tree on which it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from losslesscheck.machines.vocabulary import (
    Accept,
    Context,
    End,
    Machine,
    NextToken,
    Number,
    Outcome,
    Reject,
    Token,
    Vector,
)
from losslesscheck.rule import Parameter, Rule, rule
from losslesscheck.rules.target_only import target_only
from losslesscheck.tree import Tree
from losslesscheck.walk import walk_nodes

COIN_LEVELS = 2**24
"""How many values a float32 coin takes."""


@rule(
    broken="The drafts are the k likeliest tokens, not draws from q, but are accepted with p/q.",
    tree=Tree.regular((1,)),
)
def top_k_ratio(
    m: Machine, p: Vector, q: Vector, accept: Accept, reject: Reject, tried: tuple[Token, ...] = ()
) -> Outcome:
    x = m.argmax(m.without(q, *tried))
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)), tried=(*tried, x))


@rule(
    broken="The draft is decoded greedily, but is accepted with p/q for the q of sampling.",
    single_path=True,
    tree=Tree.chain(1),
)
def argmax_draft(m: Machine, p: Vector, q: Vector, accept: Accept, reject: Reject) -> Outcome:
    x = m.argmax(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@rule(
    broken="After a rejection the token is drawn from p instead of the residual norm((p − q)₊).",
    single_path=True,
    tree=Tree.chain(1),
)
def resample_target(m: Machine, p: Vector, q: Vector, accept: Accept, reject: Reject) -> Outcome:
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(p)


@rule(
    broken="After a rejection p is zeroed at the rejected token only, and renormalised.",
    single_path=True,
    tree=Tree.chain(1),
)
def zero_rejected(m: Machine, p: Vector, q: Vector, accept: Accept, reject: Reject) -> Outcome:
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.without(p, x)))


residual_never_updated = replace(
    resample_target,
    name="residual_never_updated",
    broken="Every sibling is tested against p itself, and the last resort is drawn from p.",
    single_path=False,
    tree=Tree.regular((2,)),
)


@rule(
    broken="Every sibling is tested against p itself; only the recovery comes from norm((p − q)₊).",
    tree=Tree.regular((2,)),
)
def residual_not_updated(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    context: Context = ()
    node = tree
    while node.children:
        target, draft = p(context), q(context)
        for child in node.children:
            x = m.draw(draft)
            if m.flip(m.min(m.one, target[x] / draft[x])):
                context, node = (*context, x), child
                break
        else:
            return (*context, m.draw(m.norm(m.relu(target - draft))))
    return (*context, m.draw(p(context)))


@rule(
    broken="Later siblings are tested against (p − q)₊ that was not renormalised.",
    tree=Tree.regular((2,)),
)
def residual_not_renormalised(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    context: Context = ()
    node = tree
    while node.children:
        residual, draft = p(context), q(context)
        for child in node.children:
            x = m.draw(draft)
            if m.flip(m.min(m.one, residual[x] / draft[x])):
                context, node = (*context, x), child
                break
            residual = m.relu(residual - draft)
        else:
            return (*context, m.draw(m.norm(residual, otherwise=p(context))))
    return (*context, m.draw(p(context)))


@rule(
    broken="The bonus token is drawn from the row before its own.",
    single_path=True,
    tree=Tree.chain(1),
)
def bonus_previous_row(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    context: Context = ()
    for _ in range(tree.depth):
        target, draft = p(context), q(context)
        x = m.draw(draft)
        if not m.flip(m.min(m.one, target[x] / draft[x])):
            return (*context, m.draw(m.norm(m.relu(target - draft))))
        context = (*context, x)
    return (*context, m.draw(p(context[:-1])))


@rule(
    broken="After a rejection the residual is taken from the target's next row.",
    single_path=True,
    tree=Tree.chain(1),
)
def recovery_next_row(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    context: Context = ()
    for _ in range(tree.depth):
        target, draft = p(context), q(context)
        x = m.draw(draft)
        if not m.flip(m.min(m.one, target[x] / draft[x])):
            target = p((*context, x))
            residual = m.norm(m.relu(target - draft), otherwise=target)
            return (*context, m.draw(residual))
        context = (*context, x)
    return (*context, m.draw(p(context)))


@rule(
    broken="The coin that rejected the draft also draws the recovery.",
    single_path=True,
    tree=Tree.chain(1),
)
def one_coin(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    context: Context = ()
    for _ in range(tree.depth):
        target, draft = p(context), q(context)
        x, coin = m.draw(draft), m.coin()
        if not coin < target[x] / draft[x]:
            return (*context, m.draw(m.norm(m.relu(target - draft)), coin))
        context = (*context, x)
    return (*context, m.draw(p(context)))


@rule(
    broken="The coin that rejected the siblings of a node also draws the token that replaces them.",
    distinct_siblings=True,
    tree=Tree.regular((1,)),
)
def one_coin_tree(m: Machine, p: Vector, siblings: Sequence[Token], accept: Accept, end: End) -> Outcome:
    coin, cumulative, rest = m.coin(), m.zero, p
    for token in siblings:
        cumulative = cumulative + p[token]
        if coin < cumulative:
            return accept(token)
        rest = m.without(rest, token)
    return end(m.draw(m.norm(rest), coin))


@rule(
    broken="The test is coin <= p/q: a coin of exactly 0 accepts a token that the target never emits.",
    single_path=True,
    tree=Tree.chain(1),
    parameters={"levels": Parameter(COIN_LEVELS, "how many values the coin takes", 1)},
)
def inclusive_coin(
    m: Machine, p: Vector, q: Vector, accept: Accept, reject: Reject, *, levels: int
) -> Outcome:
    x = m.draw(q)
    if m.coin(levels) <= p[x] / q[x]:
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@rule(
    broken="The test is coin <= Σp: a coin of exactly 0 accepts a sibling that the target never emits.",
    distinct_siblings=True,
    tree=Tree.regular((1,)),
    parameters={"levels": Parameter(COIN_LEVELS, "how many values the coin takes", 1)},
)
def inclusive_coin_tree(
    m: Machine, p: Vector, siblings: Sequence[Token], accept: Accept, end: End, *, levels: int
) -> Outcome:
    coin, cumulative, rest = m.coin(levels), m.zero, p
    for token in siblings:
        cumulative = cumulative + p[token]
        if coin <= cumulative:
            return accept(token)
        rest = m.without(rest, token)
    return end(m.draw(m.norm(rest)))


@rule(
    broken="A short tree is filled up with copies of token 0 below the root, which are siblings.",
    fixed_tokens=True,
    tree=Tree(),
    parameters={"copies": Parameter(11, "how many copies of token 0 are added", 1)},
)
def padded_tree(m: Machine, p: NextToken, q: NextToken, tree: Tree, *, copies: int) -> Outcome:
    padded = Tree((*tree.children, *(Tree(token=0) for _ in range(copies))))
    return walk_nodes(m, target_only.apply, p, padded)


duplicate_siblings = replace(
    target_only,
    name="duplicate_siblings",
    broken="Two siblings are the same token, whose probability is counted twice.",
    distinct_siblings=False,
    tree=Tree.siblings((1, 1)),
)

threshold_acc = replace(
    target_only.bind(threshold_acc=Fraction(9, 10)),
    name="threshold_acc",
    broken="The siblings' cumulative probability is divided by a threshold below 1.",
    tree=Tree.regular((1,)),
)

threshold_single = replace(
    target_only.bind(threshold_single=Fraction(3, 10)),
    name="threshold_single",
    broken="A sibling of more than a certain probability is accepted whatever the coin says.",
    tree=Tree.regular((1,)),
)


@rule(
    broken="The draft is cut by looking at a token that is then thrown away.",
    single_path=True,
    tree=Tree.chain(1),
    parameters={
        "confidence": Parameter(
            Fraction(1, 2), "the draft is cut before the first token of a smaller q than this", 0, 1
        )
    },
)
def length_by_discarded(m: Machine, p: NextToken, q: NextToken, tree: Tree, *, confidence: Number) -> Outcome:
    drafts: Context = ()
    for _ in range(tree.depth):
        x = m.draw(q(drafts))
        if q(drafts)[x] < confidence:
            break
        drafts = (*drafts, x)

    context: Context = ()
    for x in drafts:
        target, draft = p(context), q(context)
        if not m.flip(m.min(m.one, target[x] / draft[x])):
            return (*context, m.draw(m.norm(m.relu(target - draft))))
        context = (*context, x)
    return (*context, m.draw(p(context)))


@rule(
    broken="The siblings are verified in the order of their token numbers, not as they were drawn.",
    tree=Tree.regular((2,)),
)
def sorted_siblings(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    context: Context = ()
    node = tree
    while node.children:
        residual, draft = p(context), q(context)
        drawn = sorted(m.draw(draft) for _ in node.children)
        for child, x in zip(node.children, drawn, strict=True):
            if m.flip(m.min(m.one, residual[x] / draft[x])):
                context, node = (*context, x), child
                break
            residual = m.norm(m.relu(residual - draft))
        else:
            return (*context, m.draw(residual))
    return (*context, m.draw(p(context)))


@rule(
    broken="Siblings are drawn without replacement but tested with the q of the first draw.",
    tree=Tree.regular((2,)),
)
def without_replacement_stale(
    m: Machine, p: Vector, q: Vector, accept: Accept, reject: Reject, tried: tuple[Token, ...] = ()
) -> Outcome:
    x = m.draw(m.norm(m.without(q, *tried), otherwise=q))
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)), tried=(*tried, x))


@rule(
    broken="A path is kept with its own weight, hᵢ = pᵢ, which forgets that longer ones were rejected.",
    single_path=True,
    tree=Tree.chain(2),
)
def block_weights(m: Machine, p: NextToken, q: NextToken, tree: Tree) -> Outcome:
    drafts: Context = ()
    kept, weight, weight_kept = 0, m.one, m.one
    for i in range(1, tree.depth + 1):
        target, draft = p(drafts), q(drafts)
        x = m.draw(draft)
        drafts = (*drafts, x)
        weight = m.min(m.one, weight * (target[x] / draft[x]))
        if m.flip(weight):
            kept, weight_kept = i, weight

    context = drafts[:kept]
    if kept == tree.depth:
        return (*context, m.draw(p(context)))
    surplus = m.relu(p(context) * weight_kept - q(context))
    return (*context, m.draw(m.norm(surplus, otherwise=p(context))))


PATTERNS: dict[str, Rule] = {
    pattern.name: pattern
    for pattern in (
        top_k_ratio,
        argmax_draft,
        resample_target,
        zero_rejected,
        residual_never_updated,
        residual_not_updated,
        residual_not_renormalised,
        bonus_previous_row,
        recovery_next_row,
        one_coin,
        one_coin_tree,
        inclusive_coin,
        inclusive_coin_tree,
        padded_tree,
        duplicate_siblings,
        threshold_acc,
        threshold_single,
        length_by_discarded,
        sorted_siblings,
        without_replacement_stale,
        block_weights,
    )
}
"""The broken patterns by name."""
