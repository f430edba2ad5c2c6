"""Rules that press on the any-vocabulary reading: correct ones, and faulty ones that must not be proved."""

from __future__ import annotations

from fractions import Fraction

from losslesscheck.rule import Rule, rule

CORRECT: dict[str, Rule] = {}
FAULTY: dict[str, Rule] = {}


def correct(made: Rule) -> Rule:
    CORRECT[made.name] = made
    return made


def faulty(made: Rule) -> Rule:
    FAULTY[made.name] = made
    return made


@correct
@rule
def slack(m, p, q, accept, reject, *, share=Fraction(1, 2)):
    x = m.draw(q)
    if m.flip(share * m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(p - (p - m.relu(p - q)) * share))


@correct
@rule
def minimum_of_vectors(m, p, q, accept, reject):
    x, both = m.draw(q), m.min(p, q)
    if m.flip(both[x] / q[x]):
        return accept(x)
    return reject(m.norm(p - both))


@correct
@rule
def drawn_point_mass(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(p[x]):
        return accept(x)
    return reject(m.norm(m.without(p, x)))


@correct
@rule
def coin_step(m, p, q, accept, reject):
    x, u = m.draw(q, m.coin()), m.coin()
    if q[x] > 0 and u * q[x] < p[x]:
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@correct
@rule
def no_draft(m, p, q, accept, reject):
    return reject(p)


@correct
@rule(distinct_siblings=True)
def one_coin_for_all(m, p, siblings, accept, end):
    coin, cumulative = m.coin(), m.zero
    for token in siblings:
        cumulative = cumulative + p[token]
        if coin < cumulative:
            return accept(token)
    return end(m.draw(m.norm(m.without(p, *siblings))))


@correct
@rule
def drafted_first(m, p, q, tree):
    drafts = [m.draw(q(())) for _ in tree.children]
    residual = p(())
    for x in drafts:
        if m.flip(m.min(m.one, residual[x] / q(())[x])):
            return (x, m.draw(p((x,))))
        residual = m.norm(m.relu(residual - q(())))
    return (m.draw(residual),)


@correct
@rule
def without_replacement_whole(m, p, q, tree):
    residual, tried = p(()), ()
    for _ in tree.children:
        draft = m.norm(m.without(q(()), *tried), otherwise=m.uniform(without=tried))
        x = m.draw(draft)
        if m.flip(m.min(m.one, residual[x] / draft[x])):
            return (x,)
        residual, tried = m.norm(m.relu(residual - draft)), (*tried, x)
    return (m.draw(residual),)


@correct
@rule
def residual_or_target(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q), otherwise=p))


@correct
@rule
def point_mass_or_itself(m, p, token, accept, reject):
    if m.flip(p[token]):
        return accept(token)
    return reject(m.norm(m.without(p, token), otherwise=m.point(token)))


@correct
@rule
def without_replacement_or_target(m, p, q, accept, reject, tried=()):
    q = m.norm(m.without(q, *tried), otherwise=m.uniform(without=tried))
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q), otherwise=p), tried=(*tried, x))


@correct
@rule(greedy=True)
def greedy_by_loop(m, p, siblings, accept, end):
    best = m.top(p, 1)[0]
    return accept(best) if best in siblings else end(best)


@faulty
@rule
def lenient(m, p, q, accept, reject, *, factor=Fraction(1, 2)):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / (q[x] * factor))):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@faulty
@rule
def residual_is_target(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(p)


@faulty
@rule
def residual_without_draft(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p)))


@faulty
@rule
def accept_all(m, p, q, accept, reject):
    return accept(m.draw(q))


@faulty
@rule
def not_normalised(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.relu(p - q))


@faulty
@rule
def rejected_token_zeroed(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.without(p, x)))


@faulty
@rule
def drawn_from_another(m, p, q, tree):
    x = m.draw(m.norm(p(()) + q(())))
    if m.flip(m.min(m.one, p(())[x] / q(())[x])):
        return (x, m.draw(p((x,))))
    return (m.draw(m.norm(m.relu(p(()) - q(())))),)


@faulty
@rule
def ratio_of_two_tokens(m, p, q, accept, reject):
    x, y = m.draw(q), m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[y])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@faulty
@rule
def bonus_of_the_root(m, p, q, tree):
    x = m.draw(q(()))
    if m.flip(m.min(m.one, p(())[x] / q(())[x])):
        return (x, m.draw(p(())))
    return (m.draw(m.norm(m.relu(p(()) - q(())))),)


@faulty
@rule
def exhausted_draft(m, p, q, accept, reject, tried=()):
    q = m.norm(m.without(q, *tried))
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)), tried=(*tried, x))


@faulty
@rule
def zero_over_zero(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x]) * (p[x] / p[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@faulty
@rule
def residual_before_the_test(m, p, q, accept, reject):
    residual, x = m.norm(m.relu(p - q)), m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(residual)


@faulty
@rule
def divides_by_a_difference(m, p, q, accept, reject):
    x = m.draw(q)
    if m.flip(m.min(m.one, p[x] / q[x]) * ((p[x] - q[x]) / (p[x] - q[x]))):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@faulty
@rule
def another_draw_where_equal(m, p, q, accept, reject):
    x = m.draw(q)
    if p[x] <= q[x] and q[x] <= p[x]:
        return accept(m.draw(q))
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@faulty
@rule
def equality_of_numbers(m, p, q, accept, reject):
    x = m.draw(q)
    if p[x] == q[x]:
        return accept(m.draw(q))
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@faulty
@rule
def truth_of_a_number(m, p, q, accept, reject):
    x = m.draw(q)
    if not p[x]:
        return accept(x)
    if m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@faulty
@rule
def accepts_the_impossible(m, p, q, accept, reject):
    x = m.draw(q)
    if p[x] <= 0 or m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@faulty
@rule
def counts_the_tried(m, p, q, accept, reject, tried=()):
    q = m.norm(m.without(q, *tried), otherwise=m.uniform(without=tried))
    x = m.draw(q)
    if len((*tried, x)) > 4 or m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)), tried=(*tried, x))


@faulty
@rule
def slices_the_tried(m, p, q, accept, reject, tried=()):
    q = m.norm(m.without(q, *tried), otherwise=m.uniform(without=tried))
    x = m.draw(q)
    if (*tried, x)[4:] or m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)), tried=(*tried, x))


@faulty
@rule
def coin_used_twice(m, p, q, accept, reject):
    u, x = m.coin(), m.draw(q)
    if u < m.min(m.one, p[x] / q[x]):
        return accept(x)
    return accept(m.draw(m.norm(m.relu(p - q)), u))


@faulty
@rule
def first_token_of_the_vocabulary(m, p, q, accept, reject):
    x = m.draw(q)
    if x == 0 or m.flip(m.min(m.one, p[x] / q[x])):
        return accept(x)
    return reject(m.norm(m.relu(p - q)))


@faulty
@rule
def entry_by_entry(m, p, q, accept, reject):
    for _ in p:
        pass
    return reject(p)


@faulty
@rule
def never_ends(m, p, q, accept, reject):
    while True:
        x = m.draw(q)
        if m.flip(p[x]):
            return accept(x)


@faulty
@rule
def second_flip_for_a_sibling(m, p, siblings, accept, end):
    y = m.draw(p)
    for token in siblings:
        if y == token or m.flip(p[token]):
            return accept(token)
    return end(y)


@faulty
@rule
def sum_of_equal_siblings(m, p, siblings, accept, end):
    coin, cumulative = m.coin(), m.zero
    for token in siblings:
        cumulative = m.min(m.one, cumulative + p[token])
        if coin < cumulative:
            return accept(token)
    return end(m.draw(m.norm(m.without(p, *siblings), otherwise=p)))


@faulty
@rule(greedy=True)
def samples_where_greedy_is_claimed(m, p, siblings, accept, end):
    y = m.draw(p)
    return accept(y) if y in siblings else end(y)


@faulty
@rule
def greedy_where_sampling_is_claimed(m, p, siblings, accept, end):
    return end(m.argmax(p))


@faulty
@rule(greedy=True)
def first_sibling(m, p, siblings, accept, end):
    for token in siblings:
        return accept(token)
    return end(m.argmax(p))
