(* The step rules of the papers have the step identity: one draft token is judged without bias.

   The papers prove this by cases on p(x) <= q(x), for p the target at a context. Here p is whatever is left
   of the target, after any number of siblings; that is the hypothesis [step_ok] of tree.v, so that each rule
   is lossless on every tree (instances.v). Where the rejection has probability 0 its residual is 0/0,
   whatever that may be, and the identity holds all the same. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk tree rules.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* How the step rules let the tokens tried grow: by the token that was rejected. *)
Definition grows (T : Type) (tried tried' : seq T) : Prop := exists x, tried' = rcons tried x.

(* The draft without replacement: off the tokens drawn before it, or uniform where that leaves nothing. *)
Definition redrafted (W : world) (tried : seq (token W)) (q : vector W) : vector W :=
  norm_or (without q tried) (uniform_without tried).

Section Steps.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Implicit Types (p q v : T -> R) (x y t : T) (tried : seq T).

(* How much of one the other covers: the chance that a draft from q is accepted (speculative_acceptance). *)
Definition overlap p q : R := \sum_x Num.min (p x) (q x).

(* Drawn with probability b and accepted with min(1, a / b): the smaller of both, even where b is 0. *)
Lemma draft_accept (a b : R) : 0 <= a -> 0 <= b -> b * Num.min 1 (a / b) = Num.min a b.
Proof.
move=> a0 b0; case: (eqVneq b 0) => [->|bn0]; first by rewrite mul0r min_r.
by rewrite minr_pmulr // mulr1 mulrCA mulfV // mulr1 minC.
Qed.

(* What is left of a target: the part of p that q does not cover. *)
Section Residual.
Variables p q : T -> R.

Let part : T -> R := @positive_part W (@minus W p q).

Lemma partE x : part x = p x - Num.min (p x) (q x).
Proof.
rewrite [LHS]reluE /=; case: (leP (p x) (q x)) => [h|/ltW h].
  by rewrite subrr max_l // subr_le0.
by rewrite max_r // subr_ge0.
Qed.

Lemma part_ge0 x : 0 <= part x.
Proof. by rewrite partE subr_ge0 le_minl lexx. Qed.

Lemma part_sum : is_dist p -> \sum_x part x = 1 - overlap p q.
Proof. by move=> pd; rewrite -(dist_sum pd) -sumrB; apply: eq_bigr => x _; rewrite partE. Qed.

Lemma mass_residual y : is_dist p ->
  (1 - overlap p q) * @residual W p q y = p y - Num.min (p y) (q y).
Proof. by move=> pd; rewrite -part_sum // (mass_norm y part_ge0) partE. Qed.

(* The residual is a distribution if any token can be rejected. *)
Lemma residual_dist x : is_dist p -> is_dist q -> p x < q x -> is_dist (@residual W p q).
Proof.
move=> pd qd px; apply: (norm_dist part_ge0); rewrite part_sum // subr_eq0 eq_sym.
rewrite -(dist_sum qd) -subr_eq0 -opprB oppr_eq0 -sumrB gt_eqF // (bigD1 x) //=.
apply: ltr_paddr; last by rewrite min_l ?ltW // subr_gt0.
by apply: sumr_ge0 => y _; rewrite subr_ge0 le_minl lexx orbT.
Qed.

Lemma reject_less x : is_dist q -> q x != 0 -> 1 - Num.min 1 (p x / q x) != 0 -> p x < q x.
Proof.
move=> qd qn0; have q0 : 0 < q x by rewrite lt_def qn0 dist_ge0.
case: (leP 1 (p x / q x)) => [_|]; first by rewrite subrr eqxx.
by rewrite ltr_pdivr_mulr // mul1r.
Qed.

End Residual.

Lemma expect_speculative p tried q (f : outcome W -> R) :
  expect (@speculative W p tried q) f
  = \sum_x q x * (Num.min 1 (p x / q x) * f (@Accept W x)
                  + (1 - Num.min 1 (p x / q x)) * f (@Reject W (@residual W p q) (rcons tried x))).
Proof.
rewrite /speculative expect_draw; apply: eq_bigr => x _; rewrite [expect _ _]/= smallerE.
by case: (eqVneq (q x) 0) => [->|qn0]; rewrite ?mul0r // divE.
Qed.

(* One step of speculative sampling is unbiased (Leviathan et al. 2023, App. A.1; Chen et al. 2023, Thm 1;
   Miao et al. 2023, Thm 4.2, its one step). *)
Theorem speculative_identity p tried q :
  is_dist p -> is_dist q -> step_identity (@speculative W) p tried q.
Proof.
move=> pd qd y; rewrite expect_speculative.
transitivity (\sum_x Num.min (p x) (q x) * (x == y)%:R
              + (\sum_x (q x - Num.min (p x) (q x))) * @residual W p q y).
  rewrite mulr_suml -big_split; apply: eq_bigr => x _.
  by rewrite mulrDr !mulrA mulrBr mulr1 draft_accept ?dist_ge0.
by rewrite sum_at sumrB (dist_sum qd) mass_residual // addrC subrK.
Qed.

(* And a residual that is reached is a distribution: the step can be repeated. *)
Theorem speculative_step_ok p tried q :
  is_dist p -> is_dist q -> step_ok (@speculative W) (@grows T) p tried q.
Proof.
move=> pd qd; split=> [|x qn0]; first exact: speculative_identity.
split=> // rejected; split; last by exists x.
by move: rejected; rewrite smallerE divE // => /(reject_less qd qn0); apply: residual_dist.
Qed.

(* Its coins have probabilities in [0, 1], and it draws from distributions. *)
Theorem speculative_sound p tried q : is_dist p -> is_dist q -> sound (@speculative W p tried q).
Proof.
move=> pd qd; split=> // x qn0; split=> //.
by rewrite smallerE divE // le_minr ler01 divr_ge0 ?dist_ge0 //= le_minl lexx.
Qed.

Definition accepted (o : outcome W) : R := if o is Accept _ then 1 else 0.

(* The draft token is accepted with probability sum_x min(p(x), q(x)) (Leviathan et al. 2023, Thm 3.5 with
   Lemma 3.3). That no unbiased step accepts more often is [acceptance_optimal] in necessity.v. *)
Theorem speculative_acceptance p tried q : is_dist p -> is_dist q ->
  expect (@speculative W p tried q) accepted = overlap p q.
Proof.
move=> pd qd; rewrite expect_speculative; apply: eq_bigr => x _.
by rewrite mulr1 mulr0 addr0 draft_accept ?dist_ge0.
Qed.

(* The total variation distance of two distributions. *)
Definition total_variation p q : R := (\sum_x `|p x - q x|) / 2%:R.

(* The same, as 1 - TV(p, q): their divergence D_LK is the total variation (Leviathan et al. 2023, Def. 3.2
   and Thm 3.5). *)
Theorem speculative_acceptance_tv p tried q : is_dist p -> is_dist q ->
  expect (@speculative W p tried q) accepted = 1 - total_variation p q.
Proof.
move=> pd qd; rewrite speculative_acceptance // /total_variation.
have -> : \sum_x `|p x - q x| = 2%:R * (1 - overlap p q).
  rewrite mulr_natl mulr2n -{1}(dist_sum pd) -(dist_sum qd) -!sumrB -big_split /=.
  apply: eq_bigr => x _; case: (leP (p x) (q x)) => [h|/ltW h].
    by rewrite ler0_norm ?subr_le0 // opprB subrr add0r.
  by rewrite ger0_norm ?subr_ge0 // subrr addr0.
by rewrite mulrC mulKf ?pnatr_eq0 // subKr.
Qed.

(* A fixed token t in place of a drawn one, accepted with p(t); else what is left is p off t. It is speculative
   sampling on a draft that is a point mass (Miao et al. 2023, Alg. 2; as in REST and EAGLE-2). *)
Section PointMass.
Variables (p : T -> R) (t : T).
Hypothesis pd : is_dist p.

Let rest : T -> R := @without W p [:: t].

Let rest_ge0 x : 0 <= rest x.
Proof. by apply: without_ge0 => y; apply: dist_ge0. Qed.

Let rest_sum : \sum_x rest x = 1 - p t.
Proof. by rewrite without_one (dist_sum pd). Qed.

Lemma point_mass_identity tried : step_identity (@point_mass W) p tried t.
Proof.
move=> y; rewrite /point_mass expect_flip /= -rest_sum (mass_norm y rest_ge0) /rest /without /= inE.
by rewrite eq_sym; case: eqP => [->|_]; rewrite ?mulr1 ?addr0 // mulr0 add0r.
Qed.

(* It is unbiased, and its residual a distribution where it is reached, whether t was tried or not. *)
Theorem point_mass_step_ok tried : step_ok (@point_mass W) (@grows T) p tried t.
Proof.
split; first exact: point_mass_identity.
split=> // rejected; split; last by exists t.
by apply: (norm_dist rest_ge0); rewrite rest_sum.
Qed.

Theorem point_mass_sound tried : sound (@point_mass W p tried t).
Proof. by split; first by rewrite dist_ge0 // dist_le1. Qed.

End PointMass.

(* As long as fewer siblings are tried than there are tokens, some token is untried. *)
Lemma few_untried tried : (size tried < #|T|)%N -> (size (undup tried) < #|T|)%N.
Proof. exact: leq_ltn_trans (size_undup _). Qed.

(* Drafts without replacement (Chen et al. 2024, Sequoia; Jeon et al. 2024, RSD): as long as any token is
   untried, what is drafted is a distribution, and the step is speculative sampling on it. The tokens tried
   may be any, and so may the support of q. *)
Section WithoutReplacement.
Variables (q : T -> R) (tried : seq T).
Hypotheses (qd : is_dist q) (untried : (size (undup tried) < #|T|)%N).

Lemma redrafted_dist : is_dist (@redrafted W tried q).
Proof.
rewrite /redrafted /norm_or [(_ <= _)%rule]/= sumE /uniform_without.
case: leP => [_|pos]; last first.
  by apply: norm_dist => [x|]; [apply: without_ge0 => y; apply: dist_ge0 | rewrite gt_eqF].
apply: norm_dist => [x|]; first by apply: without_ge0 => y; apply: ler01.
have [x xtried] : exists x, x \notin tried.
  apply/existsP; rewrite -negb_forall; apply: contraL untried => /forallP all_tried.
  rewrite -leqNgt cardE; apply: uniq_leq_size => [|x _]; first exact: enum_uniq.
  by rewrite mem_undup.
rewrite gt_eqF // (bigD1 x) //= (negbTE xtried) ltr_paddr ?ltr01 //.
by apply: sumr_ge0 => y _; case: ifP => _; rewrite ?ler01.
Qed.

Theorem without_replacement_step_ok p :
  is_dist p -> step_ok (@without_replacement W) (@grows T) p tried q.
Proof. by move=> pd; apply: speculative_step_ok => //; apply: redrafted_dist. Qed.

Theorem without_replacement_sound p : is_dist p -> sound (@without_replacement W p tried q).
Proof. by move=> pd; apply: speculative_sound => //; apply: redrafted_dist. Qed.

End WithoutReplacement.

End Steps.
