"""Formulas in certificates: rational functions written as text, evaluated exactly or modulo a prime.

The grammar is that of Python's arithmetic: ``+ - *``, ``/``, ``**`` with a literal exponent, brackets,
integers and names. A name is an identifier, optionally with an index: ``q``, ``nu0[y]``, ``p[x1]``. Sums of
any length are fine: nothing recurses but brackets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

_TOKEN: Final = re.compile(r"\s*(?:(\d+)|([^\W\d]\w*(?:\[[\w, ]*\])?)|(\*\*|[-+*/()])|$)")
_BINDS: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "negative": 3, "**": 4}

Value = Fraction | int


class ExpressionError(ValueError):
    """The text is no expression, or names a symbol that has no value."""


def evaluate(text: str, values: Mapping[str, Value], modulus: int | None = None) -> Value:
    """The value of an expression.

    Args:
        text: such as ``2*a*b**2 - 1/3`` or ``(a - b)/(c + 1)``.
        values: a number for every name in it.
        modulus: a prime, to compute modulo it; then every value must be an integer or a fraction
            whose denominator is prime to it.

    Returns:
        A ``Fraction``, or with ``modulus`` an integer in [0, modulus).

    Raises:
        ExpressionError: if the text is no expression or a name has no value.
        ZeroDivisionError: for a division by zero.

    >>> evaluate("2*a*b**2 - 1/3", {"a": 1, "b": Fraction(1, 2)})
    Fraction(1, 6)
    >>> evaluate("-p[x1]/3", {"p[x1]": 2}, modulus=7)
    4
    """
    stack: list[Any] = []
    for kind, item in parse(text):
        if kind == "number":
            stack.append(Fraction(int(item)) if modulus is None else int(item) % modulus)
        elif kind == "name":
            if item not in values:
                raise ExpressionError(f"{item} has no value")
            value = Fraction(values[item])
            if modulus is not None:
                stack.append(value.numerator * _inverse(value.denominator, modulus) % modulus)
            else:
                stack.append(value)
        elif kind == "power":
            stack[-1] = pow(stack[-1], int(item), modulus)
        elif item == "negative":
            stack[-1] = -stack[-1] if modulus is None else -stack[-1] % modulus
        else:
            b = stack.pop()
            stack[-1] = _apply(item, stack[-1], b, modulus)
    result: Value = stack[0]
    return result


def names(text: str) -> set[str]:
    """The names in an expression.

    >>> sorted(names("p[x1]*a - a**2"))
    ['a', 'p[x1]']
    """
    return {item for kind, item in parse(text) if kind == "name"}


def _apply(operator: str, a: Any, b: Any, modulus: int | None) -> Any:
    if operator == "/":
        if modulus is not None:
            return a * _inverse(b, modulus) % modulus
        return a / b
    result = a + b if operator == "+" else a - b if operator == "-" else a * b
    return result if modulus is None else result % modulus


def _inverse(value: int, modulus: int) -> int:
    if value % modulus == 0:
        raise ZeroDivisionError
    return pow(value, -1, modulus)


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple[tuple[str, str], ...]:
    """The expression in postfix order, as (kind, item) with kind number, name, power or operator.

    Raises:
        ExpressionError: if the text is no expression.
    """
    output: list[tuple[str, str]] = []
    waiting: list[str] = []  # operators and brackets, as in Dijkstra's shunting yard

    def settle(level: int) -> None:
        while waiting and waiting[-1] != "(" and _BINDS[waiting[-1]] >= level:
            output.append(("operator", waiting.pop()))

    operand_next = True
    tokens = _tokens(text)
    for place, (kind, item) in enumerate(tokens):
        if kind != "operator":
            if not operand_next:
                raise ExpressionError(f"{text[:80]!r}: {item} follows an operand")
            if kind == "number" and place and tokens[place - 1][1] == "**":
                waiting.pop()
                output.append(("power", item))
            else:
                output.append((kind, item))
            operand_next = False
        elif item == "(":
            if not operand_next:
                raise ExpressionError(f"{text[:80]!r}: a bracket follows an operand")
            waiting.append(item)
        elif operand_next:
            if item not in "+-" or (waiting and waiting[-1] == "**"):
                raise ExpressionError(f"{text[:80]!r}: an operand is missing before {item}")
            if item == "-":
                waiting.append("negative")
        elif item == ")":
            settle(0)
            if not waiting:
                raise ExpressionError(f"{text[:80]!r}: a bracket too many")
            waiting.pop()
        else:
            settle(_BINDS[item])
            waiting.append(item)
            operand_next = True
            if item == "**" and (place + 1 == len(tokens) or tokens[place + 1][0] != "number"):
                raise ExpressionError(f"{text[:80]!r}: the exponent is no literal integer")
    if operand_next:
        raise ExpressionError(f"{text[:80]!r}: an operand is missing at the end")
    settle(0)
    if waiting:
        raise ExpressionError(f"{text[:80]!r}: a bracket is not closed")
    return tuple(output)


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ExpressionError(f"{text[:80]!r}: {text[position : position + 10]!r} is not understood")
        number, name, operator = match.groups()
        if number:
            found.append(("number", number))
        elif name:
            found.append(("name", name))
        elif operator:
            found.append(("operator", operator))
        position = match.end()
    return found
