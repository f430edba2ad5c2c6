(* Target-only verification is lossless where both thresholds are 1 and siblings are distinct.

   It is the tree verification of SGLang, tree_speculative_sampling_target_only: one coin is compared with the
   cumulative target probability of the siblings; the draft's probabilities are not looked at. With both
   thresholds at 1 and distinct siblings it is lossless on the whole tree, and is then the same law as naive
   sampling and as point-mass verification. Each threshold below 1 gives that up, and so does a sibling that
   repeats: the theorems say for which targets, and what is emitted instead.

   The coin is narrowed by every comparison, so that what is proved of the siblings yet to be tried is this: the
   coin is at least the cumulative probability of those tried, and below 1, and what is left of the target is
   the target off those tried, of total one minus that probability. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless node rules naive.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section TargetOnly.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Implicit Types (single acc tau : R) (p rest : T -> R) (target : context -> T -> R) (x y : T) (xs : seq T).
Notation target_only := (@target_only W).
Notation serve := (@serve R T undefined).
Notation one_level := (@one_level W).
Notation distinct := (@all_nodes W (fun xs => uniq xs)).

(* The siblings in turn, for every pair of thresholds. (Where [low] is 1 as well, [share] is 0/0.) *)
Lemma expect_try single acc p low cumulative rest x xs phi : acc != 0 -> low <= (cumulative + p x) / acc ->
  let bound := Num.min ((cumulative + p x) / acc) 1 in
  let share := @div W (bound - low) (1 - low) in
  expect (@try_siblings W single acc p low 1 cumulative rest (x :: xs)) phi
  = share * phi (@Take W x)
    + (1 - share) *
      (if single <= p x then phi (@Take W x)
       else expect (@try_siblings W single acc p bound 1 (cumulative + p x) (@without W rest [:: x]) xs) phi).
Proof.
by move=> acc0 lt; rewrite [try_siblings _ _ _ _ _ _ _ _]/= divE // expect_below //=; case: ifP.
Qed.

(* The siblings yet to be tried, when the coin is at least [s]. *)
Lemma try_siblings_law p s rest xs phi :
  0 <= s -> (forall x, 0 <= rest x) -> \sum_x rest x = 1 - s -> uniq xs -> {in xs, rest =1 p} ->
  (1 - s) * expect (@try_siblings W 1 1 p s 1 s rest xs) phi = \sum_y rest y * phi (serve xs y).
Proof.
elim: xs s rest => [|x xs IH] s rest s0 rest0 rest1.
  move=> _ _; rewrite /= sumE mulr_sumr -rest1; apply: eq_bigr => y _.
  by rewrite mulrA mass_norm.
rewrite cons_uniq => /andP[xxs uxs] same; have px : rest x = p x by rewrite same ?mem_head.
have pxs : p x <= 1 - s by rewrite -px -rest1 (bigD1 x) //= ler_addl sumr_ge0.
have p0 : 0 <= p x by rewrite -px.
rewrite serve_cons px expect_try ?oner_neq0 // divr1 ?ler_addl // min_l -?ler_subr_addl //.
rewrite [s + p x - s]addrAC subrr add0r.
have share : (1 - s) * @div W (p x) (1 - s) = p x.
  by apply: mul_div => z; apply/eqP; rewrite eq_le p0 andbT -z.
rewrite mulrDr; congr (_ + _); first by rewrite [LHS]mulrA share.
rewrite [LHS]mulrA mulrBr mulr1 share.
have w0 y : 0 <= @without W rest [:: x] y by apply: without_ge0.
have w1 := @without_one R T undefined rest x; rewrite rest1 px in w1.
case: ifP => [one|_].
  have z : 1 - s - p x = 0.
    by apply/eqP; rewrite eq_le subr_ge0 pxs andbT subr_le0 (le_trans _ one) // ler_subl_addr ler_addl.
  by rewrite z mul0r big1 // => y _; rewrite (massless y w0) ?w1 ?mul0r.
rewrite -[1 - s - p x]addrA -opprD IH ?addr_ge0 //; first by rewrite w1 opprD addrA.
move=> y yxs; rewrite /without /= inE; case: eqP => [yx|_]; first by rewrite -yx yxs in xxs.
by rewrite same // in_cons yxs orbT.
Qed.

(* At one node of distinct siblings it is naive sampling: what is taken, and what is emitted otherwise. *)
Lemma target_only_naive_node p xs phi : is_dist p -> uniq xs ->
  expect (target_only 1 1 p xs) phi = expect (@naive_sampling W p xs) phi.
Proof.
case=> p0 p1 uxs; have := @try_siblings_law p 0 p xs phi (lexx 0) p0.
by rewrite p1 subr0 mul1r naive_samplingE => ->.
Qed.

(* The token at one node of distinct siblings follows the target's law. *)
Theorem target_only_node p xs : is_dist p -> uniq xs -> node_ok (target_only 1 1) id p xs.
Proof. by move=> pd uxs y; rewrite target_only_naive_node // naive_sampling_node. Qed.

(* SGLang's tree_speculative_sampling_target_only, with both thresholds 1, is lossless on every tree of fixed
   tokens, of any depth, whose siblings are distinct. *)
Theorem target_only_lossless target t c : (forall c, is_dist (target c)) -> distinct t ->
  lossless target (walk_nodes (target_only 1 1) target t c) c.
Proof.
move=> td; apply: (@node_lossless _ _ _ _ id (fun xs => uniq xs)) => // r xs.
exact: target_only_node.
Qed.

(* More than that: on such a tree it emits the same sequences as point-mass verification and as naive sampling,
   each with the same probability. So all three accept equally many tokens. *)
Theorem target_only_naive target t c f : (forall c, is_dist (target c)) -> distinct t ->
  expect (walk_nodes (target_only 1 1) target t c) f = expect (walk_nodes (@naive_sampling W) target t c) f.
Proof. by move=> td; apply: eq_walk_nodes => {}c xs phi; apply: target_only_naive_node. Qed.

Theorem point_mass_target_only target t c f : (forall c, is_dist (target c)) -> distinct t ->
  expect (walk_nodes (target_only 1 1) target t c) f
  = expect (speculate (@point_mass W) target (plant_tokens t) c) f.
Proof. by move=> td dt; rewrite target_only_naive // point_mass_naive. Qed.

(* What goes wrong otherwise. *)
Notation chance xs t single acc p := (expect (target_only single acc p xs) (fun o => (decided o == t)%:R)).

Lemma chance_end single acc p low cumulative rest t :
  expect (@try_siblings W single acc p low 1 cumulative rest [::]) (fun o => (decided o == t)%:R)
  = @norm W rest t.
Proof. by rewrite [LHS]/= sumE sum_at. Qed.

Lemma chance_tried single acc p low cumulative rest t : \sum_x rest x != rest t ->
  expect (@try_siblings W single acc p low 1 cumulative (@without W rest [:: t]) [::])
    (fun o => (decided o == t)%:R) = 0 :> R.
Proof. by move=> left; rewrite chance_end normE ?without_one ?subr_eq0 // /without /= mem_head mul0r. Qed.

Lemma target_only_mass single acc p : is_dist p -> expect (target_only single acc p [::]) (fun=> 1) = 1 :> R.
Proof.
move=> [p0 p1]; rewrite [LHS](expect_draw (@norm W p)) -[RHS]p1; apply: eq_bigr => x _.
by rewrite mulr1 normE p1 ?oner_neq0 // divr1.
Qed.

(* A tree of one level on which a token is not emitted with its target probability is a counterexample. *)
Lemma chance_lossy single acc target c xs t : (forall c, is_dist (target c)) ->
  chance xs t single acc (target c) <> target c t ->
  ~ lossless target (walk_nodes (target_only single acc) target (one_level xs) c) c.
Proof.
move=> td ne H; apply: ne; apply: (@node_necessary _ _ _ _ id) => // y.
exact: target_only_mass.
Qed.

(* A single sibling is emitted outright from [single] on, and otherwise with its probability over [acc]. (If
   both thresholds were above 1, a sibling of probability 1 could be rejected, and what is left of the target
   would be 0/0.) *)
Lemma one_sibling_chance single acc p t : is_dist p -> 0 < acc -> (single <= 1) || (acc <= 1) ->
  chance [:: t] t single acc p = if single <= p t then 1 else Num.min (p t / acc) 1.
Proof.
move=> pd acc0 range; have [p0 p1] := pd; have accn0 := lt0r_neq0 acc0.
rewrite expect_try // add0r ?divr_ge0 ?(ltW acc0) // !subr0 divE ?oner_neq0 // divr1 eqxx mulr1.
case: ifP => [_|small]; first by rewrite mulr1 addrC subrK.
case: (eqVneq (p t) 1) => [pt|ptn1]; last by rewrite chance_tried ?p1 1?eq_sym // mulr0 addr0.
have acc1 : acc <= 1 by move: range small; rewrite pt => /orP[->|].
by rewrite pt min_r ?subrr ?mul0r ?addr0 // ler_pdivl_mulr ?mul1r.
Qed.

(* So a threshold that the sibling's probability reaches makes it certain. *)
Theorem threshold_certain single acc p t : is_dist p -> 0 < acc -> (single <= p t) || (acc <= p t) ->
  chance [:: t] t single acc p = 1.
Proof.
move=> pd acc0 le; have p1 := dist_le1 t pd; rewrite one_sibling_chance //; last first.
  by case/orP: le => /le_trans/(_ p1) ->; rewrite ?orbT.
by case: ifP le => //= _ le; rewrite min_r // ler_pdivl_mulr // mul1r.
Qed.

(* threshold_acc below 1, whatever threshold_single is: lossy on the tree of one sibling, for every target that
   gives the sibling a probability other than 0 and 1. *)
Theorem threshold_acc_lossy single acc target c t : (forall c, is_dist (target c)) ->
  0 < acc < 1 -> 0 < target c t < 1 ->
  ~ lossless target (walk_nodes (target_only single acc) target (one_level [:: t]) c) c.
Proof.
move=> td /andP[acc0 acc1] /andP[p0 p1]; apply: (chance_lossy (t := t)) => //; apply/eqP.
rewrite one_sibling_chance ?(ltW acc1) ?orbT //; case: ifP => _; first by rewrite gt_eqF.
by rewrite gt_eqF // lt_minr p1 andbT ltr_pdivl_mulr // gtr_pmulr.
Qed.

(* threshold_single below 1, whatever threshold_acc is: the same, for every target that gives the sibling that
   much, but not 1. *)
Theorem threshold_single_lossy single acc target c t : (forall c, is_dist (target c)) ->
  0 < acc -> single <= target c t < 1 ->
  ~ lossless target (walk_nodes (target_only single acc) target (one_level [:: t]) c) c.
Proof.
move=> td acc0 /andP[ps p1]; apply: (chance_lossy (t := t)) => //; apply/eqP.
by rewrite one_sibling_chance ?ps ?gt_eqF // (le_trans ps (ltW p1)).
Qed.

(* A target of two tokens. *)
Definition two_tokens t u tau : T -> R := fun x => if x == t then tau else if x == u then 1 - tau else 0.

Lemma two_tokens_dist t u tau : t != u -> 0 <= tau <= 1 -> is_dist (two_tokens t u tau).
Proof.
move=> tu /andP[tau0 tau1]; split=> [x|].
  by rewrite /two_tokens; case: ifP => // _; case: ifP => //; rewrite subr_ge0.
have ut : u != t by rewrite eq_sym.
rewrite (bigD1 t) //= (bigD1 u) //= /two_tokens !eqxx (negbTE ut) big1 => [|x /andP[/negbTE -> /negbTE ->] //].
by rewrite addr0 addrC subrK.
Qed.

(* The thresholds in SGLang's range, (0, 1], for which the rule is lossless: both 1, and no others. *)
Theorem target_only_iff single acc : (1 < #|T|)%N -> 0 < single <= 1 -> 0 < acc <= 1 ->
  (forall target, (forall c, is_dist (target c)) -> forall t c, distinct t ->
     lossless target (walk_nodes (target_only single acc) target t c) c)
  <-> single = 1 /\ acc = 1.
Proof.
move=> /card_gt1P[t [u [_ _ tu]]] /andP[s0 s1] /andP[a0 a1]; split=> [H|[-> ->] target td tr c]; last first.
  exact: target_only_lossless.
have lossless_at tau : 0 < tau < 1 ->
    lossless (fun=> two_tokens t u tau) (walk_nodes (target_only single acc) (fun=> two_tokens t u tau)
      (one_level [:: t]) [::]) [::].
  by case/andP=> tau0 tau1; apply: H => // c; apply: two_tokens_dist; rewrite ?ltW.
have dist tau : 0 < tau < 1 -> is_dist (two_tokens t u tau).
  by case/andP=> tau0 tau1; apply: two_tokens_dist; rewrite ?ltW.
split; apply/eqP; rewrite eq_le ?s1 ?a1 /= leNgt; apply/negP => lt.
  have ok : 0 < single < 1 by rewrite s0.
  apply: threshold_single_lossy (lossless_at _ ok) => // [c|]; first exact: dist.
  by rewrite /two_tokens eqxx lexx.
have ok : 0 < acc < 1 by rewrite a0.
apply: threshold_acc_lossy (lossless_at _ ok) => // [c|]; first exact: dist.
by rewrite /two_tokens eqxx.
Qed.

(* Siblings must be distinct: one that is drafted twice is emitted with twice its probability. *)
Theorem duplicate_sibling p t : is_dist p -> chance [:: t; t] t 1 1 p = Num.min (p t + p t) 1.
Proof.
move=> pd; have p0 := dist_ge0 t pd; have p1 := dist_le1 t pd.
rewrite expect_try ?oner_neq0 // add0r divr1 // min_l // !subr0 divE ?oner_neq0 // divr1 eqxx mulr1.
case: (boolP (1 <= p t)) => [one|small].
  by rewrite mulr1 addrC subrK min_r // (le_trans one) // ler_addl.
rewrite -ltNge in small; have some_left : 1 - p t != 0 by rewrite subr_eq0 gt_eqF.
have left : \sum_x @without W p [:: t] x != @without W p [:: t] t.
  by rewrite without_one (dist_sum pd) /without /= mem_head.
rewrite expect_try ?oner_neq0 // divr1 ?ler_addl // eqxx mulr1 leNgt small chance_tried // mulr0 addr0.
by rewrite divE // mulrC divfK // addrC subrK.
Qed.

(* So with the thresholds at 1 the rule is lossy where a sibling repeats, for every target that gives it a
   probability other than 0 and 1: at 1/2 it is emitted with probability 1. *)
Theorem duplicate_sibling_lossy target c t : (forall c, is_dist (target c)) -> 0 < target c t < 1 ->
  ~ lossless target (walk_nodes (target_only 1 1) target (one_level [:: t; t]) c) c.
Proof.
move=> td /andP[p0 p1]; apply: (chance_lossy (t := t)) => //; apply/eqP.
by rewrite duplicate_sibling // gt_eqF // lt_minr p1 ltr_addl p0.
Qed.

Lemma duplicate_sibling_certain p t : is_dist p -> p t = 1 / 2%:R -> chance [:: t; t] t 1 1 p = 1.
Proof.
by move=> pd half; rewrite duplicate_sibling // half -splitr minxx.
Qed.

End TargetOnly.
