"""Gallina terms and how they are laid out: what a rule's text is translated into."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Type = Literal["number", "vector", "token", "tokens", "nat", "bool", "model", "coin", "fresh coin"]

IN_COQ: Final[dict[Type, str]] = {
    "number": "number W",
    "vector": "vector W",
    "token": "token W",
    "tokens": "seq (token W)",
    "nat": "nat",
    "bool": "bool",
    "model": "model W",
    "coin": "number W * number W",
    "fresh coin": "number W * number W",
}

# Coq's levels of precedence: a looser term is put into parentheses.
ATOM, APPLIED, PRODUCT, SUM, RELATION, LOOSE = 0, 10, 40, 50, 70, 200

LARGEST = 1000
"""The largest natural number that is written out; Coq counts up to it."""


PLAIN: Final = re.compile(r"[\w ()]+")
"""A text without operators, which means the same in every scope."""


@dataclass(frozen=True)
class Term:
    """A term of known type.

    Attributes:
        text: as it stands where ``rule_scope`` is open.
        level: Coq's level of the text.
        inner: the text of a natural number as it stands in ``nat_scope``, if it is another one.
        inner_level: Coq's level of that text.
        least: a natural number that the term, if it is one, is never below.
    """

    type: Type
    text: str
    level: int = ATOM
    inner: str = ""
    inner_level: int = ATOM
    least: int = 0

    def within(self, level: int) -> str:
        """The text, in parentheses if it is looser than the level."""
        return self.text if self.level <= level else f"({self.text})"

    def counted(self, level: int) -> str:
        """The same of a natural number in ``nat_scope``."""
        if self.inner:
            return self.inner if self.inner_level <= level else f"({self.inner})"
        return self.within(level) if PLAIN.fullmatch(self.text) else f"({self.text})%rule"


def applied(kind: Type, head: str, *arguments: Term) -> Term:
    """``head`` applied to the arguments."""
    return Term(kind, " ".join([head, *(argument.within(APPLIED - 1) for argument in arguments)]), APPLIED)


LEVELS: Final = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}


def operated(kind: Type, a: Term, operator: str, b: Term) -> Term:
    """An arithmetic operation, which groups to the left."""
    level = LEVELS[operator]
    if kind == "nat":
        inner = f"{a.counted(level)} {operator} {b.counted(level - 1)}"
        return Term("nat", f"({inner})%N", ATOM, inner, level)
    return Term(kind, f"{a.within(level)} {operator} {b.within(level - 1)}", level)


def related(a: Term, relation: str, b: Term) -> Term:
    """A relation of two terms."""
    if a.type == "nat" and relation in ("<", "<="):
        return Term("bool", f"({a.counted(RELATION - 1)} {relation} {b.counted(RELATION - 1)})%N")
    left = of_known_type(a) if a.type == "number" and is_bare(b) else a
    return Term("bool", f"{left.within(RELATION - 1)} {relation} {b.within(RELATION - 1)}", RELATION)


def renamed(term: Term, name: str) -> Term:
    """The variable that stands for the term."""
    return Term("coin" if term.type == "fresh coin" else term.type, name, least=term.least)


def natural(value: int) -> Term:
    return Term("nat", f"{value}%N", ATOM, str(value), ATOM, value)


def is_bare(term: Term) -> bool:
    """Whether it is made of literals only, which do not tell Coq which world they are of."""
    return term.type not in ("nat", "bool") and identifiers(term.text) <= RESERVED


def of_known_type(term: Term) -> Term:
    """The term with its type written beside it, if Coq could not infer it."""
    return Term(term.type, f"({term.text} : {IN_COQ[term.type]})") if is_bare(term) else term


def indented(text: str) -> str:
    return "  " + text.replace("\n", "\n  ")


def beside(head: str, text: str) -> str:
    """The text after the head: in the same line if it is one line, else indented below it."""
    return f"{head}\n{indented(text)}" if "\n" in text else f"{head} {text}"


def let(name: str, value: Term, body: str) -> str:
    kind = f" : {IN_COQ[value.type]}" if is_bare(value) else ""
    return f"let {name}{kind} := {value.text} in\n{body}"


def branches(condition: Term, yes: str, no: str) -> str:
    other = f"else {no}" if no.startswith("if ") else beside("else", no)
    return f"{beside(f'if {condition.text} then', yes)}\n{other}"


def alternatives(head: str, *programs: str) -> str:
    """The programs as arguments, each in lines of its own."""
    return head + "".join(f"\n{indented('(' + p.replace(chr(10), chr(10) + ' ') + ')')}" for p in programs)


def scoped(head: str, body: str) -> str:
    """``head``, which ends in ``(fun x =>``, with the body of the function below it."""
    return f"{head}\n{body})" if "\n" in body else f"{head} {body})"


TOKEN: Final = re.compile(r"\w+|\S")


def identifiers(text: str) -> set[str]:
    return {word for word in TOKEN.findall(text) if word[0].isalpha() or word[0] == "_"}


_KEYWORDS = """
    as at by cofix do else end exists exists2 fix for forall fun if in is isn let match of return then using
    where with Prop Set SProp Type IF
"""
_CONSTRUCTORS = "true false tt nil cons O S Some pair left right Lt Gt Eq inl inr erefl eq_refl xH xI xO"
_WORLD = """
    W x0 zero one add sub mul div le table number token vocabulary vector smaller relu sum_over sum minus
    positive_part norm norm_or without uniform_without point best_of argmax real
"""
_PROGRAMS = """
    program Return Draw Flip expect bind outcomes below context model Accept Reject outcome step tree Leaf
    Draft walk Shape Node Take Stop decision node_rule inverse_transform each length next after bound
    times divided plus lesser
"""
_LIBRARY = "seq nat bool unit iota size take drop nth rcons cat N rule notin mod rem"
RESERVED: Final = frozenset(" ".join([_KEYWORDS, _CONSTRUCTORS, _WORLD, _PROGRAMS, _LIBRARY]).split())
"""What a translated text may mean something else by than a variable of the rule."""


def variable(name: str) -> str:
    """The Coq name of a Python variable: its own, unless that is reserved; different for different ones."""
    return f"{name}_" if name.rstrip("_") in RESERVED else name


def same_up_to_names(a: str, b: str) -> bool:
    """Whether two translated texts differ at most in layout and in the names of the variables.

    Every variable of a text is bound in it. If renaming each to one other, the same all over, and no
    two to the same, makes one text the other, both mean the same.
    """
    left, right = TOKEN.findall(a), TOKEN.findall(b)
    if len(left) != len(right):
        return False
    there: dict[str, str] = {}
    back: dict[str, str] = {}
    for x, y in zip(left, right, strict=True):
        if x in RESERVED or y in RESERVED or not (identifiers(x) and identifiers(y)):
            if x != y:
                return False
        elif there.setdefault(x, y) != y or back.setdefault(y, x) != x:
            return False
    return True
