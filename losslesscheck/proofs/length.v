(* How many tokens a step of speculative decoding emits, and when that pays.

   The number is read off the walk of walk.v on a chain of drafts, and is not an assumption about it: what
   Leviathan et al. (2023) take as the chance that a draft is accepted is the overlap of the target and the
   draft, the sum of min(p, q). Their Eq. 1, Theorem 3.8 and Corollary 3.9 follow. They assume that acceptances
   are i.i.d. with mean alpha; here the overlap is alpha at every context, or depends on the position alone. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk rules step chain.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Walltime.
Variable R : realFieldType.
Implicit Types a c : R.

Lemma geometric a g : a != 1 -> \sum_(i < g) a ^+ i = (1 - a ^+ g) / (1 - a).
Proof.
move=> a1; have an1 : 1 - a != 0 by rewrite subr_eq0 eq_sym.
by rewrite -(opprB (a ^+ g)) subrX1 -mulNr opprB mulrAC mulfV // mul1r.
Qed.

(* Tokens per unit of time, where a run of the target takes 1 and a run of the drafter [c], and [a] is the
   chance that a draft is accepted: by how much [g] drafts are faster than plain decoding, which emits one token
   per run of the target. That the tokens are so many is [expected_improvement]. *)
Definition improvement a (g : nat) c : R := (\sum_(i < g.+1) a ^+ i) / (g%:R * c + 1).

Lemma cost_gt0 g c : 0 <= c -> 0 < g%:R * c + 1.
Proof. by move=> c0; rewrite ltr_paddl ?mulr_ge0 ?ler0n ?ltr01. Qed.

(* As in Leviathan et al. 2023, Theorem 3.8. *)
Theorem improvement_closed a g c : a != 1 ->
  improvement a g c = (1 - a ^+ g.+1) / ((1 - a) * (g%:R * c + 1)).
Proof. by move=> a1; rewrite /improvement geometric // invfM mulrA. Qed.

Lemma improvement_gt1 a g c : 0 <= c -> (1 < improvement a g c) = (g%:R * c < \sum_(i < g) a ^+ i.+1).
Proof. by move=> c0; rewrite ltr_pdivl_mulr ?cost_gt0 // mul1r big_ord_recl expr0 addrC ltr_add2l. Qed.

(* Each draft adds at most the chance that the first one is accepted. *)
Lemma sum_powers_le a g : 0 <= a <= 1 -> \sum_(i < g) a ^+ i.+1 <= g%:R * a.
Proof.
case/andP=> a0 a1; rewrite mulr_natl -[X in a *+ X]card_ord -sumr_const.
by apply: ler_sum => i _; rewrite exprS ler_pimulr // exprn_ile1.
Qed.

(* Leviathan et al. 2023, Corollary 3.9: some number of drafts pays if and only if the acceptance exceeds the
   cost of a draft, ... *)
Theorem corollary_3_9 a c : 0 <= a <= 1 -> 0 <= c -> (exists g, 1 < improvement a g c) <-> c < a.
Proof.
move=> a01 c0; split=> [[g]|ca]; last by exists 1%N; rewrite improvement_gt1 // big_ord1 mul1r.
rewrite improvement_gt1 // => /lt_le_trans/(_ (sum_powers_le g a01)).
by case: g => [|g]; rewrite ?mul0r ?ltxx // ltr_pmul2l ?ltr0n.
Qed.

(* ... and then one draft gives an improvement of (1 + a) / (1 + c). *)
Theorem corollary_3_9_factor a c : 0 <= c -> c < a ->
  improvement a 1 c = (1 + a) / (1 + c) /\ 1 < improvement a 1 c.
Proof.
move=> c0 ca; split; last by rewrite improvement_gt1 // big_ord1 mul1r.
by rewrite /improvement big_ord_recl big_ord1 mul1r (addrC c).
Qed.

(* If [g] drafts pay, then any smaller number does, down to one; the proof of Corollary 3.9 uses it. *)
Theorem improvement_monotone a c g g' : 0 <= a <= 1 -> 0 <= c -> (0 < g' <= g)%N ->
  1 < improvement a g c -> 1 < improvement a g' c.
Proof.
move=> /andP[a0 a1] c0 /andP[g'0]; elim: g => [|g IH]; first by rewrite leqn0 => /eqP ->.
rewrite leq_eqVlt ltnS => /orP[/eqP -> //|g'g] pays; apply: IH => //.
move: pays; rewrite !improvement_gt1 // => pays; rewrite ltNge; apply/negP => loss.
have loses : a ^+ g.+1 <= c.
  have : g%:R * a ^+ g.+1 <= g%:R * c.
    apply: le_trans loss; rewrite mulr_natl -[X in _ *+ X]card_ord -sumr_const.
    by apply: ler_sum => i _; rewrite ler_wiexpn2l // ltnS ltnW.
  by rewrite ler_pmul2l // ltr0n (leq_trans g'0).
by move: pays; rewrite big_ord_recr /= mulrSr mulrDl mul1r ltNge => /negP; apply; rewrite ler_add.
Qed.

End Walltime.

Section Length.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Variables target draft : context -> T -> R.
Hypothesis target_dist : forall c, is_dist (target c).
Hypothesis draft_dist : forall c, is_dist (draft c).
Implicit Types (c xs : context) (alpha : R).
Notation decoding := (@speculative_decoding R T undefined target draft).

(* The chances that a path of drafts is accepted up to its first token, its second, ...: the products of
   min(1, p/q), here times [weight]. *)
Fixpoint products (c : context) (weight : R) (xs : seq T) : seq R :=
  if xs is x :: xs' then
    let weight' := weight * Num.min 1 (target c x / draft c x) in
    weight' :: products (rcons c x) weight' xs'
  else [::].

Lemma sum_products c weight xs : \sum_(w <- products c weight xs) w = weight * \sum_(w <- products c 1 xs) w.
Proof.
elim: xs c weight => [|x xs IH] c weight /=; first by rewrite !big_nil mulr0.
by rewrite !big_cons mul1r IH [in RHS]IH mulrDr mulrA.
Qed.

(* The expected number of drafts that are accepted, if all [g] are drawn first. *)
Definition expected_products (g : nat) (c : context) : R :=
  expect (@draft_path W draft g c) (fun xs => \sum_(w <- products c 1 xs) w).

Lemma expected_products_step g c :
  expected_products g.+1 c
  = \sum_x Num.min (target c x) (draft c x) * (1 + expected_products g (rcons c x)).
Proof.
rewrite /expected_products expect_draft_path; apply: eq_bigr => x _.
rewrite -draft_accept; [|exact: dist_ge0 (target_dist c)|exact: dist_ge0 (draft_dist c)].
rewrite -mulrA; congr (_ * _); set a := Num.min 1 _.
rewrite (eq_expect _ (g := fun xs => a * (1 + \sum_(w <- products (rcons c x) 1 xs) w))) => [|xs].
  by rewrite expectZ expectD draft_path_const.
by rewrite /= big_cons mul1r -/a sum_products mulrDr mulr1.
Qed.

Lemma speculative_decoding_size g c k : (k <= (size c).+1)%N ->
  expect (decoding g c) (fun e => (size e - k)%:R)
  = ((size c).+1 - k)%:R + expected_products g c :> R.
Proof.
elim: g c => [|g IH] c kc.
  rewrite /expected_products [X in _ + X]/= big_nil addr0 [LHS]/= sumE.
  under eq_bigr do rewrite size_rcons.
  by rewrite -mulr_suml (dist_sum (target_dist c)) mul1r.
rewrite (speculative_decoding_step target_dist draft_dist) expected_products_step.
under eq_bigr do rewrite IH size_rcons ?(leqW kc) // subSn // mulrSr -addrA mulrDr.
under [X in _ + X]eq_bigr do rewrite size_rcons.
rewrite big_split /= -!mulr_suml sumrB (dist_sum (target_dist c)) -/(overlap _ _) addrAC; congr (_ + _).
by rewrite -mulrDl addrC subrK mul1r.
Qed.

(* The expected number of drafts accepted, token by token: the sum over the positions of the chance that the
   drafts up to there are accepted. One token more than the accepted drafts is emitted. *)
Theorem expected_drafts g c :
  expect (decoding g c) (fun e => (size e - (size c).+1)%:R)
  = expect (@draft_path W draft g c) (fun xs => \sum_(w <- products c 1 xs) w).
Proof. by rewrite speculative_decoding_size // subnn add0r. Qed.

Lemma expected_products_depth (alpha : nat -> R) g c :
  (forall xs, overlap (target (c ++ xs)) (draft (c ++ xs)) = alpha (size xs)) ->
  1 + expected_products g c = \sum_(i < g.+1) \prod_(j < i) alpha j.
Proof.
elim: g alpha c => [|g IH] alpha c H.
  by rewrite big_ord1 big_ord0 /expected_products /= big_nil addr0.
have after_x x : 1 + expected_products g (rcons c x) = \sum_(i < g.+1) \prod_(j < i) alpha j.+1.
  by apply: (IH (fun j => alpha j.+1)) => xs; rewrite cat_rcons H.
have := H [::]; rewrite cats0 /= => H0.
rewrite expected_products_step big_ord_recl big_ord0; congr (_ + _).
under eq_bigr do rewrite after_x; rewrite -mulr_suml -/(overlap _ _) H0 mulr_sumr.
by apply: eq_bigr => i _; rewrite [RHS]big_ord_recl.
Qed.

(* The acceptance may depend on the position of the draft: 1 + a0 + a0 a1 + ... tokens are emitted. *)
Theorem expected_tokens_vector (alpha : nat -> R) g c :
  (forall xs, overlap (target (c ++ xs)) (draft (c ++ xs)) = alpha (size xs)) ->
  expect (decoding g c) (fun e => (size e - size c)%:R)
  = \sum_(i < g.+1) \prod_(j < i) alpha j.
Proof. by move=> H; rewrite speculative_decoding_size // subSnn; apply: expected_products_depth. Qed.

(* Leviathan et al. 2023, Eq. 1: the expected number of tokens that one step emits. *)
Theorem expected_tokens alpha g c : (forall c', overlap (target c') (draft c') = alpha) ->
  expect (decoding g c) (fun e => (size e - size c)%:R) = \sum_(i < g.+1) alpha ^+ i.
Proof.
move=> H; rewrite (expected_tokens_vector (alpha := fun=> alpha)) => [|xs]; last exact: H.
by apply: eq_bigr => i _; rewrite prodr_const card_ord.
Qed.

Theorem expected_tokens_closed alpha g c : alpha != 1 ->
  (forall c', overlap (target c') (draft c') = alpha) ->
  expect (decoding g c) (fun e => (size e - size c)%:R) = (1 - alpha ^+ g.+1) / (1 - alpha).
Proof. by move=> a1 H; rewrite (expected_tokens _ _ H) geometric. Qed.

(* Leviathan et al. 2023, Theorem 3.8: the expected improvement in walltime. *)
Theorem expected_improvement alpha g c cost : (forall c', overlap (target c') (draft c') = alpha) ->
  expect (decoding g c) (fun e => (size e - size c)%:R) / (g%:R * cost + 1)
  = improvement alpha g cost.
Proof. by move=> H; rewrite (expected_tokens _ _ H). Qed.

End Length.
