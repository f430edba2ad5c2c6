"""A theory to begin with: a rule's text in Coq, and what is to be proved of it."""

from __future__ import annotations

import re

from losslesscheck.proofs.translate import translate
from losslesscheck.rule import Rule

_HEAD = """\
(* The text of {name}, translated from Python by losslesscheck. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless tree rules step instances node loop texts.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Text.
Variable W : world.
Variable x0 : token W. (* any token at all *)
Local Open Scope rule_scope.

{definition}

End Text.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Lossless.
Variables (R : realFieldType) (T : finType) (undefined : R -> R).
Notation W := (real R T undefined).
"""

_STEP = """
(* To be proved: the step is unbiased, and its residuals are distributions. *)
Theorem {name}_ok (p{q} : T -> R) tried{t}{x0} : is_dist p ->{q_dist}
  step_ok {text} (fun _ _ => True) p tried {draft}.
Proof.
Admitted.

(* Then it is lossless on every tree. *)
Theorem {name}_lossless (target : seq T -> T -> R){x0} : (forall c, is_dist (target c)) ->
  {every} lossless target (speculate {text} target {tree} c) c.
Proof.
{proof}
Qed.
"""
_DRAWN = {
    "q": " q",
    "t": "",
    "q_dist": " is_dist q ->",
    "draft": "q",
    "every": "forall q : seq T -> T -> R, (forall c, is_dist (q c)) -> forall s c,\n ",
    "tree": "(@plant W _ (fun c' _ => q c') s c)",
    "proof": "move=> target_dist q q_dist; apply: (token_tree_lossless (admitted := @is_dist R T)) => //.\n"
    "by move=> r tried d; apply: {name}_ok.",
}
_FIXED = {
    "q": "",
    "t": " t",
    "q_dist": "",
    "draft": "t",
    "every": "forall t c,\n ",
    "tree": "(plant_tokens t)",
    "proof": "by move=> target_dist; apply: fixed_tree_lossless => // r tried t; apply: {name}_ok.",
}

_NODE = """
(* To be proved: the token decided on has the wanted law, at a node with any siblings. *)
Theorem {name}_ok{x0} (p : T -> R) siblings : is_dist p -> {goal_dist}
  node_ok {text} {goal} p siblings.
Proof.
Admitted.

(* Then it is lossless on every tree whose nodes have such siblings. *)
Theorem {name}_lossless (target : seq T -> T -> R){x0} : (forall c, is_dist (target c)) ->
  forall t c, @all_nodes W {admitted} t ->
  lossless (fun c => {goal} (target c)) (walk_nodes {text} target t c) c.
Proof.
move=> target_dist; apply: (@node_lossless R T undefined _ {goal} {admitted}) => //; last first.
{proof}
Qed.
"""

_WHOLE = """
(* To be proved: it is lossless at every draft length. *)
Theorem {name}_lossless (p q : seq T -> T -> R){x0} length :
  (forall c, is_dist (p c)) -> (forall c, is_dist (q c)) ->
  lossless {next} ({applied} p q length) [::].
Proof.
Admitted.
"""


def theory(rule: Rule) -> str:
    """A theory with the rule's text and, admitted, what would make it lossless.

    It compiles beside the theories of this folder, logical name ``Losslesscheck``.

    Raises:
        Untranslatable, Undecided: as ``translate``.
    """
    definition = translate(rule)
    name = definition.removeprefix("Definition ").partition("_text")[0]
    used = re.search(r"\bx0\b", definition) is not None
    text = f"@{name}_text W x0" if used else f"@{name}_text W"
    token = " (x0 : T)" if used or rule.greedy else ""
    facts = {"name": name, "text": f"({text})", "applied": text, "x0": token}
    head = _HEAD.format(name=rule.name, definition=definition)
    if rule.form == "step":
        parts = _FIXED if rule.fixed_tokens else _DRAWN
        body = _STEP.format(**facts, **{key: part.format(name=name) for key, part in parts.items()})
    elif rule.form == "node":
        distinct = rule.distinct_siblings
        body = _NODE.format(
            **facts,
            goal="(fun v => @point W (@argmax W x0 v))" if rule.greedy else "id",
            goal_dist="uniq siblings ->" if distinct else "",
            admitted="(fun siblings => uniq siblings)" if distinct else "(fun=> True)",
            proof=f"  by move=> r siblings rd ok; apply: {name}_ok.\n"
            + ("by move=> r _; apply: point_dist." if rule.greedy else ""),
        )
    else:
        next_token = "(fun c => @point W (@argmax W x0 (p c)))" if rule.greedy else "p"
        body = _WHOLE.format(**facts, next=next_token)
    return f"{head}{body}\nEnd Lossless.\n"
