(* Naive sampling is lossless, and point-mass verification has its law.

   In this baseline of SpecInfer the target draws, and the tree serves if it holds the token. Miao et al. 2023
   (arXiv 2305.09781), Sec. 4.3 and Thm 4.3, compare their rule with it. It is lossless on every tree of fixed
   tokens, siblings that repeat included. And for fixed draft tokens nothing is gained over it by trying the
   siblings one after the other: point-mass verification, which accepts a sibling with its probability and else
   sets that to zero, is the same law in another order, on every tree. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless node rules.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Naive.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Implicit Types (p r : T -> R) (x y : T) (xs : seq T).

(* What naive sampling decides when the target draws [y]. *)
Definition serve xs y : decision W := if y \in xs then @Take W y else @Stop W y.

Lemma naive_samplingE p xs phi :
  expect (@naive_sampling W p xs) phi = \sum_y p y * phi (serve xs y).
Proof. exact: expect_draw. Qed.

Lemma decided_serve xs y : decided (serve xs y) = y.
Proof. by rewrite /serve; case: ifP. Qed.

Lemma naive_sampling_node p xs : node_ok (@naive_sampling W) id p xs.
Proof.
move=> y; rewrite naive_samplingE -[RHS]sum_at.
by apply: eq_bigr => z _; rewrite decided_serve.
Qed.

(* Naive sampling is lossless on every tree of fixed tokens (Miao et al. 2023, the baseline of Thm 4.3). *)
Theorem naive_sampling_lossless (target : context -> T -> R) t c :
  (forall c, is_dist (target c)) -> lossless target (walk_nodes (@naive_sampling W) target t c) c.
Proof.
move=> td; apply: (@node_lossless _ _ _ _ id (fun=> True)) => // [r xs _ _|].
  exact: naive_sampling_node.
exact: all_nodes_true.
Qed.

(* One sibling tried: its share, and what is left for the others. *)
Lemma serve_cons (F : decision W -> R) p x xs :
  \sum_y p y * F (serve (x :: xs) y) =
  p x * F (@Take W x) + \sum_y @without W p [:: x] y * F (serve xs y).
Proof.
rewrite (bigD1 x) // [in RHS](bigD1 x) //= /without /= inE eqxx mul0r add0r {1}/serve inE eqxx; congr (_ + _).
by apply: eq_bigr => y /negbTE yx; rewrite inE yx /serve inE yx.
Qed.

Section PointMass.
Variables (target : context -> T -> R) (f : context -> R).
Hypothesis target_dist : forall c, is_dist (target c).
Notation point_mass := (@point_mass W).
Notation naive := (@naive_sampling W).

(* With [r] left of the target, the siblings yet to be tried serve as if the target drew from [r]. *)
Lemma point_mass_siblings ts c r tried :
  in_all (fun e => forall c, expect (speculate point_mass target (plant_tokens e.2) c) f =
                             expect (walk_nodes naive target e.2 c) f) ts ->
  is_dist r ->
  expect (walk point_mass target (plant_children ts) c r tried) f =
  \sum_y r y * expect (follow naive target c ts (serve [seq e.1 | e <- ts] y)) f.
Proof.
elim: ts r tried => [|[x t] ts IHts] r tried; first by rewrite /= sumE.
case=> IHt IH rd; pose F ts' o := expect (follow naive target c ts' o) f.
rewrite (serve_cons (F ((x, t) :: ts)) r x [seq e.1 | e <- ts]) [LHS]/=.
congr (_ * _ + _); first by rewrite /F /= eqxx -IHt.
have w0 y : 0 <= @without W r [:: x] y by apply: without_ge0 => z; apply: dist_ge0 rd.
have w1 := @without_one R T undefined r x; rewrite (dist_sum rd) in w1.
transitivity (\sum_y @without W r [:: x] y * F ts (serve [seq e.1 | e <- ts] y)); last first.
  apply: eq_bigr => y _; rewrite /F /serve; case: (eqVneq y x) => [->|yx].
    by rewrite /without /= inE eqxx !mul0r.
  by case: ifP => //= _; rewrite eq_sym (negbTE yx).
rewrite -/(plant_children ts); case: (eqVneq (1 - r x) 0) => [z|zn].
  by rewrite z mul0r big1 // => y _; rewrite (massless y w0) ?w1 ?mul0r.
rewrite IHts //; last by apply: norm_dist; rewrite ?w1.
by rewrite mulr_sumr -w1; apply: eq_bigr => y _; rewrite mulrA mass_norm.
Qed.

(* Point-mass verification of a tree of fixed tokens (the step rule on one token at a time) emits the same
   law as naive sampling: not only the tokens, but how many of them. Siblings may repeat. *)
Theorem point_mass_naive t c :
  expect (speculate point_mass target (plant_tokens t) c) f = expect (walk_nodes naive target t c) f.
Proof.
elim/token_tree_induction: t c => ts IH c; rewrite walk_nodesE expect_bind naive_samplingE.
by rewrite /speculate plant_tokensE; apply: point_mass_siblings.
Qed.

End PointMass.
End Naive.
