"""The checker's formulas against Python's own arithmetic."""

from fractions import Fraction

import pytest

from losslesscheck.checker.expression import ExpressionError, evaluate, names

VALUES = {"a": Fraction(2, 3), "b": Fraction(-5, 7), "c": Fraction(3), "nu0[y]": Fraction(-1, 4)}
PRIME = 2**127 - 1

TEXTS = [
    "a",
    "-a",
    "2*a*b**2 - 1/3",
    "(a - b)/(c + 1)",
    "a - b - c",
    "a/b/c",
    "-a**2",
    "a*-b",
    "-(a + b)*-(c)**3",
    "1/a/(b*c)",
    "+a - +b",
    "2**3*a",
]


@pytest.mark.parametrize("text", TEXTS)
def test_same_value_as_python(text):
    expected = eval(text.replace("1/", "Fraction(1)/"), {"Fraction": Fraction}, VALUES)
    assert evaluate(text, VALUES) == expected


@pytest.mark.parametrize("text", TEXTS)
def test_same_value_modulo_a_prime(text):
    exact = Fraction(evaluate(text, VALUES))
    expected = exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME
    assert evaluate(text, VALUES, PRIME) == expected


def test_indexed_names():
    assert evaluate("nu0[y]*4 + 1", VALUES) == 0
    assert names("nu0[y]*a + b") == {"nu0[y]", "a", "b"}


def test_a_sum_of_many_terms_does_not_recurse():
    assert evaluate(" + ".join(["a*c"] * 20000), VALUES) == 40000


@pytest.mark.parametrize("text", ["1/0", "a/(b - b)"])
@pytest.mark.parametrize("modulus", [None, PRIME])
def test_division_by_zero(text, modulus):
    with pytest.raises(ZeroDivisionError):
        evaluate(text, VALUES, modulus)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "a +",
        "* a",
        "(a",
        "a)",
        "a ** b",
        "a ** -1",
        "a(b)",
        "a @ b",
        "unknown",
        "__import__('os')",
    ],
)
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(ExpressionError):
        evaluate(text, VALUES)
