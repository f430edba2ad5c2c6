from __future__ import annotations

import random
from fractions import Fraction

import pytest

from losslesscheck import rules
from losslesscheck.errors import Undecided
from losslesscheck.rule import rule
from losslesscheck.transparent import require_transparent

HALF = Fraction(1, 2)
SEEN: list[object] = []


def helper(m, p, x):
    return m.min(m.one, p[x])


def peeking_helper(x):
    return str(x)


@pytest.mark.parametrize("name", [*rules.names(), *rules.broken()])
def test_the_rules_of_the_house_keep_to_the_vocabulary(name):
    require_transparent(rules.get(name))


def test_helpers_constants_and_nested_functions_are_seen_through():
    def honest(m, p, q, tree):
        def sibling(rank):
            return m.draw(q(())) if rank else m.draw(p(()))

        x, y = (sibling(rank) for rank in range(2))
        chosen = sorted([x, y])[0] if m.flip(helper(m, p(()), x)) else y
        found = None
        if found is None and p(())[chosen] < HALF:
            return (chosen,)
        return (x,)

    require_transparent(rule(honest))


def _catches(m, p, q, tree):
    try:
        return (m.draw(p(())),)
    except ValueError:
        return (m.draw(q(())),)


def _identity(m, p, q, tree):
    x, y = m.draw(p(())), m.draw(p(()))
    return (x,) if x is y else (y,)


def _text(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if f"{x}" == "0" else (x, x)


def _hidden_text(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if peeking_helper(x) == "0" else (x, x)


def _type(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if isinstance(x, int) else (x, x)


def _remembers(m, p, q, tree):
    SEEN.append(1)
    return (m.draw(p(())),) if len(SEEN) < 5 else (m.draw(q(())),)


def _own_randomness(m, p, q, tree):
    return (m.draw(p(())),) if random.random() < 0.999 else (m.draw(q(())),)


def _nested_randomness(m, p, q, tree):
    def other():
        return random.random() < 0.999

    return (m.draw(p(())),) if other() else (m.draw(q(())),)


def _machine(m, p, q, tree):
    return (m.draw(p(())),) if m.vocabulary == 3 else (m.draw(q(())),)


def _attribute(m, p, q, tree):
    _attribute.count = 1
    return (m.draw(p(())),)


def _reads_its_class(m, p, q, tree):
    return (m.draw(p(())),) if m.__class__ else (m.draw(q(())),)


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (_catches, "catches exceptions"),
        (_identity, "compares by identity"),
        (_text, "formats text"),
        (_hidden_text, "uses str"),
        (_type, "uses int"),
        (_remembers, "uses SEEN"),
        (_own_randomness, "uses random"),
        (_nested_randomness, "uses random"),
        (_machine, "the attribute vocabulary"),
        (_attribute, "sets the attribute count"),
        (_reads_its_class, "the attribute __class__"),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)
def test_a_way_past_the_vocabulary_is_named(function, what):
    with pytest.raises(Undecided, match=what):
        require_transparent(rule(function))


def test_a_rule_without_source_is_not_seen_through():
    names = {}
    exec("def unseen(m, p, q, tree):\n    return (m.draw(p(())),)\n", names)
    with pytest.raises(Undecided, match="no source text"):
        require_transparent(rule(names["unseen"]))
