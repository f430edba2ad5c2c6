(* Multi-step speculative sampling rejects all drafts of a node no more often than naive sampling does.

   This is why the drafts at a node are tried one after the other. Naive sampling draws from the target, and
   sees whether the token is among the drafts. Both are lossless, so that the chance to emit a draft is what
   they compete for. (Miao et al. 2023, Theorem 4.3.) *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk rules step chain.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Rejection.
Variables (R : realFieldType) (T : finType).
Notation W := (real R T).
Implicit Types (p q : T -> R) (x y : T) (xs tried : seq T).

(* One node with [k] drafts from [q]: the first one accepted, or what is left of [p] after all of them. *)
Fixpoint multi_step_node (k : nat) q p tried : program W (outcome W) :=
  if k is k'.+1 then
    bind (@speculative W p tried q) (fun o =>
      match o with
      | Accept x => Return (Accept x)
      | Reject r tried' => multi_step_node k' q r tried'
      end)
  else Return (Reject (p : vector W) tried).

Definition rejected (o : outcome W) : R := if o is Reject _ _ then 1 else 0.

(* The same node for naive sampling: [k] drafts drawn independently from [q]. *)
Definition naive_node (k : nat) q p : program W (decision W) :=
  bind (@draft_path W (fun=> q) k [::]) (fun xs => @naive_sampling W p xs).

Definition stopped (d : decision W) : R := if d is Stop _ then 1 else 0.

(* The first is what the walk does at a node with [k] drafts and nothing below them. *)
Lemma multi_step_walk (target : seq T -> T -> R) k q c (f : seq T -> R) :
  expect (@speculate W _ (@speculative W) target
            (@plant W _ (fun _ _ => q) (Shape (nseq k (Shape [::]))) c) c) f
  = expect (multi_step_node k q (target c) [::]) (fun o =>
      match o with
      | Accept x => \sum_y target (rcons c x) y * f (rcons (rcons c x) y)
      | Reject r _ => \sum_y r y * f (rcons c y)
      end).
Proof.
pose ending o : R := match o with
  | Accept x => \sum_y target (rcons c x) y * f (rcons (rcons c x) y)
  | Reject r _ => \sum_y r y * f (rcons c y)
  end.
suff walkE before r tried :
    expect (@walk W _ (@speculative W) target
              (@plant_siblings W _ (fun _ _ => q) c (nseq k (Shape [::])) before) c r tried) f
    = expect (multi_step_node k q r tried) ending by exact: walkE.
elim: k before r tried => [|k IH] before r tried; first by rewrite /= sumE.
by rewrite [LHS]/= [RHS]/= !sumE; apply: eq_bigr => x _; rewrite sumE IH.
Qed.

(* What is left of [p] after [i] rejections. *)
Definition left_over q p (i : nat) : T -> R := iter i (fun r => @residual W r q : T -> R) p.

Lemma left_over_step k p q :
  \prod_(i < k.+1) (1 - overlap (left_over q p i) q)
  = (1 - overlap p q) * \prod_(i < k) (1 - overlap (left_over q (@residual W p q) i) q).
Proof. by rewrite big_ord_recl; congr (_ * _); apply: eq_bigr => i _; rewrite /left_over -iterSr. Qed.

(* Multi-step: all drafts are rejected with the product of what the residuals and the draft do not overlap. *)
Theorem multi_step_rejection k p q tried : (forall x, 0 <= p x) -> is_dist q ->
  expect (multi_step_node k q p tried) rejected = \prod_(i < k) (1 - overlap (left_over q p i) q).
Proof.
move=> + qd; elim: k p tried => [|k IH] p tried p0; first by rewrite big_ord0.
set E := \prod_(i < k) (1 - overlap (left_over q (@residual W p q) i) q).
transitivity (\sum_x q x * (1 - Num.min 1 (p x / q x)) * E).
  rewrite [LHS]/= sumE; apply: eq_bigr => x _; rewrite -mulrA smallerE mulr0 add0r IH //.
  exact: residual_ge0.
rewrite -mulr_suml left_over_step; congr (_ * _).
under eq_bigr do rewrite mulrBr mulr1 draft_accept ?(dist_ge0 _ qd) //.
by rewrite sumrB (dist_sum qd).
Qed.

Lemma naive_stop p xs : expect (@naive_sampling W p xs) stopped = \sum_y p y * (y \notin xs)%:R.
Proof. by rewrite [LHS]/= sumE; apply: eq_bigr => y _; case: (y \in xs). Qed.

Lemma all_other q k c y : is_dist q ->
  expect (@draft_path W (fun=> q) k c) (fun xs => (y \notin xs)%:R) = (1 - q y) ^+ k.
Proof.
move=> qd; elim: k c => [|k IH] c //; rewrite expect_draft_path (bigD1 y) //=.
transitivity (q y * 0 + \sum_(x | x != y) q x * (1 - q y) ^+ k).
  congr (_ * _ + _).
    rewrite (eq_expect _ (g := fun=> 0)) => [|xs]; first by rewrite draft_path_const.
    by rewrite in_cons eqxx.
  apply: eq_bigr => x xy; rewrite -(IH (rcons c x)); congr (_ * _); apply: eq_expect => xs.
  by rewrite in_cons eq_sym (negbTE xy).
rewrite mulr0 add0r -mulr_suml exprS; congr (_ * _).
by apply/esym/eqP; rewrite subr_eq -(dist_sum qd) (bigD1 y) //= addrC.
Qed.

(* Naive sampling: the target's token is none of the drafts. *)
Theorem naive_rejection k p q : is_dist q ->
  expect (naive_node k q p) stopped = \sum_y p y * (1 - q y) ^+ k.
Proof.
move=> qd; rewrite /naive_node expect_bind.
under [LHS]eq_expect do rewrite naive_stop.
rewrite expect_sum; apply: eq_bigr => y _.
by rewrite expectZ all_other.
Qed.

(* Miao et al. 2023, Theorem 4.3: multi-step rejects all drafts at most as often as naive sampling, for any
   number of drafts drawn independently from one distribution. *)
Theorem rejection_bound k p q tried : is_dist p -> is_dist q ->
  expect (multi_step_node k q p tried) rejected <= expect (naive_node k q p) stopped.
Proof.
move=> pd qd; have p0 x : 0 <= p x by apply: dist_ge0 pd.
rewrite multi_step_rejection // naive_rejection //.
have q0 x : 0 <= 1 - q x by rewrite subr_ge0 dist_le1.
elim: k p pd p0 => [|k IH] p pd p0.
  by rewrite big_ord0; under eq_bigr do rewrite expr0 mulr1; rewrite (dist_sum pd).
have z_ge0 : 0 <= 1 - overlap p q by rewrite -part_sum //; apply: sumr_ge0 => y _; apply: part_ge0.
rewrite left_over_step.
apply: (@le_trans _ _ (\sum_y (p y - Num.min (p y) (q y)) * (1 - q y) ^+ k)); last first.
  apply: ler_sum => y _; rewrite exprS mulrA ler_wpmul2r ?exprn_ge0 // mulrBr mulr1 ler_sub // le_minr.
  by rewrite ler_pimulr ?ler_pimull ?(dist_le1 y qd) ?(dist_le1 y pd) ?(dist_ge0 y qd).
case: (eqVneq (1 - overlap p q) 0) => [z0|zn0].
  by rewrite z0 mul0r; apply: sumr_ge0 => y _; rewrite mulr_ge0 ?exprn_ge0 // subr_ge0 le_minl lexx.
have rd : is_dist (@residual W p q) by apply: (norm_dist (part_ge0 p q)); rewrite part_sum.
apply: le_trans (ler_wpmul2l z_ge0 (IH _ rd (fun x => residual_ge0 p q x))) _.
by rewrite mulr_sumr; apply: ler_sum => y _; rewrite mulrA (mass_residual q y pd).
Qed.

End Rejection.
