(* SGLang's chain kernel, coin by coin, is speculative sampling on a chain.

   chain_speculative_sampling_triton is given the drafts and one uniform number for each, accepts by comparing
   u q(x) < p(x) and draws the recovery token and the bonus token by inverse transform: the first token
   whose cumulative probability exceeds a coin. In exact arithmetic its tokens have exactly the law of
   Leviathan et al. (2023), Alg. 1, so that it is lossless for every target and every draft. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless rules step instances chain.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section InverseTransform.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).

Lemma invert_next (low : R) v x x' xs :
  @invert W low 1 low v [:: x, x' & xs]
  = @below W T low 1 (low + v x) (fun=> Return x) (fun low' => @invert W low' 1 (low + v x) v (x' :: xs)).
Proof. by []. Qed.

(* Of a coin on [low, 1), where [low] is the probability of the tokens before, each of the others takes its
   probability. Where nothing is left both sides are 0. *)
Lemma invert_law (low : R) v x xs f : (forall x, 0 <= v x) -> low + \sum_(y <- x :: xs) v y = 1 ->
  (1 - low) * expect (@invert W low 1 low v (x :: xs)) f = \sum_(y <- x :: xs) v y * f y.
Proof.
move=> v0; elim: xs x low => [|x' xs IH] x low.
  by rewrite !big_seq1 => <-; rewrite /= addrC addKr.
rewrite !(big_cons _ _ x) addrA => total; rewrite -(IH x' _ total) invert_next.
have upto1 : low + v x <= 1 by rewrite -total ler_addl sumr_ge0.
rewrite expect_below ?ler_addl ?v0 // min_l // (_ : low + v x - low = v x); last by rewrite addrC addKr.
move: (expect (invert _ _ _ _ _) f) => rest; rewrite [expect _ _]/= opprD addrA.
have : (1 - low) * @div W (v x) (1 - low) = v x.
  apply: mul_div => low1; apply/eqP.
  by rewrite eq_le v0 andbT -(ger_addl low) (le_trans upto1) // -subr_le0 low1.
by move: (@div W _ _) => share e; rewrite mulrDr !(mulrA (1 - low)) mulrBr mulr1 e.
Qed.

(* The first token whose cumulative probability exceeds a uniform number has the law of a draw. *)
Theorem inverse_transform_law v f : is_dist v -> expect (@inverse_transform W v) f = \sum_x v x * f x.
Proof.
move=> vd; have total := dist_sum vd; rewrite -!big_enum /= in total *.
rewrite /inverse_transform /=; case: (enum T) total => [|x xs] total.
  by have /eqP := oner_neq0 R; case; rewrite -total big_nil.
by rewrite -(@invert_law 0) ?subr0 ?mul1r ?add0r // => y; apply: dist_ge0.
Qed.

End InverseTransform.

Section Kernel.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Variables target draft : context -> T -> R.
Hypothesis target_dist : forall c, is_dist (target c).
Hypothesis draft_dist : forall c, is_dist (draft c).

Notation kernel := (@chain_kernel W target draft).
Notation verify := (@verify_coins W target draft).
Notation path := (@draft_path W draft).
Notation decoding := (@speculative_decoding R T undefined target draft).

Lemma expect_emit v c f : is_dist v -> expect (@emit W v c) f = \sum_y v y * f (rcons c y).
Proof. by move=> vd; rewrite expect_bind inverse_transform_law. Qed.

(* One coin of the kernel. A recovery that is reached draws from a distribution. *)
Lemma expect_verify c x xs f : draft c x != 0 ->
  expect (verify c (x :: xs)) f
  = Num.min 1 (target c x / draft c x) * expect (verify (rcons c x) xs) f
    + (1 - Num.min 1 (target c x / draft c x)) * \sum_y @residual W (target c) (draft c) y * f (rcons c y).
Proof.
move=> dn0; have d0 := dist_ge0 x (draft_dist c).
have drawn : (0 < draft c x)%R && (draft c x <= 1)%R by rewrite lt_def dn0 d0 dist_le1.
rewrite ltNge in drawn; rewrite [verify _ _]/= drawn divE // expect_below ?divr_ge0 ?dist_ge0 //.
rewrite !subr0 divE ?oner_neq0 // divr1 minC.
congr (_ + _); case: (eqVneq (1 - Num.min 1 (target c x / draft c x)) 0) => [->|rejected].
  by rewrite !mul0r.
have less := reject_less (draft_dist c) dn0 rejected.
by rewrite -expect_emit //; apply: residual_dist less.
Qed.

(* What the kernel emits has the law of speculative sampling on a chain (Leviathan et al. 2023, Alg. 1): for
   every length, context and test function. *)
Theorem chain_kernel_is_chain length c f : expect (kernel length c) f = expect (decoding length c) f.
Proof.
rewrite expect_bind; elim: length c => [|l IH] c; first by rewrite [LHS]expect_emit // [RHS]/= sumE.
rewrite speculative_decodingS [LHS]/= sumE; apply: eq_bigr => x _.
case: (eqVneq (draft c x) 0) => [->|dn0]; first by rewrite !mul0r.
rewrite expect_bind /= (eq_expect _ (fun xs => expect_verify xs f dn0)) expectD !expectZ -IH.
by rewrite expect_const //; apply: draft_path_sound.
Qed.

(* The kernel is lossless, for all targets and all drafts that are distributions. *)
Theorem chain_kernel_lossless length c : lossless target (kernel length c) c.
Proof.
apply: (@eq_lossless R T undefined target (decoding length c)) => [f|]; first by rewrite chain_kernel_is_chain.
exact: (chain_lossless target_dist (q := fun c' _ => draft c') (fun c' _ => draft_dist c')).
Qed.

End Kernel.
