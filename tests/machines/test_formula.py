"""The step identity as a formula: what it says is checked by putting in numbers."""

import itertools
import random
from fractions import Fraction

import pytest
import sympy

from losslesscheck import rules
from losslesscheck.machines.formula import SIBLINGS, identity, step_identity
from losslesscheck.machines.formula.notation import SIZE, latex, pretty
from losslesscheck.rule import Rule, rule

P = sympy.Function("p", nonnegative=True)
Q = sympy.Function("q", nonnegative=True)


def holds(equation: sympy.Eq, p: list[Fraction], q: list[Fraction], siblings: tuple[int, int]) -> bool:
    """Whether both sides agree at every token, tokens numbered from 1."""
    vocabulary = len(p)
    for y in range(1, vocabulary + 1):
        sides = []
        for side in equation.args:
            given = side.subs({SIZE: vocabulary, "y": y, **dict(zip(SIBLINGS, siblings, strict=True))})
            number = given.doit()
            for function, row in ((P, p), (Q, q)):
                number = number.replace(function, lambda t, row=row: sympy.Rational(row[int(t) - 1]))
            sides.append(number.doit())
        if sympy.simplify(sides[0] - sides[1]) != 0:
            return False
    return True


def positive_row(rng: random.Random, vocabulary: int) -> list[Fraction]:
    parts = [rng.randint(1, 9) for _ in range(vocabulary)]
    return [Fraction(part, sum(parts)) for part in parts]


def everywhere(rule: Rule) -> list[bool]:
    """Whether the identity holds, for a few random p ≠ q and all pairs of distinct siblings."""
    equation = step_identity(rule)
    assert equation is not None
    rng = random.Random(1)
    pairs = list(itertools.permutations((1, 2, 3), 2))
    return [
        holds(equation, positive_row(rng, 3), positive_row(rng, 3), pairs[number % len(pairs)])
        for number in range(4)
    ]


@pytest.mark.parametrize("name", ["chain", "specinfer", "naive_sampling", "target_only", "point_mass"])
def test_identity_of_a_lossless_rule_holds(name: str) -> None:
    assert all(everywhere(rules.get(name)))


@pytest.mark.parametrize("name", ["resample_target", "zero_rejected", "threshold_acc"])
def test_identity_of_a_broken_rule_does_not_hold(name: str) -> None:
    assert not all(everywhere(rules.get(name)))


def test_identity_with_equal_siblings() -> None:
    equation = step_identity(rules.get("duplicate_siblings"))
    p = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    assert holds(equation, p, p, (1, 2))
    assert not holds(equation, p, p, (2, 2))


NONE = [
    ("block_verification", "it decides on a whole draft, not step by step"),
    ("tree_greedy", "it is about the target's likeliest token, which no sum expresses"),
    ("without_replacement", "what a sibling is drawn from depends on the siblings tried before it"),
    ("argmax_draft", "it asks for the likeliest tokens, which no sum expresses"),
    ("one_coin_tree", "it draws with a coin that was compared before"),
    ("inclusive_coin", "its coin takes finitely many values"),
    ("threshold_single", "it compares 3/10 with p(a), which needs a case distinction"),
]


@pytest.mark.parametrize(("name", "reason"), NONE, ids=[name for name, _ in NONE])
def test_no_identity_and_why(name: str, reason: str) -> None:
    found = identity(rules.get(name))
    assert found.equation is None
    assert found.note == reason


def test_a_text_that_is_no_formula() -> None:
    @rule
    def hopeless(m, p, q, accept, reject):  # type: ignore[no-untyped-def]
        return accept(p.likeliest())

    @rule
    def endless(m, p, q, accept, reject):  # type: ignore[no-untyped-def]
        while m.flip(m.one / 2):
            pass
        return reject(p)

    @rule
    def whole_in_disguise(m, p, q, accept, reject):  # type: ignore[no-untyped-def]
        return (m.draw(p), m.draw(p))

    assert "with neither token nor residual" in identity(whole_in_disguise).note
    assert identity(hopeless).note.startswith("its text is no formula: AttributeError")
    assert identity(endless).note == "a path of it has more than 12 branches"


def test_chain_as_text() -> None:
    shown = pretty(step_identity(rules.get("chain")), 76)
    assert [line.rstrip() for line in shown.splitlines()] == [
        "Min(1, p(y)/q(y))⋅q(y)",
        "  (p(y) - q(y))₊⋅Σ (1 - Min(1, p(x)/q(x)))⋅q(x)",
        "                 x",
        "+ ─────────────────────────────────────────────",
        "                Σ (p(z) - q(z))₊",
        "                z",
        "= p(y)",
    ]


def test_chain_as_latex() -> None:
    text = latex(step_identity(rules.get("chain")))
    assert (
        r"\left(p(y) - q(y)\right)_+ \sum_{x} \left(1 - \min\left(1, \frac{p(x)}{q(x)}\right)\right) q(x)"
        in text
    )
    assert text.endswith(r"{\sum_{z} \left(p(z) - q(z)\right)_+} = p(y)")


@pytest.mark.parametrize("name", ["chain", "target_only", "threshold_acc", "duplicate_siblings"])
def test_sympy_prints_it_itself(name: str) -> None:
    equation = step_identity(rules.get(name))
    assert "p(y)" in sympy.pretty(equation, num_columns=80)
    assert sympy.latex(equation).count("=") == 1
