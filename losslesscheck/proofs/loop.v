(* The loop that a Python [for] becomes when a rule's text is translated. *)
From mathcomp Require Import all_ssreflect.
From Losslesscheck Require Import world program.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* [body] is run for every item, with the variables that it changes in [s]. It goes on by calling [next] with
   their new values, and returns by not calling it; [after] is what follows the loop, or a [break]. *)
Fixpoint each (W : world) (A S B : Type) (items : seq A) (s : S)
    (body : A -> S -> (S -> program W B) -> program W B) (after : S -> program W B) : program W B :=
  if items is item :: items' then body item s (fun s' => each items' s' body after) else after s.
