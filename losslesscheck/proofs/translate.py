"""A rule's own Python text as a Coq definition, so that a theorem can be about the text itself.

The translation is mechanical: every statement and expression has one counterpart, and what has none is
refused. Whatever Python evaluates stands in the Coq text, bound if it is not used; only what cannot fail (a
name, a literal, a model's vector and its best token) may be left out. Wherever the Python text neither
reaches an undefined value nor raises an error, both have the same law. (In Coq a / 0 is some number, which
the theorems do not depend on, and the entry of a tuple beyond its end is some token.)

What is translated: assignments, ``if``, ``for`` over tokens or a range, ``break``, ``continue`` and
``return``; the machine's primitives but ``top``, ``call`` and coins with levels; the numbers 0 and 1;
arithmetic of numbers, vectors and natural numbers; tuples of tokens; functions inside the rule that are
used as conditions. A parameter is the value that it is bound to.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Final

from losslesscheck import rules
from losslesscheck.errors import Undecided
from losslesscheck.proofs import FOLDER
from losslesscheck.proofs.translation.gallina import same_up_to_names
from losslesscheck.proofs.translation.statements import Statements
from losslesscheck.proofs.translation.values import Untranslatable
from losslesscheck.rule import Rule
from losslesscheck.transparent import parsed, require_transparent

__all__ = ["Untranslatable", "matching", "texts", "translate"]


def translate(rule: Rule, name: str | None = None) -> str:
    """The definition of ``NAME_text``, the rule's text in Coq with its parameters as they are bound.

    Args:
        rule: the rule.
        name: NAME; the rule's own, if it is left out.

    Returns:
        the definition; texts.v shows what it stands among.

    Raises:
        Untranslatable: naming the line and the construct that is not translated.
        Undecided: if the text is not transparent (see ``transparent``).
    """
    require_transparent(rule)
    text = parsed(rule.function)  # type: ignore[arg-type]
    title = rule.name
    if not isinstance(text, ast.FunctionDef):
        raise Untranslatable(f"{title}: a lambda is not translated")
    try:
        return Statements(rule, text).definition(
            re.sub(r"\W|^(?=\d)", "_", name or rule.name, flags=re.ASCII)
        )
    except RecursionError:
        raise Untranslatable(f"{title}: the text is too long to be translated") from None


# The file of the library's own rules

_HEADER: Final = """\
(* The rules' own texts, translated from Python by losslesscheck/proofs/translate.py: not to be edited.

   A rule's text is what these definitions say. That they are lossless is proved in faithful.v. *)
From mathcomp Require Import all_ssreflect.
From Losslesscheck Require Import world program walk rules loop.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Texts.
Variable W : world.
Local Open Scope rule_scope.

Variable x0 : token W. (* any token at all *)

(* Vectors, entry by entry: a product, a quotient, a sum, and the smaller entries. *)
Definition times (v : vector W) (a : number W) : vector W := table (fun x => v x * a).
Definition divided (v : vector W) (a : number W) : vector W := table (fun x => v x / a).
Definition plus (v w : vector W) : vector W := table (fun x => v x + w x).
Definition lesser (v w : vector W) : vector W := table (fun x => smaller (v x) (w x)).
"""
_DEFINITION: Final = re.compile(r"^Definition (\w+)_text\b(.*?)\.$", re.DOTALL | re.MULTILINE)


def texts(translated: Iterable[Rule]) -> str:
    """What texts.v holds: the rules' definitions and what they need.

    Raises:
        Untranslatable: as ``translate``.
    """
    return "\n".join([_HEADER, *(f"{translate(rule)}\n" for rule in translated), "End Texts.\n"])


def matching(rule: Rule) -> str | None:
    """The name of the library's rule whose text in texts.v is this rule's, up to the names of variables.

    What the library's rule supposes beyond its text must be supposed of this one too: distinct
    siblings, a single path (of chain and specinfer, which have one text, the one that fits is named);
    and both must claim the same, greedy decoding or sampling.

    Returns:
        the name, or ``None`` if there is none or the text is not translated.
    """
    try:
        text = translate(rule, "mine")
    except Undecided:
        return None
    ((_, body),) = _definitions(text)
    committed = _definitions((FOLDER / "texts.v").read_text(encoding="utf-8"))
    same = [rules.get(name) for name, other in committed if same_up_to_names(body, other)]
    fitting = [one for one in same if _supposes_no_more(one, rule)]
    fitting.sort(key=lambda one: one.single_path != rule.single_path)
    return fitting[0].name if fitting else None


def _supposes_no_more(one: Rule, rule: Rule) -> bool:
    single_path = one.single_path and one.form == "step"  # a whole rule looks at the depth only
    return (
        one.greedy == rule.greedy
        and one.fixed_tokens == rule.fixed_tokens
        and one.distinct_siblings <= rule.distinct_siblings
        and single_path <= rule.single_path
    )


def _definitions(text: str) -> list[tuple[str, str]]:
    """Name and the rest of every definition of a rule's text."""
    return [(found[1], found[2]) for found in _DEFINITION.finditer(text)]


if __name__ == "__main__":
    from losslesscheck.proofs.theorems import SCOPES

    committed = texts(rules.get(name) for name in rules.names() if name in SCOPES)
    (FOLDER / "texts.v").write_text(committed, encoding="utf-8")
