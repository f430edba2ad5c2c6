"""How the formulas of rules are written: (a)₊, sums over the vocabulary, text and LaTeX."""

from __future__ import annotations

import re
from typing import Any

import sympy
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.pretty.stringpict import prettyForm

SIZE = sympy.Symbol("V", integer=True, positive=True)
"""The number of tokens."""


class PositivePart(sympy.Function):  # type: ignore[misc]
    """max(0, a), printed as (a)₊."""

    @classmethod
    def eval(cls, a: Any) -> Any:
        return a if a.is_nonnegative else sympy.Integer(0) if a.is_nonpositive else None

    def _inner(self, printer: Any) -> Any:
        """The argument, printed with what is subtracted at the end."""
        terms = sorted(sympy.Add.make_args(self.args[0]), key=lambda a: a.could_extract_minus_sign())
        return printer._print(sympy.Add(*terms, evaluate=False))

    def _sympystr(self, printer: Any) -> str:
        return f"({self._inner(printer)})_+"

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        text = rf"\left({self._inner(printer)}\right)_+"
        return text if exp is None else f"{text}^{{{exp}}}"

    def _pretty(self, printer: Any) -> prettyForm:
        inner = prettyForm(*self._inner(printer).parens())
        return prettyForm(*inner.right("₊" if printer._use_unicode else "+"))


class VocabularySum(sympy.Sum):  # type: ignore[misc]
    """Σ over all tokens, which are numbered from 1 to V; printed without these limits."""

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        text = rf"\sum_{{{printer._print(self.variables[0])}}} {self._inner(printer)}"
        return text if exp is None else rf"\left({text}\right)^{{{exp}}}"

    def _pretty(self, printer: Any) -> prettyForm:
        sign = prettyForm("Σ" if printer._use_unicode else "Sum")
        sign = prettyForm(*sign.below(printer._print(self.variables[0])))
        sign.baseline = 0
        inner = printer._print(self.function)
        if self.function.is_Add:
            inner = prettyForm(*inner.parens())
        return prettyForm(*sign.right(" ", inner), binding=prettyForm.MUL)

    def _inner(self, printer: Any) -> str:
        inner = str(printer._print(self.function))
        return rf"\left({inner}\right)" if self.function.is_Add else inner


def over_vocabulary(function: Any, token: Any) -> Any:
    """Σ of ``function`` over the token."""
    return VocabularySum(function, (token, 1, SIZE))


def pretty(equation: sympy.Eq, width: int = 80) -> str:
    """The equation as text; where it is wider than ``width``, with one term below the other."""
    printer = PrettyPrinter({"use_unicode": True, "order": "none"})
    whole = printer._print(equation)
    if whole.width() <= width:
        return str(whole)
    first, *rest = sympy.Add.make_args(equation.lhs)
    blocks = [printer._print(first)]
    blocks += [prettyForm(*printer._print(term).left("+ ")) for term in rest]
    blocks.append(prettyForm(*printer._print(equation.rhs).left("= ")))
    return "\n".join(str(block) for block in blocks)


def latex(equation: sympy.Eq) -> str:
    """The equation in LaTeX, its terms in the order of the rule's branches."""
    text = str(sympy.latex(equation, order="none"))
    return re.sub(r"\{\\left\((\w) \\right\)\}", r"(\1)", text)
