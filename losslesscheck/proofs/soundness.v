(* Every rule is a law, on every tree: its coins have probabilities in [0, 1], and it draws from distributions.

   An equation between expected values could hold of weights that are negative, or do not add up to 1, as well.
   A sound program has no such weights: the probabilities of what it emits add up to 1 ([expect_const]), the
   list of its outcomes is its law ([expect_outcomes]), and whether it is lossless can be read off the
   probabilities of its prefixes ([prefix_criterion]). Here it is shown of the walks of all rules, lossless or
   not, and of the engines; of block verification it is [block_verification_sound] in block.v, of the translated
   texts texts_sound.v. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless tree criterion node rules step instances chain.
From Losslesscheck Require Import eager.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Soundness.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Variable target : context -> T -> R.
Hypothesis target_dist : forall c, is_dist (target c).

(* Plain decoding after a law is a law, and so are rounds of laws. *)
Lemma finish_sound n c : sound (@finish W target n c).
Proof. by rewrite /finish; elim: (n - size c)%N (take n c) => [|m IH] c'. Qed.

Lemma rounds_sound (law : context -> program W context) k c :
  (forall c, sound (law c)) -> sound (rounds law k c).
Proof.
by move=> s; elim: k c => [|k IH] c //; apply/sound_bind; split; [apply: s | apply: all_reached].
Qed.

(* Step rules. *)
Section Steps.
Variables (D : Type) (rule : step W D) (grow : seq T -> seq T -> Prop) (admitted : seq T -> D -> Prop).
Hypothesis rule_sound : forall (r : T -> R) tried d, is_dist r -> admitted tried d -> sound (rule r tried d).
Hypothesis residuals : forall (r : T -> R) tried d,
  is_dist r -> admitted tried d -> reached (residual_ok grow tried) (rule r tried d).

(* If the step is sound, and its residuals are distributions, then the whole walk is sound, on every tree. *)
Theorem walk_sound t c (r : T -> R) tried : admissible grow admitted t tried -> is_dist r ->
  sound (walk rule target t c r tried).
Proof.
elim: t c r tried => [|d under IHunder beside IHbeside] c r tried; first by move=> _; split.
case=> ad adunder adbeside rd; apply/sound_bind; split; first exact: rule_sound.
apply: sub_reached (residuals rd ad) => -[x _|r' tried' [r'd gr]].
  by apply: IHunder => //; exact: adunder.
by apply: IHbeside => //; apply: adbeside.
Qed.

(* So it is lossless if and only if its prefix probabilities satisfy the criterion, which is what
   losslesscheck/law.py compares. *)
Theorem tree_prefix_criterion t : admissible grow admitted t [::] ->
  let law := speculate rule target t [::] in
  lossless target law [::]
  <-> forall w y, begins law (rcons w y) = target w y * \sum_z begins law (rcons w z).
Proof. by move=> adt; apply/prefix_criterion/walk_sound. Qed.

End Steps.

(* Node rules. *)
Section Nodes.
Variables (rule : node_rule W) (admitted : seq T -> Prop).
Hypothesis rule_sound : forall c xs, admitted xs -> sound (rule (target c) xs).

(* If the rule is sound at every node, with the siblings that it is given, then the whole walk is sound. *)
Theorem walk_nodes_sound t c : @all_nodes W admitted t -> sound (walk_nodes rule target t c).
Proof.
elim/token_tree_induction: t c => ts IH c /all_nodesE[ad adts].
rewrite walk_nodesE; apply/sound_bind; split; first exact: rule_sound.
apply: all_reached => -[] y //=.
elim: ts IH adts {ad} => [|[x t] ts IHts] //= [IHt IH] [adt adts].
by case: eqP => _; [apply: IHt | apply: IHts].
Qed.

(* So the criterion applies. Here the law to be reproduced may be another than the target's, as in greedy
   decoding. *)
Theorem node_prefix_criterion (next : context -> T -> R) t : @all_nodes W admitted t ->
  let law := walk_nodes rule target t [::] in
  lossless next law [::]
  <-> forall w y, begins law (rcons w y) = next w y * \sum_z begins law (rcons w z).
Proof. by move=> adt; apply/prefix_criterion/walk_nodes_sound. Qed.

End Nodes.

(* The step rules on the trees that are drafted. *)
Section Planted.
Variable q : context -> seq T -> T -> R.
Hypothesis q_dist : forall c tried, is_dist (q c tried).

(* Multi-step speculative sampling, on chains and on any other tree. *)
Theorem multi_step_sound s c : sound (@speculate W _ (@speculative W) target (@plant W _ q s c) c).
Proof.
apply: walk_sound (plant_dist q_dist s c) (target_dist c) => r tried d rd dd; first exact: speculative_sound.
exact: (speculative_step_ok tried rd dd).2.
Qed.

(* Siblings without replacement, as long as no node has more of them than there are tokens. *)
Theorem without_replacement_tree_sound s c : (width s <= #|T|)%N ->
  sound (@speculate W _ (@without_replacement W) target (@plant W _ q s c) c).
Proof.
move=> wide; apply: walk_sound (plant_few q_dist c wide) (target_dist c) => r tried d rd [dd few];
  have untried := few_untried few.
  exact: without_replacement_sound.
exact: (without_replacement_step_ok dd untried rd).2.
Qed.

End Planted.

(* Trees of fixed tokens. *)
Theorem point_mass_tree_sound t c : sound (@speculate W _ (@point_mass W) target (@plant_tokens W t) c).
Proof.
apply: walk_sound (plant_tokens_admissible (@grows T) t [::]) (target_dist c) => r tried x rd _.
  exact: point_mass_sound.
exact: (point_mass_step_ok x rd tried).2.
Qed.

(* Naive sampling, on every tree of tokens. *)
Theorem naive_sampling_sound t c : sound (walk_nodes (@naive_sampling W) target t c).
Proof. by apply: (walk_nodes_sound (admitted := fun=> True)) => //; apply: all_nodes_true. Qed.

(* Greedy verification of a tree, which draws nothing. *)
Theorem tree_greedy_sound x0 t c : sound (walk_nodes (@tree_greedy W x0) target t c).
Proof. by apply: (walk_nodes_sound (admitted := fun=> True)) => //; apply: all_nodes_true. Qed.

(* As long as siblings are tried, the coin is below 1, and so is their cumulative probability: something is
   left of the target. *)
Lemma try_siblings_sound single acc (p rest : T -> R) low cumulative xs :
  0 < acc <= 1 -> (forall x, 0 <= p x) -> (forall x, 0 <= rest x) -> {in xs, forall x, rest x <= p x} ->
  0 <= low < 1 -> cumulative < 1 -> 1 - cumulative <= \sum_x rest x ->
  sound (@try_siblings W single acc p low 1 cumulative rest xs).
Proof.
move=> /andP[acc0 acc1] p0; elim: xs low cumulative rest => [|x xs IH] low cumulative rest rest0 le_p.
  move=> _ cum1 left; split=> //; apply: norm_dist => //.
  by rewrite gt_eqF // (lt_le_trans _ left) // subr_gt0.
move=> /andP[low0 low1] cum1 left; apply: below_sound => //.
rewrite (divE _ _ (lt0r_neq0 acc0)); set bound := Num.min _ _ => /andP[lb bound1].
case: ifP => // _; have : (cumulative + p x) / acc < 1.
  by move: bound1; rewrite lt_minl ltxx orbF lt_maxl => /andP[].
rewrite ltr_pdivr_mulr // mul1r => threshold1; apply: IH.
- by move=> y; apply: without_ge0.
- by move=> y yxs; rewrite /without /=; case: ifP => // _; apply: le_p; rewrite inE yxs orbT.
- by rewrite bound1 (le_trans low0 lb).
- exact: lt_le_trans threshold1 acc1.
by rewrite without_one opprD addrA ler_sub // le_p // mem_head.
Qed.

Lemma target_only_node_sound single acc p xs : 0 < acc <= 1 -> is_dist p ->
  sound (@target_only W single acc p xs).
Proof.
move=> acc01 [p0 p1]; apply: try_siblings_sound; rewrite ?p1 ?subr0 ?lexx ?ltr01 //.
Qed.

(* Target-only verification, lossless or not: with any thresholds in SGLang's range, and any siblings. *)
Theorem target_only_sound single acc t c : 0 < acc <= 1 ->
  sound (walk_nodes (@target_only W single acc) target t c).
Proof.
move=> acc01; apply: (walk_nodes_sound (admitted := fun=> True)) => [c' xs _|]; last exact: all_nodes_true.
exact: target_only_node_sound.
Qed.

(* The rules on a chain. *)
Section Chain.
Variable draft : context -> T -> R.
Hypothesis draft_dist : forall c, is_dist (draft c).

Lemma inverse_transform_sound v : is_dist v -> sound (@inverse_transform W v).
Proof.
move=> vd; have total := dist_sum vd; rewrite -big_enum /= in total.
rewrite /inverse_transform /=; case: (enum T) total => [|x xs] _; first by split.
have := @ltr01 R; move: 0 {3}0 => low before; elim: xs x low before => [|x' xs IH] x low before low1 //.
by apply: below_sound => // /andP[_ b1]; apply: IH.
Qed.

Lemma emit_sound v c : is_dist v -> sound (@emit W v c).
Proof.
by move=> vd; apply/sound_bind; split; [apply: inverse_transform_sound | apply: all_reached].
Qed.

Lemma verify_coins_sound c xs : drawable draft c xs -> sound (@verify_coins W target draft c xs).
Proof.
elim: xs c => [|x xs IH] c; first by move=> _; apply: emit_sound.
case=> dn0 dxs; have d0 := dist_ge0 x (draft_dist c); have p0 := dist_ge0 x (target_dist c).
have pos : (0 < draft c x)%R by rewrite lt_def dn0 d0.
have drawn : (0 < draft c x)%R && (draft c x <= 1)%R by rewrite pos dist_le1.
rewrite ltNge in drawn; rewrite [verify_coins _ _ _ _]/= drawn divE //.
apply: below_sound; rewrite ?ltr01 //; first exact: IH.
case/andP=> _; rewrite lt_minl ltxx orbF lt_maxl ltr01 /= ltr_pdivr_mulr // mul1r => less.
by apply: emit_sound; apply: residual_dist less.
Qed.

(* SGLang's chain kernel: a recovery is reached only where it draws from a distribution. *)
Theorem chain_kernel_sound length c : sound (@chain_kernel W target draft length c).
Proof.
apply/sound_bind; split; first exact: draft_path_sound.
by apply: sub_reached (draft_path_drawable draft length c) => xs [dxs _]; apply: verify_coins_sound.
Qed.

(* Blockwise parallel decoding, which draws nothing. *)
Theorem blockwise_sound x0 length c : sound (@blockwise W x0 target draft length c).
Proof. by []. Qed.

End Chain.

(* The engines: the whole tree drafted first, and then verified. *)
Section Eager.
Variables (D : Type) (offer : seq T -> D -> T -> R) (q : context -> seq T -> D) (j : judge W D).
Variables (admitted : seq T -> D -> Prop) (n : nat).
Notation rule := (@drawn W D offer j).
Notation draft := (@draft_tree W D offer q).
Notation draft_beside := (@draft_siblings W D offer q draft).
Notation verify := (@verify_tree W D q j target).
Notation verify_beside := (@verify_siblings W D q j verify).

Hypothesis judge_decides : forall r tried d x, reached (decides tried x) (j r tried d x).
Hypothesis rule_sound : forall (r : T -> R) tried d, is_dist r -> admitted tried d -> sound (rule r tried d).
Hypothesis residuals : forall (r : T -> R) tried d,
  is_dist r -> admitted tried d -> reached (residual_ok (@grows T) tried) (rule r tried d).
Hypothesis q_admitted : forall c before, (size before < n)%N -> admitted before (q c before).

Lemma offer_dist c before : (size before < n)%N -> is_dist (offer before (q c before)).
Proof. by move=> few; have [] := rule_sound (target_dist c) (q_admitted c few). Qed.

Lemma verify_beside_sound c ss before :
  in_all (fun s => forall c, (width s <= n)%N -> reached (fun t => sound (verify t c)) (draft s c)) ss ->
  all (fun s => width s <= n)%N ss -> (size ss + size before <= n)%N ->
  reached (fun ts => forall r : T -> R, is_dist r -> sound (verify_beside c ts r before))
    (draft_beside c ss before).
Proof.
elim: ss before => [|s ss IH] before; first by move=> _ _ _ r rd; split.
move=> [under unders] /andP[w ws] sn x qx.
have ad : admitted before (q c before) by apply: q_admitted; rewrite (leq_trans _ sn) // ltnS leq_addl.
apply/reached_bind; apply: sub_reached (under _ w) => t st; apply/reached_bind.
have sn' : (size ss + size (rcons before x) <= n)%N by rewrite size_rcons addnS.
apply: sub_reached (IH _ unders ws sn') => ts sts r rd.
have [_ judge_sound] := rule_sound rd ad; have left := residuals rd ad qx.
apply/sound_bind; split; first exact: judge_sound.
apply: sub_reached (reached_and (judge_decides r before (q c before) x) left).
by case=> [y [->]|r' tried' [-> [r'd _]]] //; apply: sts.
Qed.

(* Whatever is drafted is verified by a sound program, if the step rule that draws as it goes is sound. *)
Theorem draft_then_verify_sound s c : (width s <= n)%N -> sound (@draft_then_verify W D offer q j target s c).
Proof.
move=> wn; apply/sound_bind; split.
  by apply: (draft_sound (n := n)) => // c' before; apply: offer_dist.
elim/shape_induction: s c wn => ss IH c; rewrite widthE => /andP[sn wn].
rewrite draft_treeE; apply/reached_bind.
have := verify_beside_sound c (before := [::]) IH wn; rewrite addn0 => /(_ sn).
by apply: sub_reached => ts sts; apply: sts.
Qed.

(* The same for trees that are drafted level by level, as engines do it. *)
Notation narrow := (all (fun e : shape * context => (width e.1 <= n)%N)).

Lemma draft_row_sound c ss before : (size ss + size before <= n)%N ->
  sound (@draft_row W D offer q c ss before).
Proof.
elim: ss before => [|s ss IH] before //= sn.
split=> [|x _]; first by apply: offer_dist; rewrite (leq_trans _ sn) // ltnS leq_addl.
by apply/sound_bind; split; [apply: IH; rewrite size_rcons addnS | apply: all_reached].
Qed.

Lemma draft_row_shapes c ss before :
  reached (fun xs => [seq x.1 | x <- xs] = ss) (@draft_row W D offer q c ss before).
Proof.
elim: ss before => [|s ss IH] before //= x _; apply/reached_bind.
by apply: sub_reached (IH (rcons before x)) => xs /= ->.
Qed.

Lemma draft_rows_sound nodes : narrow nodes -> sound (@draft_rows W D offer q nodes).
Proof.
elim: nodes => [|[[ss] c] nodes IH] // /andP[]; rewrite widthE => /andP[sn _] narrow.
apply/sound_bind; split; first by apply: draft_row_sound; rewrite addn0.
by apply: all_reached => xs; apply/sound_bind; split; [apply: IH | apply: all_reached].
Qed.

Lemma draft_rows_narrow nodes : narrow nodes ->
  reached (fun rows => narrow (flatten [seq @next_level W e | e <- rows])) (@draft_rows W D offer q nodes).
Proof.
elim: nodes => [|[[ss] c] nodes IH] // /andP[]; rewrite widthE => /andP[_ under] narrow.
apply/reached_bind; apply: sub_reached (draft_row_shapes c ss [::]) => xs shapes.
apply/reached_bind; apply: sub_reached (IH narrow) => rows /= ok.
by rewrite all_cat ok andbT /next_level all_map; move: under; rewrite -shapes all_map.
Qed.

Lemma draft_levels_sound levels nodes : narrow nodes -> sound (@draft_levels W D offer q levels nodes).
Proof.
elim: levels nodes => [|l IH] nodes ok.
  elim: nodes ok => [|[s c] nodes IH] // /andP[wn ok]; apply/sound_bind; split.
    by apply: (draft_sound (n := n)) wn => c' before; apply: offer_dist.
  by apply: all_reached => t; apply/sound_bind; split; [apply: IH | apply: all_reached].
apply/sound_bind; split; first exact: draft_rows_sound.
apply: sub_reached (draft_rows_narrow ok) => rows narrow.
by apply/sound_bind; split; [apply: IH | apply: all_reached].
Qed.

(* Drafted in another order, the same trees are reached. *)
Theorem levels_then_verify_sound levels s c : (width s <= n)%N ->
  sound (@levels_then_verify W D offer q j target levels s c).
Proof.
move=> wn; have narrow : narrow [:: (s, c)] by rewrite /= wn.
have levels_sound l := draft_levels_sound l narrow; apply/sound_bind; split=> //.
pose ok ts := soundb (verify (head (Node [::]) ts) c).
apply: (sub_reached (P := ok)) => [ts /soundP //|].
apply: (same_reached (levels_sound 0%N)) => // [f|]; first by rewrite !draft_levels_law.
have /sound_bind[_ sound_under] := draft_then_verify_sound c wn.
by apply/reached_bind; apply: sub_reached sound_under => t /soundP.
Qed.

End Eager.

(* Multi-step speculative sampling with the whole tree drafted first, node by node, ... *)
Theorem eager_sound (q : context -> seq T -> T -> R) s c :
  (forall c' before, (size before < width s)%N -> is_dist (q c' before)) ->
  sound (@draft_then_verify W _ (fun _ d => d) q (@speculative_judge W) target s c).
Proof.
move=> q_dist; apply: (draft_then_verify_sound (admitted := fun _ => @is_dist R T) (n := width s)) => //.
  by move=> r tried d; apply: speculative_sound.
by move=> r tried d rd dd; exact: (speculative_step_ok tried rd dd).2.
Qed.

(* ... or level by level. *)
Theorem engine_sound levels (q : context -> seq T -> T -> R) s c :
  (forall c' before, (size before < width s)%N -> is_dist (q c' before)) ->
  sound (@levels_then_verify W _ (fun _ d => d) q (@speculative_judge W) target levels s c).
Proof.
move=> q_dist; apply: (levels_then_verify_sound (admitted := fun _ => @is_dist R T) (n := width s)) => //.
  by move=> r tried d; apply: speculative_sound.
by move=> r tried d rd dd; exact: (speculative_step_ok tried rd dd).2.
Qed.

(* Siblings without replacement, all of them drafted first, ... *)
Theorem eager_without_replacement_sound (q : context -> seq T -> T -> R) s c :
  (forall c' before, is_dist (q c' before)) -> (width s <= #|T|)%N ->
  sound (@draft_then_verify W _ (@redrafted W) q (@without_replacement_judge W) target s c).
Proof.
move=> q_dist wide; apply: (draft_then_verify_sound
    (admitted := fun tried d => is_dist d /\ (size tried < #|T|)%N) (n := #|T|)) => //.
  by move=> r tried d rd [dd /few_untried untried]; apply: without_replacement_sound.
by move=> r tried d rd [dd /few_untried untried]; exact: (without_replacement_step_ok dd untried rd).2.
Qed.

(* ... and level by level. *)
Theorem engine_without_replacement_sound levels (q : context -> seq T -> T -> R) s c :
  (forall c' before, is_dist (q c' before)) -> (width s <= #|T|)%N ->
  sound (@levels_then_verify W _ (@redrafted W) q (@without_replacement_judge W) target levels s c).
Proof.
move=> q_dist wide; apply: (levels_then_verify_sound
    (admitted := fun tried d => is_dist d /\ (size tried < #|T|)%N) (n := #|T|)) => //.
  by move=> r tried d rd [dd /few_untried untried]; apply: without_replacement_sound.
by move=> r tried d rd [dd /few_untried untried]; exact: (without_replacement_step_ok dd untried rd).2.
Qed.

End Soundness.
