(* Speculative decoding on a chain of drafts, one draft at a time: what the files on chains start from.

   The walk of walk.v draws a draft when it is tried. A rule whose drafts are a path draws them all first
   (draft_path in rules.v); here is what both satisfy, draft by draft. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk rules step instances.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Paths.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Variable q : context -> T -> R.
Notation path := (@draft_path W q).

(* The paths of drafts, the first one in front. *)
Lemma expect_draft_path g c (F : context -> R) :
  expect (path g.+1 c) F = \sum_x q c x * expect (path g (rcons c x)) (fun xs => F (x :: xs)).
Proof. by rewrite [LHS]/= sumE; apply: eq_bigr => x _; rewrite expect_bind. Qed.

(* A path of drafts that can be drawn. *)
Fixpoint drawable c xs : Prop := if xs is x :: xs' then q c x != 0 /\ drawable (rcons c x) xs' else True.

Lemma draft_path_drawable g c : reached (fun xs => drawable c xs /\ size xs = g) (path g c).
Proof.
elim: g c => [|g IH] c // x qx; apply/reached_bind; apply: sub_reached (IH (rcons c x)) => xs [dxs sxs].
by rewrite /= sxs.
Qed.

Hypothesis q_dist : forall c, is_dist (q c).

Lemma draft_path_sound g c : sound (path g c).
Proof. by elim: g c => [|g IH] c //; split=> // x _; apply/sound_bind; split=> //; apply: all_reached. Qed.

Lemma draft_path_const g c (a : R) : expect (path g c) (fun=> a) = a.
Proof. by rewrite expect_const //; apply: draft_path_sound. Qed.

End Paths.

Section Chains.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Variables target draft : context -> T -> R.

(* Speculative decoding with [g] drafts (Leviathan et al. 2023, Alg. 1). *)
Definition speculative_decoding (g : nat) (c : context) : program W context :=
  @speculate W _ (@speculative W) target (@plant W _ (fun c _ => draft c) (chain_shape g) c) c.

(* One draft: accepted, or what is left of the target is drawn from. *)
Lemma speculative_decodingS g c f : expect (speculative_decoding g.+1 c) f
  = \sum_x draft c x * (Num.min 1 (target c x / draft c x) * expect (speculative_decoding g (rcons c x)) f
      + (1 - Num.min 1 (target c x / draft c x)) * \sum_y @residual W (target c) (draft c) y * f (rcons c y)).
Proof.
rewrite [LHS]/= sumE; apply: eq_bigr => x _; rewrite smallerE sumE.
by case: (eqVneq (draft c x) 0) => [->|dn0]; rewrite ?mul0r // divE.
Qed.

Hypothesis target_dist : forall c, is_dist (target c).
Hypothesis draft_dist : forall c, is_dist (draft c).

(* In sum: it is emitted, or what the target has in excess of the draft is. *)
Lemma speculative_decoding_step g c (f : context -> R) :
  expect (speculative_decoding g.+1 c) f
  = \sum_x Num.min (target c x) (draft c x) * expect (speculative_decoding g (rcons c x)) f
    + \sum_y (target c y - Num.min (target c y) (draft c y)) * f (rcons c y).
Proof.
rewrite speculative_decodingS; set rejected := \sum_y _ * f _.
have accept x : draft c x * Num.min 1 (target c x / draft c x) = Num.min (target c x) (draft c x).
  by apply: draft_accept; apply: dist_ge0.
under eq_bigr do rewrite mulrDr !mulrA accept mulrBr mulr1 accept.
rewrite big_split /= -mulr_suml sumrB (dist_sum (draft_dist c)) -/(overlap _ _); congr (_ + _).
by rewrite mulr_sumr; apply: (@eq_bigr R) => y _; rewrite mulrA (mass_residual (draft c) y (target_dist c)).
Qed.

End Chains.
