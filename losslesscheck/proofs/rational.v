(* A world that computes: rational numbers in lowest terms, tokens 0, 1, ..., V-1.

   The definitions that the theorems are about are evaluated in it, so that they can be held against the exact
   law of the Python texts. Nothing that is proved depends on this file. *)
From Coq Require Import QArith.
From mathcomp Require Import all_ssreflect.
From Losslesscheck Require Import world program walk rules.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition tabulate (V : nat) (v : nat -> Q) : nat -> Q :=
  let entries := [seq v x | x <- iota 0 V] in fun x => nth (Qmake 0 1) entries x.

Definition rational (V : nat) : world :=
  @World Q _ (iota 0 V) (Qmake 0 1) (Qmake 1 1)
    (fun a b => Qred (Qplus a b)) (fun a b => Qred (Qminus a b))
    (fun a b => Qred (Qmult a b)) (fun a b => Qred (Qdiv a b))
    Qle_bool (@tabulate V).

(* A model that is listed: the row of a context, or [default]. *)
Definition listed (V : nat) (default : seq Q) (rows : seq (seq nat * seq Q)) : model (rational V) :=
  fun c =>
    let row := foldr (fun e found => if e.1 == c then e.2 else found) default rows in
    fun x => nth (Qmake 0 1) row x.

(* The law as numerators, denominators and emitted sequences. *)
Definition law (V : nat) (t : program (rational V) (seq nat)) : seq (Z * positive * seq nat) :=
  [seq (Qnum o.1, Qden o.1, o.2) | o <- @outcomes (rational V) _ (Qmake 1 1) t].
