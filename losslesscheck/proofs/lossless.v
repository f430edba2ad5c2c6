(* What lossless means, and first consequences. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Lossless.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).

(* [next c] is the law of the token after [c] that is to be reproduced: the target's, or for a greedy rule
   the point mass at the target's best token. *)
Variable next : context -> T -> R.
Hypothesis next_dist : forall c, is_dist (next c).

(* A step at context [c] is lossless if the first [n] tokens, when plain decoding goes on after it, have the
   law that plain decoding alone gives them: for every length [n] and every test function [f].

   This is about one step, completed by plain decoding. A generator never decodes so: it takes another step.
   [generation_lossless] below removes the completion.

   And it is an equation between expected values, that is of sums of weights. That the weights are probabilities
   is another matter, and is proved in soundness.v (in block.v of block verification, in texts_sound.v of the
   translated texts). *)
Definition lossless (law : program W context) (c : context) : Prop :=
  forall (n : nat) (f : context -> R),
    expect (bind law (@finish W next n)) f = expect (@finish W next n c) f.

(* Whether a program is lossless is a matter of its law. *)
Lemma eq_lossless (law law' : program W context) c :
  (forall f, expect law f = expect law' f) -> lossless law c -> lossless law' c.
Proof. by move=> e H n f; rewrite -H [LHS]expect_bind [RHS]expect_bind e. Qed.

Lemma finish_short n c : (n <= size c)%N -> @finish W next n c = Return (take n c).
Proof. by rewrite /finish -subn_eq0 => /eqP ->. Qed.

Lemma finish_next n c f : (size c < n)%N ->
  expect (@finish W next n c) f = \sum_y next c y * expect (@finish W next n (rcons c y)) f.
Proof.
move=> cn; rewrite /finish -subnSK // take_oversize ?(ltnW cn) // [LHS]/= sumE.
by apply: eq_bigr => y _; rewrite size_rcons take_oversize ?size_rcons.
Qed.

(* One more token of plain decoding changes nothing. *)
Lemma finish_step n c f :
  \sum_y next c y * expect (@finish W next n (rcons c y)) f = expect (@finish W next n c) f.
Proof.
case: (ltnP (size c) n) => [/finish_next -> //|nc].
rewrite finish_short //= -[RHS]mul1r -(dist_sum (next_dist c)) mulr_suml; apply: eq_bigr => y _.
by rewrite finish_short ?size_rcons ?(leq_trans nc) //= -cats1 takel_cat.
Qed.

(* Any number of lossless steps, one after the other, is lossless: the generation loop. *)
Fixpoint rounds (law : context -> program W context) (k : nat) (c : context) : program W context :=
  if k is k'.+1 then bind (law c) (rounds law k') else Return c.

Theorem rounds_lossless law : (forall c, lossless (law c) c) -> forall k c, lossless (rounds law k c) c.
Proof.
move=> H; elim=> [|k IH] c n f //=.
rewrite !expect_bind -[RHS]H expect_bind; apply: eq_expect => e.
by rewrite -IH expect_bind.
Qed.

(* At least one token after [c]. *)
Definition emits (c e : context) : Prop := (size c < size e)%N.

Lemma rounds_emit (law : context -> program W context) k c :
  (forall c, reached (emits c) (law c)) -> reached (fun e => (size c + k <= size e)%N) (rounds law k c).
Proof.
move=> some; elim: k c => [|k IH] c; first by rewrite /= addn0.
apply/reached_bind; apply: sub_reached (some c) => e ce; apply: sub_reached (IH e) => e'.
by apply: leq_trans; rewrite addnS -addSn leq_add2r.
Qed.

(* Generation with lossless steps only, and no plain decoding anywhere: if every step emits at least one token,
   then the first [n] tokens after [c] that [n] steps emit (they emit at least as many) have exactly the law of
   plain decoding. *)
Theorem generation_lossless law n c f :
  (forall c, lossless (law c) c) -> (forall c, reached (emits c) (law c)) ->
  expect (rounds law n c) (fun e => f (take (size c + n) e)) = expect (@decode W next n c) f.
Proof.
move=> ll some; have := rounds_lossless ll n c (size c + n)%N f.
rewrite expect_bind [in RHS]/finish addKn take_oversize ?leq_addr // => <-.
by apply: (eq_expect_reached (rounds_emit n c some)) => e enough; rewrite finish_short.
Qed.

(* The joint law of [w]: the product of its tokens' probabilities. *)
Fixpoint joint (c w : context) : R := if w is y :: w' then next c y * joint (rcons c y) w' else 1.

Lemma decode_joint w c : expect (@decode W next (size w) c) (fun e => (e == c ++ w)%:R) = joint c w.
Proof.
elim: w c => [|y w IH] c; first by rewrite /= cats0 eqxx.
rewrite [LHS]/= sumE (bigD1 y) //= -cat_rcons IH big1 ?addr0 // => z zy.
suff H m e : (forall u, e ++ u != rcons c y ++ w) ->
    expect (@decode W next m e) (fun e' => (e' == rcons c y ++ w)%:R) = 0 :> R.
  rewrite H ?mulr0 // => u; rewrite !cat_rcons; apply: contra zy => /eqP/(congr1 (drop (size c))).
  by rewrite !drop_size_cat // => -[->].
elim: m e => [|m IHm] e He; first by have := He [::]; rewrite cats0 /= => /negbTE ->.
by rewrite [LHS]/= sumE big1 // => u _; rewrite IHm ?mulr0 // => v; rewrite -cats1 -catA; apply: He.
Qed.

(* The first tokens after [c] of a lossless step, continued, have the joint law of the target. *)
Theorem lossless_joint law c w : lossless law c ->
  expect (bind law (@finish W next (size c + size w))) (fun e => (e == c ++ w)%:R) = joint c w.
Proof. by move=> H; rewrite H /finish addKn take_oversize ?leq_addr // decode_joint. Qed.

End Lossless.
