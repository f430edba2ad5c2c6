"""Rules as somebody else might write them, lossless and lossy, that use all that is translated."""

# ruff: noqa: RUF005, RUF034, SIM201 -- ways of writing the same are all to be translated

from __future__ import annotations

from fractions import Fraction

from losslesscheck.rule import Parameter, Rule, rule
from losslesscheck.tree import Tree

PATH = Tree.chain(2)


@rule
def swapped(m, target, draft, accept, reject):
    """The answers of the flip are exchanged, and p is drawn from again."""
    drafted = m.draw(draft)
    if not m.flip(m.min(1, target[drafted] / draft[drafted])):
        y = m.draw(target)
        return accept(y)
    return reject(m.norm(m.relu(draft - target)))


@rule(single_path=True, tree=Tree.chain(1))
def many_flips(m, p, q, accept, reject):
    x, y = m.draw(q), m.draw(p)
    first = m.flip(p[x]) or m.flip(q[y])
    second = x == y and not m.flip(p[y] * q[x])
    if first and (second or x != y):
        return accept(x)
    elif second:
        return accept(y)
    pass
    return accept(m.draw(p)) if m.flip(p[m.draw(q)]) else reject(p)


@rule
def one_coin_twice(m, p, q, accept, reject, tried=()):
    """The same coin decides on acceptance and on what is handed on."""
    coin = m.coin()
    x = m.draw(m.norm(q + p))
    if coin < p[x]:
        if coin <= p[x] * q[x]:
            return accept(x)
        return accept(m.argmax(p))
    if coin * (p[x] + q[x]) < p[x] + 0:
        return reject(q, tried=(*tried, x))
    rest = m.without(p, *tried, x)
    rest = m.norm(rest, m.uniform(without=tried[:1] + (x,)) if len(tried) > 0 else p)
    return reject(rest, tried=(x, m.draw(rest)) if x in tried else (*tried,))


@rule
def two_coins(m, p, token, accept, reject, tried=()):
    """Two coins, kept apart, and another for a single question."""
    low, high = m.coin(), m.coin()
    ask = token if low < p[token] else m.argmax(p)
    if high * p[ask] <= p[token] * p[token]:
        return accept(ask)
    if low < m.one - p[token] and m.coin() < p[ask] and ask not in tried:
        return accept(token)
    if p[ask] > p[token] >= m.zero:
        return reject(m.point(ask), tried=(token,))
    return reject(m.norm(m.without(p, token), otherwise=p), tried=(*tried, token))


@rule
def best_first(m, p, siblings, accept, end):
    """The likeliest sibling, found in a loop that is left and gone on with; names that Coq uses."""
    fun, sum = p[m.argmax(p)], m.argmax(p)
    norm = m.zero
    for token in siblings:
        if p[token] <= norm:
            continue
        norm, sum = p[token], token
        if p[token] >= fun:
            break
    if 0 < norm <= 1 and m.flip(norm):
        return accept(sum)
    return end(m.draw(p, m.coin()))


@rule
def cumulative_coins(m, p, siblings, accept, end):
    """A coin goes on through two loops, one inside the other."""
    coin, left = m.coin(), p
    seen = ()
    for x in siblings:
        share = m.zero
        for y in siblings:
            share += p[y]
            if coin < share * p[x]:
                break
            seen = (*seen, y)
        if len(seen) >= 2 and coin < m.relu(share - p[x]):
            return accept(x)
        left = m.without(left, x)
    if coin < m.sum(left) and len(seen) * 2 != 4:
        return end(m.draw(m.norm(left)))
    return end(m.draw(p))


@rule
def exchanged(m, p, siblings, accept, end):
    """Variables that are exchanged, and a residual that changes in the loop."""
    a, b = m.argmax(p), m.draw(p)
    done = False
    for x in siblings:
        a, b = b, a
        done = x == a or done
        if done and m.flip(p[x]):
            return accept(x)
        p = m.norm(m.without(p, x), otherwise=m.point(b))
    return end(b if done else a)


@rule(single_path=True, tree=PATH)
def prefix(m, p, q, tree):
    """Drafts, kept while a condition of the rule's own holds."""
    drafts = ()

    def likely(x, context):
        """A condition that draws and branches, with variables."""
        target = p(context)
        if x == m.argmax(target):
            return True
        drafts = m.draw(q(context))
        return m.flip(target[x]) if drafts == x else not target[drafts] < target[x]

    for place in range(tree.depth):
        x = m.draw(q(drafts), coin=m.coin())
        if place > 0 and drafts[0] == x:
            x = m.draw(p(drafts))
        drafts = (*drafts, x)
    kept = ()
    for y in drafts:
        if not likely(y, kept):
            break
        kept = (*kept, y)
    if len(kept) == tree.depth:
        return (*kept, m.draw(p(kept)), m.argmax(p(kept)))
    return (*kept, m.draw(p(kept))) + drafts[len(kept) + 1 :]


@rule(single_path=True, tree=PATH)
def weighted(m, p, q, tree):
    """Numbers along the path, counted loops, and a bonus from a mixture."""
    length = tree.depth
    context, weight, number = (), m.one, 0
    for i in range(1, length + 1):
        for j in range(i, length):
            number = number + j * 2
        draft = q(context)
        x = m.draw(draft)
        ratio = p(context)[x] / draft[x]
        weight *= ratio if ratio < 1 else 1
        keep = weight if i - 1 < number or weight >= 1 else m.relu(weight * 1 - draft[x])
        if not m.flip(keep):
            left = p(context) * keep - q(context)
            return (*context, m.draw(m.norm(m.relu(left), p(context))))
        context = context + (x,)
    mixed = (p(context) + weight * q(context)) / (1 + weight)
    shared = m.min(mixed, p(context))
    return (*context, m.draw(m.norm(shared)), *()) if False else (*context[:number], m.draw(m.norm(shared)))


@rule(
    parameters={
        "power": Parameter(Fraction(1)),
        "none": Parameter(Fraction(0)),
        "tries": Parameter(2),
        "mode": Parameter("plain", choices=("plain", "other")),
    }
)
def tuned(m, p, q, accept, reject, tried=(), *, power, none, tries, mode):
    """Parameters decide what the text is; what they exclude need not be translated."""
    last = tries - 1
    if mode == "other":
        return accept(m.top(q, tries)[0])
    q = q if mode != "plain" else m.norm(q * power + p * none)
    x = m.draw(q) if tries * 3 > 5 and not tries == 7 else None
    if none < q[x] and (mode == "plain" or abs(x) < 2) and m.flip(m.min(power, p[x] / q[x])):
        return accept(x)
    if len(tried) < last:
        return reject(m.norm(m.relu(p - q)), tried=(*tried, x))
    return reject(m.uniform(), tried=())


@rule
def first_likely(m, p, token, accept, reject, tried=()):
    """A truth that is remembered, and tokens compared with those tried."""
    new = token not in tried
    best = token == m.argmax(p)
    sure = new and best
    if sure != new if False else sure:
        return accept(token)
    flipped = m.flip(p[token])
    if flipped and not (best or not new):
        return accept(token)
    return reject(
        m.norm(m.without(p, token), m.uniform(without=())), tried=(token, *()) if False else (token,)
    )


@rule(single_path=True, tree=Tree.chain(1))
def helped(m, p, q, accept, reject):
    """Functions that call one another, with the same names for other things."""
    best, x = m.argmax(p), m.draw(q)

    def is_best(y):
        return y == best and not m.flip(p[x])

    def is_good(x):
        best = m.draw(p)
        if is_best(x):
            return p[best] > q[x]
        y = best
        return is_best(y) or (y == x and m.coin() < q[best])

    for y in (x, m.argmax(q)):
        if is_good(y):
            best = m.argmax(q)
        elif is_best(best):
            continue
        x = y
    return accept(x) if is_best(x) else reject(m.point(best))


@rule
def valued(m, p, q, accept, reject, tried=()):
    """Values of a function that it uses in one branch, or nowhere, and literals to choose from."""
    x = m.draw(q)
    unused = m.zero if p[x] < q[x] else m.one
    nothing = () if x in tried else ()
    for y in ():
        x = m.argmax(m.point(y))

    def likely(share, count, vector):
        sum, y = m.sum(vector), m.argmax(p)
        return sum < share or y == x

    def kept(share, count, vector):
        sum = m.sum(vector)
        twice = share + share
        z = m.argmax(m.min(p, q))
        if count > len(nothing) + len(()) + 1:
            y = m.one - sum
            twice = twice * y
            return m.flip(share) or z == x
        first = share < twice
        return first

    if kept(m.min(1, p[x] / q[x]), len(tried) + 1, m.relu(p - q)) and not unused < 0:
        return accept(x)
    return reject(m.norm(m.relu(p - q), otherwise=q), tried=(*tried, x))


USER_RULES: list[Rule] = [
    swapped,
    many_flips,
    one_coin_twice,
    two_coins,
    best_first,
    cumulative_coins,
    exchanged,
    prefix,
    weighted,
    tuned,
    first_likely,
    helped,
    valued,
]
