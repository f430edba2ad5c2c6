"""Laws of the rules by their Coq texts, which Coq evaluates."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from losslesscheck.instances import ContextRows
from losslesscheck.proofs import FOLDER
from losslesscheck.proofs.coq import Coq
from losslesscheck.proofs.translate import texts, translate
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree
from tests.proofs.translation_cases import Case

Law = dict[tuple[int, ...], Fraction]
"""Emitted sequence → probability, without the sequences of probability zero."""


# A rule on an instance, as a Coq term


def a_list(terms: Sequence[str]) -> str:
    return f"[:: {'; '.join(terms)}]" if terms else "[::]"


def a_fraction(value: Fraction) -> str:
    return f"Qmake {value.numerator} {value.denominator}"


def a_row(row: Sequence[Fraction]) -> str:
    return a_list([a_fraction(value) for value in row])


def a_model(rows: ContextRows, vocabulary: int) -> str:
    listed = [f"({a_list([*map(str, context)])}, {a_row(row)})" for context, row in rows.items() if context]
    return f"@listed {vocabulary} {a_row(rows[()])} {a_list(listed)}"


def a_shape(tree: Tree) -> str:
    return f"(Shape {a_list([a_shape(child) for child in tree.children])})"


def a_token_tree(tree: Tree) -> str:
    return f"(@Node W {a_list([f'({child.token}, {a_token_tree(child)})' for child in tree.children])})"


def a_program(case: Case) -> str:
    """The walk with the rule's text, or the rule's text if it decides on everything."""
    rule, instance, text = case.rule, case.instance, a_rule(case)
    if rule.form == "node":
        return f"walk_nodes ({text}) p {a_token_tree(instance.tree)} [::]"
    if rule.form == "whole":
        return f"{text} p q {instance.tree.depth}"
    if rule.fixed_tokens:
        return f"speculate ({text}) p (plant_tokens {a_token_tree(instance.tree)}) [::]"
    return f"speculate ({text}) p (plant (fun c _ => q c) {a_shape(instance.tree)} [::]) [::]"


def a_rule(case: Case) -> str:
    """The rule's translated text; for other thresholds than 1, the definition that has them as arguments."""
    if case.rule.name == "target_only" and set(case.rule.settings.values()) != {1}:
        single, acc = (Fraction(case.rule.settings[f"threshold_{name}"]) for name in ("single", "acc"))
        return f"@target_only W ({a_fraction(single)}) ({a_fraction(acc)})"
    takes_token = re.search(r"\bx0\b", translate(case.rule))
    return f"@{case.rule.name}_text W" + (" 0" if takes_token else "")


def a_law(case: Case) -> str:
    vocabulary = case.instance.vocabulary
    models = [
        f"let W := rational {vocabulary} in",
        f"let p := {a_model(case.instance.target, vocabulary)} in",
    ]
    if case.instance.draft:
        models.append(f"let q := {a_model(case.instance.draft, vocabulary)} in")
    return "\n  ".join([*models, a_program(case)])


# Their evaluation


@dataclass(frozen=True)
class Fault:
    """A fault put into a theory, and the rule in whose law it must show.

    In ``texts`` it is put into the text of that rule.
    """

    rule: str
    theory: str
    old: str
    new: str


def definitions(fault: Fault | None = None) -> str:
    """The walks, the rules and their translated texts with the fault in them, without what they import.

    Raises:
        ValueError: if the text to be replaced does not stand where it is to be replaced exactly once.
    """
    theories = {name: (FOLDER / f"{name}.v").read_text() for name in ("walk", "rules", "texts")}
    if fault is not None:
        before, place, after = "", theories[fault.theory], ""
        if fault.theory == "texts":
            before, start, place = place.partition(f"Definition {fault.rule}_text ")
            place, end, after = place.partition(".\n\n")
            before, after = before + start, end + after
        count = place.count(fault.old)
        if count != 1:
            raise ValueError(f"{fault.theory}.v holds {fault.old!r} {count} times, not once")
        theories[fault.theory] = before + place.replace(fault.old, fault.new) + after
    return _without_imports("".join(theories.values()))


def translations(translated: Sequence[Rule]) -> str:
    """Definitions of the texts of rules that are not in the library."""
    return _without_imports(texts(translated))


def _without_imports(theory: str) -> str:
    return re.sub(r"^From .*\n", "", theory, flags=re.MULTILINE)


IMPORTS = """\
From Coq Require Import QArith.
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk rules loop rational texts.
Close Scope Q_scope.
Open Scope nat_scope.
Set Printing Width 1000000.
Set Printing Depth 1000000.
(* An outcome as the numerator, the denominator and the tokens, so that only integers are printed. *)
Definition integers {V} (t : program (rational V) (seq nat)) : seq (seq Z) :=
  [seq [:: o.1.1, Zpos o.1.2 & [seq Z.of_nat x | x <- o.2]] | o <- law t].
"""

OUTCOME = r"\[:: \d+;\s+\d+(?:;\s+\d+)+\]"
PRINTED = re.compile(rf"\s*= (\[::(?:\s+{OUTCOME}(?:;\s+{OUTCOME})*)?\])\s+: seq \(seq Z\)\s*")


def evaluated(coq: Coq, folder: Path, groups: Sequence[tuple[str, Sequence[Case]]]) -> list[list[Law]]:
    """The laws of the cases of every group, in one run of Coq.

    Args:
        folder: where the compiled theories are.
        groups: cases, and before them definitions that take the place of the compiled ones, or "".

    Raises:
        CoqError: if Coq rejects a definition.
        ValueError: if it prints anything but one law for every case.
    """
    text, asked = [IMPORTS], []
    for g, (replaced, cases) in enumerate(groups):
        text += [f"Module group_{g}.\n", replaced]
        text += [f"Definition law_{i} := integers (\n  {a_law(case)}).\n" for i, case in enumerate(cases)]
        text += [f"End group_{g}.\n"]
        asked += [f"Eval vm_compute in group_{g}.law_{i}.\n" for i in range(len(cases))]
    laws = parsed(coq.evaluate(folder, "".join([*text, "Open Scope Z_scope.\n", *asked])))
    if len(laws) != len(asked):
        raise ValueError(f"Coq printed {len(laws)} laws for {len(asked)} cases")
    rest = iter(laws)
    return [[next(rest) for _ in cases] for _, cases in groups]


def parsed(printed: str) -> list[Law]:
    """The laws that Coq printed.

    Raises:
        ValueError: naming the place where the output is no law.
    """
    laws = []
    place = 0
    while place < len(printed):
        found = PRINTED.match(printed, place)
        if found is None:
            raise ValueError(f"Coq printed what is no law: {printed[place : place + 200]!r}")
        law: Counter[tuple[int, ...]] = Counter()
        for numerator, denominator, *tokens in json.loads(found[1].replace("[::", "[").replace(";", ",")):
            law[tuple(tokens)] += Fraction(numerator, denominator)  # type: ignore[assignment]
        laws.append(dict(law))
        place = found.end()
    return laws
