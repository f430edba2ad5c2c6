"""A state that a rule names must name all that goes on from it."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest
from flint import fmpq

from losslesscheck.errors import RuleError
from losslesscheck.machines import all_distributions
from losslesscheck.machines.exact import exact_law
from losslesscheck.machines.replay import Replay
from losslesscheck.machines.states import require_same
from losslesscheck.model import Model
from losslesscheck.rule import rule
from losslesscheck.tree import Tree

HALF = fmpq(1, 2)
UNIFORM = Model.constant([Fraction(1, 2), Fraction(1, 2)])
DRAFT = Model.constant([Fraction(1, 3), Fraction(2, 3)])


def nameless(m, p, q, tree):
    """Lossy where x is 1, under the name of a state that was entered with x = 0."""
    x = m.draw(p(()))
    return m.call(("rest",), lambda: (m.draw(p(())),) if x == 0 else (m.draw(q(())),))


def nameless_partial(m, p, q, tree):
    def rest(x):
        return (m.draw(p(())),) if x == 0 else (m.draw(q(())),)

    return m.call(("rest",), partial(rest, m.draw(p(()))))


def nameless_default(m, p, q, tree):
    x = m.draw(p(()))
    return m.call((), lambda x=x: (m.draw(p(())),) if x == 0 else (m.draw(q(())),))


def nameless_inside(m, p, q, tree):
    x = m.draw(p(()))

    def odd(n):
        return even(n - 1) if n else (m.draw(q(())),)

    def even(n):
        return odd(n - 1) if n else (m.draw(p(())) if x == 0 else m.draw(q(())),)

    return m.call(("rest",), lambda: even(2))


def two_lambdas(m, p, q, tree):
    x = m.draw(p(()))
    if x == 0:
        return m.call(("rest",), lambda: (m.draw(p(())),))
    return m.call(("rest",), lambda: (m.draw(q(())),))


@pytest.mark.parametrize(
    "function", [nameless, nameless_partial, nameless_default, nameless_inside, two_lambdas]
)
def test_a_state_that_names_too_little_is_an_error(function):
    made = rule(tree=Tree.chain(1))(function)
    with pytest.raises(RuleError, match="it names too little"):
        exact_law(made, UNIFORM, DRAFT, made.tree)
    with pytest.raises(RuleError, match="it names too little"):
        all_distributions.prove(made, made.tree, 2)


def test_backward_evaluation_compares_states_too():
    class Machine(Replay):
        zero, one = Fraction(0), Fraction(1)

        def is_token(self, value):
            return True

    m = Machine()

    def program():
        x = m.choose([(0, Fraction(1, 2)), (1, Fraction(1, 2))])
        return m.call(("rest",), lambda: (x,))

    with pytest.raises(RuleError, match="it names too little"):
        m.law(program)


def named(m, p, q, tree):
    def verify(x, residual):
        if m.flip(m.min(m.one, residual[x] / q(())[x])):
            return (x,)
        return m.call(("rejected",), lambda: (m.draw(m.norm(m.relu(p(()) - q(())))),))

    x, target = m.draw(q(())), p(())
    return m.call((x, target), lambda: verify(x, target))


def test_a_state_that_names_everything_is_entered_from_anywhere():
    made = rule(tree=Tree.chain(1))(named)
    assert all_distributions.prove(made, made.tree, 3).holds
    assert exact_law(made, UNIFORM, DRAFT, made.tree) == {(0,): HALF, (1,): HALF}


def test_a_state_that_cannot_be_told_from_others_is_an_error():
    def listed(m, p, q, tree):
        return m.call(([],), lambda: (m.draw(p(())),))

    made = rule(tree=Tree.chain(1))(listed)
    with pytest.raises(RuleError, match="no tuple of fixed values"):
        exact_law(made, UNIFORM, DRAFT, made.tree)
    with pytest.raises(RuleError, match="no tuple of fixed values"):
        all_distributions.prove(made, made.tree, 2)


def test_a_number_may_be_part_of_a_state():
    def numbered(m, p, q, accept, reject, tried=()):
        x = m.draw(q)
        if m.flip(m.min(m.one, p[x] / q[x])):
            return accept(x)
        return reject(m.norm(m.relu(p - q)), tried=(p[x],))

    made = rule(tree=Tree.chain(2))(numbered)
    assert all_distributions.prove(made, made.tree, 2).holds


def test_values_are_the_same_by_identity_or_equality():
    def returning(value):
        return lambda: value

    require_same((), returning((1, [2], {"a": 3})), returning((1, [2], {"a": 3})))
    for a, b in [((1,), (2,)), ([1], [1, 2]), ({"a": 1}, {"a": 2}), (1, True)]:
        with pytest.raises(RuleError):
            require_same((), returning(a), returning(b))
