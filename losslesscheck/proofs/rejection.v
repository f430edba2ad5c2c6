(* Multi-step speculative sampling rejects all drafts of a node no more often than naive sampling does.

   This is why the drafts at a node are tried one after the other. Naive sampling draws from the target, and
   sees whether the token is among the drafts. Both are lossless, so that the chance to emit a draft is what
   they compete for. (Miao et al. 2023, Theorem 4.3.) Each draft may come from a distribution of its own, as
   where several small models draft; the theorems on [k] drafts from one distribution are the instances. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk rules step.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Rejection.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation all_dist := (in_all (@is_dist R T)).
Implicit Types (p q : T -> R) (qs : seq (T -> R)) (x y : T) (xs tried : seq T).

(* One node with a draft from each of [qs]: the first one accepted, or what is left of [p] after all of them. *)
Fixpoint multi_step_node qs p tried : program W (outcome W) :=
  if qs is q :: qs' then
    bind (@speculative W p tried q) (fun o =>
      match o with
      | Accept x => Return (Accept x)
      | Reject r tried' => multi_step_node qs' r tried'
      end)
  else Return (Reject (p : vector W) tried).

Definition rejected (o : outcome W) : R := if o is Reject _ _ then 1 else 0.

(* The same node for naive sampling, with the drafts drawn independently. *)
Fixpoint draw_each qs : program W (seq T) :=
  if qs is q :: qs' then
    @Draw W _ q (fun x => bind (draw_each qs') (fun xs => Return (x :: xs)))
  else Return [::].

Definition naive_node qs p : program W (decision W) :=
  bind (draw_each qs) (fun xs => @naive_sampling W p xs).

Definition stopped (d : decision W) : R := if d is Stop _ then 1 else 0.

(* The first is what the walk does at a node with nothing below the drafts. *)
Lemma multi_step_walk (target : seq T -> T -> R) q0 qs c (f : seq T -> R) :
  expect (@speculate W _ (@speculative W) target
            (@plant W _ (fun _ tried => nth q0 qs (size tried)) (Shape (nseq (size qs) (Shape [::]))) c) c) f
  = expect (multi_step_node qs (target c) [::]) (fun o =>
      match o with
      | Accept x => \sum_y target (rcons c x) y * f (rcons (rcons c x) y)
      | Reject r _ => \sum_y r y * f (rcons c y)
      end).
Proof.
pose ending o : R := match o with
  | Accept x => \sum_y target (rcons c x) y * f (rcons (rcons c x) y)
  | Reject r _ => \sum_y r y * f (rcons c y)
  end.
suff walkE rest r tried : drop (size tried) qs = rest ->
    expect (@walk W _ (@speculative W) target
              (@plant_siblings W _ (fun _ before => nth q0 qs (size before)) c
                 (nseq (size rest) (Shape [::])) tried) c r tried) f
    = expect (multi_step_node rest r tried) ending by apply: walkE; rewrite drop0.
elim: rest r tried => [|q rest IH] r tried at_tried; first by rewrite /= sumE.
have qE : nth q0 qs (size tried) = q by rewrite -[size tried]addn0 -nth_drop at_tried.
rewrite [LHS]/= [RHS]/= !sumE qE; apply: eq_bigr => x _; rewrite sumE IH //.
by rewrite size_rcons -add1n -drop_drop at_tried /= drop0.
Qed.

(* The chance that all drafts are rejected: what the residuals and the drafts do not overlap. *)
Fixpoint rejections qs p : R :=
  if qs is q :: qs' then (1 - overlap p q) * rejections qs' (@residual W p q) else 1.

(* Multi-step: all drafts are rejected with the product of what the residuals and the drafts do not overlap. (If
   [p] added up to less than 1, a draft could be rejected where nothing is left of [p], and the next residual
   would be 0/0.) *)
Theorem multi_step_rejection_mixed qs p tried : is_dist p -> all_dist qs ->
  expect (multi_step_node qs p tried) rejected = rejections qs p.
Proof.
elim: qs p tried => [|q qs IH] p tried pd //= [qd qsd].
transitivity (\sum_x q x * (1 - Num.min 1 (p x / q x)) * rejections qs (@residual W p q)).
  rewrite sumE; apply: eq_bigr => x _; rewrite -mulrA smallerE mulr0 add0r.
  case: (eqVneq (q x) 0) => [->|qn0]; first by rewrite !mul0r.
  rewrite divE //; case: (eqVneq (1 - Num.min 1 (p x / q x)) 0) => [->|less]; first by rewrite !mul0r.
  by rewrite IH //; apply: residual_dist (reject_less qd qn0 less).
rewrite -mulr_suml; congr (_ * _).
under eq_bigr do rewrite mulrBr mulr1 draft_accept ?(dist_ge0 _ pd) ?(dist_ge0 _ qd) //.
by rewrite sumrB (dist_sum qd).
Qed.

Lemma naive_stop p xs : expect (@naive_sampling W p xs) stopped = \sum_y p y * (y \notin xs)%:R.
Proof. by rewrite [LHS]/= sumE; apply: eq_bigr => y _; case: (y \in xs). Qed.

Lemma all_other qs y : all_dist qs ->
  expect (draw_each qs) (fun xs => (y \notin xs)%:R) = \prod_(q <- qs) (1 - q y).
Proof.
elim: qs => [|q qs IH]; first by rewrite big_nil.
case=> qd qsd; rewrite big_cons -(IH qsd); set E := expect (draw_each qs) _.
transitivity (\sum_x (q x - q x * (x == y)%:R) * E); last first.
  by rewrite -mulr_suml sumrB (dist_sum qd) sum_at.
rewrite [LHS]/= sumE; apply: eq_bigr => x _; rewrite expect_bind /E -expectZ -expectZ; apply: eq_expect => xs.
by rewrite /= in_cons negb_or eq_sym; case: eqP => _; rewrite ?mulr1 ?mulr0 ?subrr ?subr0 ?mul0r.
Qed.

(* Naive sampling: the target's token is none of the drafts. *)
Theorem naive_rejection_mixed qs p : all_dist qs ->
  expect (naive_node qs p) stopped = \sum_y p y * \prod_(q <- qs) (1 - q y).
Proof.
move=> qsd; rewrite /naive_node expect_bind.
under [LHS]eq_expect do rewrite naive_stop.
rewrite expect_sum; apply: eq_bigr => y _.
by rewrite expectZ all_other.
Qed.

(* Miao et al. 2023, Theorem 4.3: multi-step rejects all drafts at most as often as naive sampling, for any
   number of drafts drawn independently, each from a distribution of its own. *)
Theorem rejection_bound_mixed qs p tried : is_dist p -> all_dist qs ->
  expect (multi_step_node qs p tried) rejected <= expect (naive_node qs p) stopped.
Proof.
move=> pd qsd; rewrite multi_step_rejection_mixed // naive_rejection_mixed //.
elim: qs p pd qsd => [|q qs IH] p pd.
  by move=> _ /=; under eq_bigr do rewrite big_nil mulr1; rewrite (dist_sum pd).
case=> qd qsd; have prod0 y : 0 <= \prod_(q' <- qs) (1 - q' y).
  elim: (qs) qsd => [|q' qs' IHqs]; first by rewrite big_nil ler01.
  by case=> q'd /IHqs prod0; rewrite big_cons mulr_ge0 // subr_ge0 dist_le1.
have z_ge0 : 0 <= 1 - overlap p q.
  by rewrite -(@part_sum R T undefined p q) //; apply: sumr_ge0 => y _; apply: part_ge0.
apply: (@le_trans _ _ (\sum_y (p y - Num.min (p y) (q y)) * \prod_(q' <- qs) (1 - q' y))); last first.
  apply: ler_sum => y _; rewrite big_cons mulrA ler_wpmul2r // mulrBr mulr1 ler_sub // le_minr.
  by rewrite ler_pimulr ?ler_pimull ?(dist_le1 y qd) ?(dist_le1 y pd) ?(dist_ge0 y qd) ?(dist_ge0 y pd).
rewrite [rejections _ _]/=; case: (eqVneq (1 - overlap p q) 0) => [z0|zn0].
  by rewrite z0 mul0r; apply: sumr_ge0 => y _; rewrite mulr_ge0 // subr_ge0 le_minl lexx.
have rd : is_dist (@residual W p q) by apply: (norm_dist (part_ge0 p q)); rewrite part_sum.
apply: le_trans (ler_wpmul2l z_ge0 (IH _ rd qsd)) _.
by rewrite mulr_sumr; apply: ler_sum => y _; rewrite mulrA (mass_residual q y pd).
Qed.

(* [k] drafts from one distribution. *)
Lemma all_dist_nseq k q : is_dist q -> all_dist (nseq k q).
Proof. by move=> qd; elim: k. Qed.

(* What is left of [p] after [i] rejections. *)
Definition left_over q p (i : nat) : T -> R := iter i (fun r => @residual W r q : T -> R) p.

(* Multi-step rejects them all with this product, ... *)
Theorem multi_step_rejection k p q tried : is_dist p -> is_dist q ->
  expect (multi_step_node (nseq k q) p tried) rejected = \prod_(i < k) (1 - overlap (left_over q p i) q).
Proof.
move=> pd qd; rewrite multi_step_rejection_mixed //; last exact: all_dist_nseq.
elim: k p {pd} => [|k IH] p; first by rewrite big_ord0.
rewrite big_ord_recl [LHS]/= IH; congr (_ * _).
by apply: eq_bigr => i _; rewrite /left_over -iterSr.
Qed.

(* ... naive sampling with this sum, ... *)
Theorem naive_rejection k p q : is_dist q ->
  expect (naive_node (nseq k q) p) stopped = \sum_y p y * (1 - q y) ^+ k.
Proof.
move=> qd; rewrite naive_rejection_mixed; last exact: all_dist_nseq.
by apply: eq_bigr => y _; rewrite big_nseq -Monoid.iteropE.
Qed.

(* ... and the product is at most the sum. *)
Theorem rejection_bound k p q tried : is_dist p -> is_dist q ->
  expect (multi_step_node (nseq k q) p tried) rejected <= expect (naive_node (nseq k q) p) stopped.
Proof. by move=> pd qd; apply: rejection_bound_mixed => //; apply: all_dist_nseq. Qed.

End Rejection.
