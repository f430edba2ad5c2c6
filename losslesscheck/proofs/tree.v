(* A step rule with the right law at one step has it on every tree: the theorem for step rules.

   This is what the any-vocabulary reading rests on. For a rule written as a step it establishes, from the
   rule's own text, the hypothesis [step_ok]: with what is left of the target and the draft arbitrary, the next
   token follows the law of what is left, if after a rejection it follows the residual; and every residual
   that is reached is a distribution. The theorem gives the law of the sequence on every tree. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Trees.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Variables (D : Type) (rule : @step W D).

(* The chance that the next token is [y], given the outcome of the step on a draft token. *)
Definition next_token (y : T) (o : outcome W) : R :=
  match o with Accept x => (x == y)%:R | Reject r _ => r y end.

(* A walk emits at least one token, whatever the rule. *)
Lemma walk_emits (target : context -> T -> R) t c r tried :
  reached (@emits T c) (@walk W D rule target t c r tried).
Proof.
elim: t c r tried => [|d under IHunder beside IHbeside] c r tried.
  by move=> y _; rewrite /= /emits size_rcons.
apply/reached_bind/all_reached => -[x|r' tried'] //; apply: sub_reached (IHunder x _ _ _) => e.
by apply: leq_ltn_trans; rewrite size_rcons.
Qed.

Definition step_identity (r : T -> R) (tried : seq T) (d : D) : Prop :=
  forall y, expect (rule r tried d) (next_token y) = r y.

(* How the tokens tried may grow at a rejection. *)
Variable grow : seq T -> seq T -> Prop.

Definition residual_ok (tried : seq T) (o : outcome W) : Prop :=
  match o with Accept _ => True | Reject r tried' => is_dist r /\ grow tried tried' end.

Definition step_ok (r : T -> R) (tried : seq T) (d : D) : Prop :=
  step_identity r tried d /\ reached (residual_ok tried) (rule r tried d).

(* The drafts that are admitted: distributions, or fixed tokens, or fewer siblings than tokens, ... *)
Variable admitted : seq T -> D -> Prop.

Fixpoint admissible (t : @tree W D) (tried : seq T) : Prop :=
  match t with
  | Leaf => True
  | Draft d under beside =>
    [/\ admitted tried d, forall x, admissible (under x) [::]
      & forall tried', grow tried tried' -> admissible (beside tried') tried']
  end.

Hypothesis ok : forall r tried d, is_dist r -> admitted tried d -> step_ok r tried d.

Variable target : context -> T -> R.
Hypothesis target_dist : forall c, is_dist (target c).

(* With any distribution left of the target, the next token has that law, and the rest the target's. *)
Lemma walk_law t c r tried n f : admissible t tried -> is_dist r ->
  expect (bind (@walk W D rule target t c r tried) (@finish W target n)) f
  = \sum_y r y * expect (@finish W target n (rcons c y)) f.
Proof.
elim: t c r tried => [|d under IHunder beside IHbeside] c r tried; first by rewrite /= sumE.
case=> ad adunder adbeside rd; have [identity reach] := ok rd ad.
pose g y := expect (@finish W target n (rcons c y)) f.
transitivity (expect (rule r tried d) (fun o => \sum_y next_token y o * g y)).
  rewrite expect_bind /= expect_bind; apply: (eq_expect_reached reach) => -[x _|r' tried' [r'd gr]].
    rewrite -expect_bind IHunder; [|exact: adunder|exact: target_dist].
    rewrite (finish_step target_dist n (rcons c x) f) (bigD1 x) //= eqxx mul1r big1 ?addr0 // => y yx.
    by rewrite eq_sym (negbTE yx) mul0r.
  by rewrite -expect_bind IHbeside //; apply: adbeside.
rewrite expect_sum; apply: eq_bigr => y _.
rewrite (eq_expect _ (g := fun o => g y * next_token y o)) => [|o]; last by rewrite mulrC.
by rewrite expectZ identity mulrC.
Qed.

Theorem tree_lossless t c : admissible t [::] -> lossless target (@speculate W D rule target t c) c.
Proof. by move=> ad n f; rewrite walk_law // finish_step. Qed.

End Trees.
