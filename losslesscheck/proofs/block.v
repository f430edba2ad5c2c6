(* Block verification is lossless, and accepts no fewer drafts than verification token by token.

   The drafts of a path are verified together, and the joint law stays the target's. Whether a draft is kept
   depends on coins that are thrown after its own: a later draft that is kept keeps all before it. So it is no
   step rule, which would decide on one draft at a time, and tree.v does not apply: this is a proof for the rule
   itself. It also counts the drafts that are accepted: never fewer than token by token, on average. (Sun et al.
   2024, Alg. 2.) *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless rules step chain length.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Block.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Variables p q : context -> T -> R.
Hypothesis p_dist : forall c, is_dist (p c).
Hypothesis q_dist : forall c, is_dist (q c).
Implicit Types (c kept xs : context) (x y : T) (w F N : R) (rest : T -> R) (f : context -> R).

Let p0 c x : 0 <= p c x. Proof. exact: dist_ge0 (p_dist c). Qed.
Let q0 c x : 0 <= q c x. Proof. exact: dist_ge0 (q_dist c). Qed.

(* The weight after one more draft. (What it is where q(x) is 0 does not matter: no such draft is drawn.) *)
Definition heavier w c x : R := Num.min 1 (w * (p c x / q c x)).

Lemma heavier01 w c x : 0 <= w -> 0 <= heavier w c x <= 1.
Proof. by move=> w0; rewrite /heavier le_minr le_minl lexx ler01 mulr_ge0 ?divr_ge0. Qed.

(* The part of the weight [w] at [c] that the drafts after [c] can carry, token by token, and in sum what they
   cannot. *)
Definition carried w c x : R := Num.min (w * p c x) (q c x).
Definition spare w c : R := \sum_x (w * p c x - carried w c x).

Lemma draft_heavier w c x : 0 <= w -> q c x * heavier w c x = carried w c x.
Proof. by move=> w0; rewrite /heavier mulrA draft_accept ?mulr_ge0. Qed.

Lemma spare_ge0 w c : 0 <= spare w c.
Proof. by apply: sumr_ge0 => x _; rewrite subr_ge0 le_minl lexx. Qed.

Lemma sum_carried w c : \sum_x carried w c x = w - spare w c.
Proof. by rewrite /spare sumrB -mulr_sumr (dist_sum (p_dist c)) mulr1 opprB addrC subrK. Qed.

Lemma surplusE w c x : @surplus W p q w c x = w * p c x - carried w c x.
Proof. exact: partE. Qed.

Lemma surplus_ge0 w c x : 0 <= @surplus W p q w c x.
Proof. exact: part_ge0. Qed.

Lemma sum_surplus w c : \sum_x @surplus W p q w c x = spare w c.
Proof. by apply: (@eq_bigr R) => x _; rewrite surplusE. Qed.

Lemma mass_surplus w c x : spare w c * @norm W (@surplus W p q w c) x = w * p c x - carried w c x.
Proof. by rewrite -sum_surplus mass_norm ?surplusE // => y; apply: surplus_ge0. Qed.

(* Why a prefix is kept with this chance: of the weight that the drafts after it do not carry, the surplus falls
   to it, and 1 - w to what was kept before. *)
Lemma keep_spare w c : w <= 1 -> (1 - w + spare w c) * @keep W p q false w c = spare w c.
Proof.
move=> w1; have e : @sum W (@surplus W p q w c) = spare w c.
  by rewrite sumE sum_surplus.
rewrite /keep e /= addrC addrA -ltNge; case: ltP => [lt1|ge1].
  by rewrite mul_div // => /eqP; rewrite -addrA gt_eqF // ltr_paddl ?spare_ge0 // subr_gt0.
by rewrite mulr1 (_ : w = 1) ?addrK //; apply/eqP; rewrite eq_le w1.
Qed.

Lemma unkept_spare w c : w <= 1 -> (1 - w + spare w c) * (1 - @keep W p q false w c) = 1 - w.
Proof. by move=> w1; rewrite mulrBr mulr1 keep_spare // addrK. Qed.

(* What is left for the token after the prefix [c], if it is kept. *)
Definition after (last : bool) w c : T -> R := if last then p c else @norm W (@surplus W p q w c).

(* The expected value of a test function, with the drafts drawn one by one: [F] is its value if what is kept
   so far is emitted. *)
Section Value.
Variable f : context -> R.

Definition ending kept rest : R := \sum_y rest y * f (rcons kept y).

Definition flipped (last : bool) c w F : R :=
  @keep W p q last w c * ending c (after last w c) + (1 - @keep W p q last w c) * F.

Fixpoint value (g : nat) c w F : R :=
  if g is g'.+1 then
    \sum_x q c x * value g' (rcons c x) (heavier w c x) (flipped (g' == 0%N) (rcons c x) (heavier w c x) F)
  else F.

Lemma valueS g c w F :
  value g.+1 c w F
  = \sum_x q c x * value g (rcons c x) (heavier w c x) (flipped (g == 0%N) (rcons c x) (heavier w c x) F).
Proof. by []. Qed.

Lemma flipped_mix last c w (a F N : R) :
  flipped last c w (a * F + (1 - a) * N) = a * flipped last c w F + (1 - a) * flipped last c w N.
Proof.
rewrite /flipped; set h := keep _ _ _ _ _; set M := ending _ _.
rewrite !(mulrDr a) !(mulrDr (1 - a)) addrACA -mulrDl (addrCA a) subrr addr0 mul1r; congr (_ + _).
by rewrite mulrDr !(mulrCA (1 - h)).
Qed.

Lemma value_mix g c w (a F N : R) :
  value g c w (a * F + (1 - a) * N) = a * value g c w F + (1 - a) * value g c w N.
Proof.
elim: g c w F N => [|g IH] c w F N //=; rewrite !mulr_sumr -big_split; apply: eq_bigr => x _.
by rewrite /= flipped_mix IH mulrDr !(mulrCA (q c x)).
Qed.

(* The last position of a path is where the last draft is drawn. *)
Lemma expect_last g c (F : bool -> context -> R) :
  expect (@draft_path W q g c) (fun xs => F (xs == [::]) xs) = expect (@draft_path W q g c) (F (g == 0%N)).
Proof. by case: g => [|g] //; rewrite !expect_draft_path. Qed.

(* The drafts may as well be drawn one by one. *)
Lemma verify_value g c w kept rest :
  expect (bind (@draft_path W q g c) (@verify_block W p q c w kept rest)) f = value g c w (ending kept rest).
Proof.
rewrite expect_bind; elim: g c w kept rest => [|g IH] c w kept rest; first by rewrite /= sumE.
rewrite expect_draft_path; apply: eq_bigr => x _.
case: (eqVneq (q c x) 0) => [->|qn0]; first by rewrite !mul0r.
congr (_ * _); set w' := heavier w c x; set c' := rcons c x.
pose F last xs := @keep W p q last w' c' * expect (@verify_block W p q c' w' c' (after last w' c') xs) f
  + (1 - @keep W p q last w' c') * expect (@verify_block W p q c' w' kept rest xs) f.
transitivity (expect (@draft_path W q g c') (fun xs => F (xs == [::]) xs)).
  by apply: eq_expect => xs; rewrite /= divE // smallerE.
by rewrite expect_last expectD !expectZ !IH -value_mix.
Qed.

Lemma block_value g c :
  expect (@block_verification W p q g c) f = value g c 1 (ending c (after (g == 0%N) 1 c)).
Proof. by rewrite /block_verification verify_value; case: g. Qed.

(* The flip at a position before the last one: what the drafts after it do not carry, times the value. *)
Lemma spare_flipped w c F : 0 <= w <= 1 ->
  (1 - w + spare w c) * flipped false c w F
  = (1 - w) * F + \sum_y (w * p c y - carried w c y) * f (rcons c y).
Proof.
case/andP=> w0 w1; rewrite /flipped mulrDr !mulrA keep_spare // unkept_spare // addrC; congr (_ + _).
by rewrite mulr_sumr; apply: eq_bigr => y _; rewrite mulrA mass_surplus.
Qed.

End Value.

(* Before the first draft the weight is 1, and a flip would be certain. *)
Lemma keep1 last c : @keep W p q last (1 : R) c = 1.
Proof. by rewrite /keep /= lexx; case: last. Qed.

Lemma flipped1 f last c F : flipped f last c (1 : R) F = ending f c (after last 1 c).
Proof. by rewrite /flipped keep1 subrr mul0r addr0 mul1r. Qed.

(* The weights along a path of drafts, and their expected sum. *)
Fixpoint weights c w xs : seq R :=
  if xs is x :: xs' then heavier w c x :: weights (rcons c x) (heavier w c x) xs' else [::].

Definition expected_weights (g : nat) c w : R :=
  expect (@draft_path W q g c) (fun xs => \sum_(v <- weights c w xs) v).

Lemma expected_weights_step g c w :
  expected_weights g.+1 c w = \sum_x q c x * (heavier w c x + expected_weights g (rcons c x) (heavier w c x)).
Proof.
rewrite /expected_weights expect_draft_path; apply: eq_bigr => x _; congr (_ * _).
rewrite -[X in X + _](@draft_path_const R T undefined q q_dist g (rcons c x)) -expectD.
by apply: eq_expect => xs; rewrite /= big_cons.
Qed.

(* The drafts from [c] on, which has the weight [w]: the weight is the part that [c] has in the value, by a
   target's token after it, and the other part stays with [F]. With [d] = 0, [f] is the value of plain decoding;
   with [d] = 1, a number that grows by one with every token. *)
Lemma value_weights f (d : R) g c w F :
  (forall c', (size c < size c')%N -> \sum_y p c' y * f (rcons c' y) = f c' + d) -> 0 <= w <= 1 ->
  value f g c w (flipped f (g == 0%N) c w F)
  = (1 - w) * F + w * (\sum_y p c y * f (rcons c y)) + d * expected_weights g c w.
Proof.
elim: g c w F => [|g IH] c w F f_step w01.
  by rewrite /= /flipped /ending /expected_weights /= big_nil mulr0 addr0 addrC.
have /andP[w0 w1] := w01; set F' := flipped _ _ _ _ _.
transitivity (\sum_x (q c x * F' - carried w c x * F' + carried w c x * f (rcons c x)
                      + d * (q c x * (heavier w c x + expected_weights g (rcons c x) (heavier w c x))))).
  rewrite valueS; apply: eq_bigr => x _; rewrite IH ?heavier01 // => [|c' cc']; last first.
    by apply: f_step; apply: leq_trans cc'; rewrite size_rcons ltnW.
  rewrite f_step ?size_rcons // -draft_heavier // -mulrBl -{2}[q c x]mulr1 -mulrBr -!mulrA.
  by rewrite (mulrCA d) -!mulrDr; congr (_ * _); rewrite !mulrDr (mulrC _ d) !addrA.
rewrite big_split -mulr_sumr -expected_weights_step; congr (_ + _).
rewrite big_split sumrB -!mulr_suml (dist_sum (q_dist c)) sum_carried -mulrBl /= opprB addrA.
rewrite (addrAC 1) spare_flipped // -addrA -big_split mulr_sumr; congr (_ + _).
by apply: eq_bigr => x _; rewrite /= -mulrDl subrK mulrA.
Qed.

(* Sun et al. 2024, Alg. 2: block verification reproduces the joint law of the target, with any number of
   drafts. *)
Theorem block_verification_lossless g c : lossless p (@block_verification W p q g c) c.
Proof.
move=> n f; rewrite expect_bind block_value -(flipped1 _ _ _ 0) (value_weights (d := 0)) ?lexx ?ler01 //.
  by rewrite mul0r mulr0 add0r addr0 mul1r finish_step.
by move=> c' _; rewrite finish_step // addr0.
Qed.

(* The expected number of drafts accepted, which are the tokens emitted but the last: the sum over the
   positions of the weight there. *)
Theorem block_expected_drafts g c :
  expect (@block_verification W p q g c) (fun e => (size e - (size c).+1)%:R)
  = expect (@draft_path W q g c) (fun xs => \sum_(w <- weights c 1 xs) w).
Proof.
have next c' : \sum_y p c' y * (size (rcons c' y) - (size c).+1)%:R = (size c' - size c)%:R.
  by under eq_bigr do rewrite size_rcons subSS; rewrite -mulr_suml (dist_sum (p_dist c')) mul1r.
rewrite block_value -(flipped1 _ _ _ 0) (value_weights (d := 1)) ?lexx ?ler01 // => [|c' cc'].
  by rewrite next subnn subrr mul0r mulr0 !add0r mul1r.
by rewrite next -subSS subSn // mulrSr.
Qed.

(* A weight is at least the chance that the drafts are accepted one by one. *)
Lemma products_le_weights c u w xs : 0 <= u <= w -> w <= 1 ->
  \sum_(v <- products p q c u xs) v <= \sum_(v <- weights c w xs) v.
Proof.
elim: xs c u w => [|x xs IH] c u w /andP[u0 uw] w1; first by rewrite !big_nil.
have w0 := le_trans u0 uw; have a0 : 0 <= p c x / q c x by rewrite divr_ge0.
have m0 : 0 <= u * Num.min 1 (p c x / q c x) by rewrite mulr_ge0 // le_minr ler01.
have le_heavier : u * Num.min 1 (p c x / q c x) <= heavier w c x.
  rewrite /heavier le_minr; apply/andP; split.
    by rewrite mulr_ile1 ?(le_trans uw) ?le_minr ?ler01 // le_minl lexx.
  by rewrite ler_pmul ?le_minr ?ler01 // le_minl lexx orbT.
have /andP[_ h1] := heavier01 c x w0.
by rewrite /= !big_cons ler_add // IH // m0.
Qed.

(* Never worse than verification token by token: on average at least as many drafts are accepted. (A case
   of the optimality that Sun et al. 2024 prove.) *)
Theorem block_no_worse g c :
  expect (@speculative_decoding R T undefined p q g c) (fun e => (size e - (size c).+1)%:R)
  <= expect (@block_verification W p q g c) (fun e => (size e - (size c).+1)%:R) :> R.
Proof.
rewrite expected_drafts // block_expected_drafts; apply: expect_le => [|xs].
  exact: draft_path_sound.
by apply: products_le_weights; rewrite ?lexx ?ler01.
Qed.

(* What is drawn from is a distribution and a coin a probability, wherever they are reached: the laws above are
   laws. Where the surplus is zero, the target is the draft, so that the next draft is kept for certain, and
   nothing is drawn from the surplus. *)
Lemma spare0_le c x : spare 1 c = 0 -> q c x <= p c x.
Proof.
move=> s0; have pos y : true -> 0 <= q c y - carried 1 c y by rewrite subr_ge0 le_minl lexx orbT.
have zero : \sum_y (q c y - carried 1 c y) = 0.
  by rewrite sumrB (dist_sum (q_dist c)) sum_carried s0 subr0 subrr.
move/eqP: (psumr_eq0P pos zero (i := x) isT).
by rewrite subr_eq0 /carried mul1r => /eqP ->; rewrite le_minl lexx.
Qed.

Lemma heavier_sure c x : spare 1 c = 0 -> q c x != 0 -> heavier 1 c x = 1.
Proof.
move=> s0 qn0; rewrite /heavier mul1r min_l // ler_pdivl_mulr ?mul1r ?spare0_le //.
by rewrite lt_def qn0 q0.
Qed.

Lemma keep01 last w c : 0 <= w <= 1 -> 0 <= @keep W p q last w c <= 1.
Proof.
move=> w01; have /andP[w0 w1] := w01; case: last => //.
rewrite /keep /= sumE sum_surplus -ltNge; case: ltP => [lt1|_]; last by rewrite ler01 lexx.
have pos : 0 < spare w c + 1 - w by rewrite -addrA ltr_paddl ?spare_ge0 // subr_gt0.
by rewrite divE ?gt_eqF // divr_ge0 ?spare_ge0 ?(ltW pos) //= ler_pdivr_mulr // mul1r -addrA ler_addl subr_ge0.
Qed.

(* What may be drawn last: a distribution, unless the next draft is kept for certain. *)
Definition rest_ok xs c w rest := is_dist rest \/ [/\ xs != [::], w = 1 & spare 1 c = 0].

Lemma after_ok xs w c : 0 <= w <= 1 -> @keep W p q (xs == [::]) w c != 0 ->
  rest_ok xs c w (after (xs == [::]) w c).
Proof.
move=> /andP[w0 w1]; case: (eqVneq xs [::]) => [_ _|xs0 keeps]; first by left.
case: (eqVneq (spare w c) 0) => [s0|sn0]; last first.
  by left; apply: norm_dist; [apply: surplus_ge0 | rewrite sum_surplus].
right; suff e : w = 1 by split; rewrite // -e.
apply/eqP; rewrite eq_le w1 leNgt; apply: contra keeps => lt1.
by rewrite /keep /= -ltNge lt1 sumE sum_surplus s0 divE ?mul0r // add0r subr_eq0 gt_eqF.
Qed.

Lemma verify_sound c w kept rest xs : 0 <= w <= 1 -> drawable q c xs -> rest_ok xs c w rest ->
  sound (@verify_block W p q c w kept rest xs).
Proof.
elim: xs c w kept rest => [|x xs IH] c w kept rest w01; first by move=> _ [rd|[]//]; split.
case=> qx dxs ok; have /andP[w0 w1] := w01; have h01 := heavier01 c x w0.
rewrite /= divE // smallerE -/(heavier w c x); split; first exact: keep01.
split=> [keeps|drops]; apply: IH => //; first exact: after_ok.
case: ok => [rd|[_ w1' s0]]; first by left.
by case/eqP: drops; rewrite w1' heavier_sure // keep1 subrr.
Qed.

(* Every coin of block verification has a probability in [0, 1], and it draws from distributions. *)
Theorem block_verification_sound g c : sound (@block_verification W p q g c).
Proof.
apply/sound_bind; split; first exact: draft_path_sound.
apply: sub_reached (draft_path_drawable q g c) => xs [dxs sxs].
apply: verify_sound => //; first by rewrite ler01 lexx.
suff -> : (if g is 0%N then p c else @norm W (@surplus W p q 1 c)) = after (xs == [::]) 1 c.
  by apply: after_ok; rewrite ?ler01 ?lexx // keep1 oner_neq0.
by case: g xs sxs {dxs} => [|g] [].
Qed.

End Block.
