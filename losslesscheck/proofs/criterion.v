(* Losslessness is decided by prefix probabilities: how a law is judged without completing it.

   Losslessness speaks of the emitted sequence continued by plain decoding, to every length. The criterion
   speaks of the emitted sequence alone, and of finitely many probabilities: given that it goes on after w,
   the next token has the target's law there. So losslesscheck/law.py compares, for every context w that a
   step reaches, the next token's masses with the target's, and need not sum over continuations. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Criterion.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).

Variable target : context -> T -> R.

(* One token fewer of plain decoding: the last one is averaged by hand. *)
Definition averaged (f : context -> R) (w : context) : R := \sum_y target w y * f (rcons w y).

Lemma decode_averaged m c f :
  expect (@decode W target m.+1 c) f = expect (@decode W target m c) (averaged f).
Proof.
elim: m c => [|m IH] c; first by rewrite /= sumE.
rewrite [LHS]expect_draw [RHS]expect_draw; apply: eq_bigr => y _; congr (_ * _); exact: IH.
Qed.

(* A sequence of at most [n] tokens cannot tell. A longer one is cut after token [n.+1], or after [n]. *)
Lemma finish_averaged n e f :
  expect (@finish W target n.+1 e) f - expect (@finish W target n e) (averaged f)
  = (n < size e)%:R * (f (take n.+1 e) - averaged f (take n e)).
Proof.
case: ltnP => [ne|en]; first by rewrite !finish_short ?(ltnW ne) // mul1r.
by rewrite /finish subSn // !take_oversize ?(leqW en) // decode_averaged subrr mul0r.
Qed.

(* Whether [e] begins with [w] and goes on is whether it begins with [w] and some token. *)
Lemma goes_on (w e : seq T) : \sum_z (prefix (rcons w z) e)%:R = (prefix w e && (size w < size e)%N)%:R :> R.
Proof.
elim: w e => [|x w IH] [|y e] /=.
- by rewrite big1.
- by rewrite (bigD1 y) //= eqxx prefix0s big1 ?addr0 // => z /negbTE ->.
- by rewrite big1.
- by case: eqP => _; [apply: IH | rewrite big1].
Qed.

(* A sequence longer than [n] begins with just one word of length [n]. *)
Lemma by_prefix n (e : context) (g : context -> R) :
  (n < size e)%:R * g (take n e) = \sum_(w : n.-tuple T) (\sum_z (prefix (rcons w z) e)%:R) * g w.
Proof.
case: ltnP => [ne|en]; last first.
  rewrite mul0r big1 // => w _; rewrite goes_on size_tuple ltnNge en andbF mul0r //.
have size_te : size (take n e) == n by rewrite size_takel // ltnW.
rewrite mul1r (bigD1 (Tuple size_te)) //= goes_on prefixE (eqP size_te) eqxx ne mul1r big1 ?addr0 // => w wn.
rewrite goes_on prefixE size_tuple; case: eqP => [E|_]; last by rewrite mul0r.
by case/eqP: wn; apply: val_inj.
Qed.

Variable law : program W context.

(* The probability that the emitted sequence begins with [w], and by how much its next token misses the
   target's probability there. *)
Definition begins (w : context) : R := expect law (fun e => (prefix w e)%:R).
Definition miss (w : context) (y : T) : R :=
  begins (rcons w y) - target w y * \sum_z begins (rcons w z).

Lemma missE w y : miss w y
  = expect law (fun e => (prefix (rcons w y) e)%:R - target w y * \sum_z (prefix (rcons w z) e)%:R).
Proof. by rewrite expectB expectZ expect_sum. Qed.

(* What the completions to [n.+1] tokens and to [n] tell apart. *)
Lemma finish_miss n f :
  expect (bind law (@finish W target n.+1)) f - expect (bind law (@finish W target n)) (averaged f)
  = \sum_(w : n.-tuple T) \sum_y f (rcons w y) * miss w y.
Proof.
under [RHS]eq_bigr do under eq_bigr do rewrite missE -expectZ.
under [RHS]eq_bigr do rewrite -expect_sum.
rewrite !expect_bind -expectB -expect_sum; apply: eq_expect => e; rewrite finish_averaged mulrBr.
rewrite (by_prefix n e (fun=> f (take n.+1 e))) (by_prefix n e (averaged f)) -sumrB.
apply: eq_bigr => w _; set goes := \sum_z _.
have -> : goes * f (take n.+1 e) = \sum_y f (rcons w y) * (prefix (rcons w y) e)%:R.
  rewrite mulr_suml; apply: eq_bigr => y _; rewrite prefixE size_rcons size_tuple mulrC.
  by case: eqP => [->|_]; rewrite ?mulr0.
have -> : goes * averaged f w = \sum_y f (rcons w y) * (target w y * goes).
  by rewrite mulr_sumr; apply: eq_bigr => y _; rewrite mulrC -mulrA mulrC -mulrA [goes * _]mulrC.
by rewrite -sumrB; apply: eq_bigr => y _; rewrite mulrBr.
Qed.

Lemma averaged_nil n f :
  expect (@finish W target n.+1 [::]) f = expect (@finish W target n [::]) (averaged f).
Proof. by rewrite /finish !subn0 !take_oversize // decode_averaged. Qed.

(* The criterion. A law is lossless if and only if, for every word w and token y, the probability that the
   sequence begins with w y is the target's probability of y after w times the probability that it begins
   with w and goes on. *)
Theorem prefix_criterion : sound law ->
  lossless target law [::] <-> forall w y, begins (rcons w y) = target w y * \sum_z begins (rcons w z).
Proof.
move=> well; split=> [H w y | H n].
  pose f (e : context) : R := (e == rcons w y)%:R.
  have := finish_miss (size w) f; rewrite !H averaged_nil subrr.
  rewrite (bigD1 (in_tuple w)) //= [X in _ + X]big1 => [|v vw]; last first.
    rewrite big1 // => z _; rewrite /f eqseq_rcons; case: eqP => [vwE|_]; last by rewrite mul0r.
    by case/eqP: vw; apply: val_inj.
  rewrite addr0 (bigD1 y) //= big1 => [|z zy]; last by rewrite /f eqseq_rcons (negbTE zy) andbF mul0r.
  by rewrite addr0 /f eqxx mul1r => /esym/eqP; rewrite subr_eq0 => /eqP.
elim: n => [|n IH] f.
  rewrite expect_bind finish_short // [RHS]/= -[RHS](expect_const _ well); apply: eq_expect => e.
  by rewrite finish_short // [LHS]/= !take0.
rewrite averaged_nil -IH; apply/eqP; rewrite -subr_eq0 finish_miss big1 // => w _.
by rewrite big1 // => y _; rewrite /miss H subrr mulr0.
Qed.

(* Only words that the sequence can begin with, and go on after, need to be looked at: the next token's
   conditional law is the target's there. *)
Theorem conditional_criterion : sound law ->
  lossless target law [::] <->
  forall w, \sum_z begins (rcons w z) != 0 ->
  forall y, begins (rcons w y) / (\sum_z begins (rcons w z)) = target w y.
Proof.
move=> well; rewrite (prefix_criterion well); split=> H w => [goes y | y]; first by rewrite H mulfK.
case: (eqVneq (\sum_z begins (rcons w z)) 0) => [stops|goes]; last by rewrite -(H w goes y) divfK.
have begins0 z : 0 <= begins z by apply: expect_ge0 => // e; apply: ler0n.
have := psumr_eq0 (index_enum T) (P := xpredT) (fun z _ => begins0 (rcons w z)).
by rewrite stops eqxx mulr0 => /esym/allP/(_ y (mem_index_enum y))/eqP.
Qed.

End Criterion.
