"""Short texts of rules, right and wrong ones, for the tests of the all-distributions reading."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from losslesscheck.rule import Rule, rule


@rule
def multi_step(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@rule
def by_branches(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    x = m.draw(q)
    if p[x] < q[x]:
        if m.flip(p[x] / q[x]):
            return accept(x)
        return reject(m.norm(m.relu(p - q)))
    return accept(x)


@rule
def by_coin(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    x = m.draw(q)
    if m.coin() * q[x] < p[x]:
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@rule
def without_replacement(m: Any, p: Any, q: Any, accept: Any, reject: Any, tried: Any = ()) -> Any:
    q = m.norm(m.without(q, *tried), otherwise=m.uniform(without=tried))
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)), tried=(*tried, x))


@rule
def without_replacement_undefined(m: Any, p: Any, q: Any, accept: Any, reject: Any, tried: Any = ()) -> Any:
    q = m.norm(m.without(q, *tried))
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)), tried=(*tried, x))


@rule
def point_mass(m: Any, p: Any, token: Any, accept: Any, reject: Any) -> Any:
    if m.flip(p[token]):
        return accept(token)
    return reject(m.norm(m.without(p, token)))


@rule
def naive_sampling(m: Any, p: Any, siblings: Any, accept: Any, end: Any) -> Any:
    y = m.draw(p)
    for token in siblings:
        if token == y:
            return accept(token)
    return end(y)


@rule(greedy=True)
def tree_greedy(m: Any, p: Any, siblings: Any, accept: Any, end: Any) -> Any:
    best = m.argmax(p)
    for token in siblings:
        if token == best:
            return accept(token)
    return end(best)


@rule(greedy=True, single_path=True)
def blockwise(m: Any, p: Any, q: Any, tree: Any) -> Any:
    drafts: Any = ()
    for _ in range(tree.depth):
        drafts = (*drafts, m.argmax(q(drafts)))
    kept: Any = ()
    for x in drafts:
        if x != m.argmax(p(kept)):
            break
        kept = (*kept, x)
    return (*kept, m.argmax(p(kept)))


@rule
def target_only(
    m: Any,
    p: Any,
    siblings: Any,
    accept: Any,
    end: Any,
    *,
    single: Fraction = Fraction(1),
    acc: Fraction = Fraction(1),
) -> Any:
    coin, cumulative, rest = m.coin(), m.zero, p
    for token in siblings:
        cumulative = cumulative + p[token]
        if coin < cumulative / acc or single <= p[token]:
            return accept(token)
        rest = m.without(rest, token)
    return end(m.draw(m.norm(rest)))


@rule
def reused_coin(m: Any, p: Any, siblings: Any, accept: Any, end: Any) -> Any:
    coin, cumulative, rest = m.coin(), m.zero, p
    for token in siblings:
        cumulative = cumulative + p[token]
        if coin < cumulative:
            return accept(token)
        rest = m.without(rest, token)
    return end(m.draw(m.norm(rest), coin))


def _block(m: Any, p: Any, q: Any, tree: Any, own_weight: bool) -> Any:
    drafts: Any = ()
    for _ in range(tree.depth):
        drafts = (*drafts, m.draw(q(drafts)))
    kept, weight, weight_kept = 0, m.one, m.one
    for i in range(1, tree.depth + 1):
        before, here, x = drafts[: i - 1], drafts[:i], drafts[i - 1]
        weight = m.min(m.one, weight * (p(before)[x] / q(before)[x]))
        keep = weight
        if i < tree.depth and not own_weight:
            surplus = m.sum(m.relu(p(here) * weight - q(here)))
            keep = surplus / (surplus + 1 - weight) if weight < 1 else m.one
        if m.flip(keep):
            kept, weight_kept = i, weight
    context = drafts[:kept]
    if kept == tree.depth:
        return (*context, m.draw(p(context)))
    surplus = m.relu(p(context) * weight_kept - q(context))
    return (*context, m.draw(m.norm(surplus, otherwise=p(context) if own_weight else None)))


@rule
def block_verification(m: Any, p: Any, q: Any, tree: Any) -> Any:
    return _block(m, p, q, tree, own_weight=False)


@rule
def block_by_own_weight(m: Any, p: Any, q: Any, tree: Any) -> Any:
    return _block(m, p, q, tree, own_weight=True)


@rule
def resample_target(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(p)


@rule
def zero_rejected(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.without(p, x)))


@rule
def not_renormalised(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.relu(p - q))


@rule
def beyond_one(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    x = m.draw(q)
    if m.flip(p[x] / q[x]):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@rule
def equality(m: Any, p: Any, q: Any, accept: Any, reject: Any) -> Any:
    x = m.draw(q)
    if p[x] == q[x] or m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@rule
def sorted_siblings(m: Any, p: Any, q: Any, tree: Any) -> Any:
    residual, draft = p(()), q(())
    for x in sorted(m.draw(draft) for _ in tree.children):
        if m.flip(m.min(m.one, residual[x] / draft[x])):
            return (x,)
        residual = m.norm(m.relu(residual - draft))
    return (m.draw(residual),)


@rule
def residual_not_updated(m: Any, p: Any, q: Any, tree: Any) -> Any:
    target, draft = p(()), q(())
    for _ in tree.children:
        x = m.draw(draft)
        if m.flip(m.min(m.one, target[x] / draft[x])):
            return (x,)
    return (m.draw(m.norm(m.relu(target - draft))),)


@rule
def drafted_first(m: Any, p: Any, q: Any, tree: Any) -> Any:
    residual, draft = p(()), q(())
    for x in [m.draw(draft) for _ in tree.children]:
        if m.flip(m.min(m.one, residual[x] / draft[x])):
            return (x,)
        residual = m.norm(m.relu(residual - draft))
    return (m.draw(residual),)


@rule
def walked(m: Any, p: Any, q: Any, tree: Any) -> Any:
    """multi_step as a rule of its own, with a state at every context."""

    def at(context: Any, node: Any) -> Any:
        residual, draft = p(context), q(context)
        for child in node.children:
            x = m.draw(draft)
            if m.flip(m.min(m.one, residual[x] / draft[x])):
                longer = (*context, x)
                return m.call((longer, child), partial(at, longer, child))
            residual = m.norm(m.relu(residual - draft))
        return (*context, m.draw(residual))

    return at((), tree)


@rule
def bonus_from_row_before(m: Any, p: Any, q: Any, tree: Any) -> Any:
    context: Any = ()
    for _ in range(tree.depth):
        target, draft = p(context), q(context)
        x = m.draw(draft)
        if not m.flip(m.min(m.one, target[x] / draft[x])):
            return (*context, m.draw(m.norm(m.relu(target - draft))))
        context = (*context, x)
    return (*context, m.draw(p(context[:-1])))


def thresholds(single: str = "1", acc: str = "1") -> Rule:
    return target_only.bind(single=Fraction(single), acc=Fraction(acc))
