from __future__ import annotations

import functools
import random
from builtins import isinstance as harmless
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

import pytest

from losslesscheck import rules
from losslesscheck.errors import Undecided
from losslesscheck.machines.replay import Choice
from losslesscheck.rule import load, rule
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


@dataclass(frozen=True)
class Pair:
    first: object
    second: object = None

    @property
    def either(self):
        return cast(int, self.second if self.first is None else self.first)


def test_a_dataclass_of_fields_is_seen_through():
    def honest(m, p, q, tree):
        pair = Pair(m.draw(p(())))
        return (pair.first if pair.second is None else pair.second,)

    require_transparent(rule(honest))


def test_names_are_taken_as_python_takes_them():
    def honest(m, p, q, tree):
        def inner(id: int, *, hash: int = 0) -> int:
            return id

        if tree.depth < 0:
            raise ValueError(f"{tree} has no depth")
        type = m.draw(p(()))
        return (inner(type),)

    require_transparent(rule(honest))


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


class Spy(int):
    def __eq__(self, other):
        return type(other) is int

    __hash__ = None


class EqualToAll:
    def __eq__(self, other):
        return True

    __hash__ = None

    def count(self, token):
        return int(isinstance(token, int))


class Peek(Exception):
    def __new__(cls, token):
        return isinstance(token, int)


@dataclass
class Looking:
    token: object
    seen: bool = False

    def __post_init__(self):
        self.seen = isinstance(self.token, int)


@dataclass
class Ordered:
    token: object

    def __lt__(self, other):
        return isinstance(self.token, int)


@dataclass
class Random:
    value: float = field(default_factory=random.random)


@dataclass
class OpensTheMachine:
    vocabulary: int


SPY, EQUAL_TO_ALL = Spy(0), EqualToAll()


def remembering(token, seen=[]):  # noqa: B006
    seen.append(token)
    return len(seen)


def _with_a_hidden_default():
    peek = isinstance

    def helper(token, f=peek):
        return f(token, tuple)

    return helper


hidden_default = _with_a_hidden_default()


def deep(n, token):
    return deep(n - 1, token) if n else isinstance(token, tuple)


def _wrapping(function):
    @functools.wraps(function)
    def inner(m, p, q, tree):
        return (m.draw(p(())),) if random.random() < 0.999 else (m.draw(q(())),)

    return inner


@_wrapping
def _wrapped(m, p, q, tree):
    return (m.draw(p(())),)


def _renamed(m, p, q, tree):
    def honest(m, p, q, tree):
        return (m.draw(p(())),)

    return honest(m, p, q, tree) if random.random() < 0.999 else (m.draw(q(())),)


_renamed.__name__ = "honest"


def _alias(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if harmless(x, tuple) else (x, x)


def _shadow(m, p, q, tree):
    def unused(isinstance):
        return isinstance

    x = m.draw(p(()))
    return (x,) if isinstance(x, tuple) else (x, x)


def _comprehension(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if all(isinstance(x, kind) for kind in (tuple,)) else (x, x)


def _false_cast(m, p, q, tree):
    def cast(function, x):
        return function(x)

    x = m.draw(p(()))
    return (x,) if cast(hash, x) == 0 else (x, x)


def _operator(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if x == SPY else (x, x)


def _equal_to_all(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if EQUAL_TO_ALL.count(x) else (x, x)


def _exception(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if Peek(x) else (x, x)


def _takes_the_machines_part(m, p, q, tree):
    raise Choice([((0,), m.one)])


def _post_init(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if Looking(x).seen else (x, x)


def _dataclass_operator(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if Ordered(x) < Ordered(x) else (x, x)


def _default_factory(m, p, q, tree):
    return (m.draw(p(())),) if Random().value < 0.999 else (m.draw(q(())),)


def _field(m, p, q, tree):
    return (m.draw(p(())),) if m.vocabulary == OpensTheMachine(3).vocabulary else (m.draw(q(())),)


def _mutable_default(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if remembering(x) < 5 else (x, x)


def _hidden_default(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if hidden_default(x) else (x, x)


def _recursion(m, p, q, tree):
    x = m.draw(p(()))
    return (x,) if deep(3, x) else (x, x)


def _pattern(m, p, q, tree):
    match p(()):
        case tuple():
            return (m.draw(p(())),)
    return (m.draw(q(())),)


def _sequence_pattern(m, p, q, tree):
    match p(()):
        case [_, _]:
            return (m.draw(p(())),)
    return (m.draw(q(())),)


def _percent(m, p, q, tree):
    x, text = m.draw(p(())), "%s"
    text %= (x,)
    return (x,) if text == "0" else (x, x)


_lambda = lambda m, p, q, tree: (m.draw(p(()) if random.random() < 0.999 else q(())),)  # noqa: E731


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
        (_wrapped, "is wrapped"),
        (_renamed, "uses random"),
        (_alias, "uses harmless"),
        (_shadow, "uses isinstance"),
        (_comprehension, "uses isinstance"),
        (_false_cast, "uses hash"),
        (_operator, "uses SPY"),
        (_equal_to_all, "uses EQUAL_TO_ALL"),
        (_exception, "an exception of its own"),
        (_takes_the_machines_part, "uses Choice"),
        (_post_init, "uses int"),
        (_dataclass_operator, "uses int"),
        (_default_factory, "the default of value"),
        (_field, "a field vocabulary"),
        (_mutable_default, "a default"),
        (_hidden_default, "a default"),
        (_recursion, "uses isinstance"),
        (_pattern, "asks for a type"),
        (_sequence_pattern, "asks for a type"),
        (_percent, "uses %"),
        (_lambda, "uses random"),
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


def test_an_annotation_that_is_evaluated_is_read(tmp_path):
    """A file of its own: here annotations are postponed."""
    file = tmp_path / "walrus.py"
    file.write_text(
        "def walrus(m, p, q, tree):\n"
        "    x = m.draw(p(()))\n"
        "    def unused(a: (seen := isinstance(x, tuple))):\n"
        "        return a\n"
        "    return (x,) if seen else (x, x)\n"
    )
    with pytest.raises(Undecided, match="uses isinstance"):
        require_transparent(load(f"{file}:walrus"))
