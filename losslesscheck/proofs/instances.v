(* The step rules are lossless on the trees that are drafted: chains, i.i.d. siblings, siblings without
   replacement, trees of fixed tokens, and any mixture of widths and depths.

   Everything here is a corollary of tree.v and step.v. A tree is a shape, planted with drafts that depend on
   the context and on the siblings tried, or a tree of fixed tokens; the papers' trees are all of these. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless tree rules step.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The largest number of siblings at any node. *)
Fixpoint width (s : shape) : nat :=
  let: Shape ss := s in maxn (size ss) (foldr (fun s' => maxn (width s')) 0%N ss).

Lemma widthE ss n : (width (Shape ss) <= n)%N = (size ss <= n)%N && all (fun s => width s <= n)%N ss.
Proof. by rewrite [width _]/= geq_max; congr (_ && _); elim: ss => //= s ss <-; rewrite geq_max. Qed.

(* A chain of [length] drafts, and the regular tree with [k] siblings at every node of a level, for the
   numbers [k] of [ks]. *)
Fixpoint chain_shape (length : nat) : shape :=
  if length is l.+1 then Shape [:: chain_shape l] else Shape [::].

Fixpoint regular_shape (ks : seq nat) : shape :=
  if ks is k :: ks' then Shape (nseq k (regular_shape ks')) else Shape [::].

Section Instances.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).

(* What is planted is admitted, if the draft after [k] siblings is, for every [k] below the width; [after k]
   is what is known of the tokens tried by then. *)
Lemma plant_admissible D (grow : seq T -> seq T -> Prop) (admitted : seq T -> D -> Prop)
    (after : nat -> seq T -> Prop) (q : context -> seq T -> D) n s c :
  after 0%N [::] -> (forall k tried tried', after k tried -> grow tried tried' -> after k.+1 tried') ->
  (forall c k tried, after k tried -> (k < n)%N -> admitted tried (q c tried)) -> (width s <= n)%N ->
  admissible (R := R) grow admitted (@plant W D q s c) [::].
Proof.
move=> after0 afterS admit; elim/shape_induction: s c => ss IH c.
rewrite widthE plantE => /andP[sn wn].
move: after0 sn; rewrite -[size ss]add0n; move: 0%N [::] => k tried.
elim: ss k tried IH wn => [|s ss IHss] k tried //= [IH all_IH] /andP[wn wsn] ak kn; split.
- by apply: admit ak _; apply: leq_trans kn; rewrite addnS ltnS leq_addr.
- by move=> x; apply: IH.
- by move=> tried' gr; apply: (IHss k.+1) => //; [apply: afterS gr | rewrite addSnnS].
Qed.

Lemma plant_tokens_admissible grow t tried :
  admissible (R := R) grow (fun _ _ => True) (@plant_tokens W t) tried.
Proof.
elim/token_tree_induction: t tried => ts /=; elim: ts => //= -[x t] ts IHts [IH all_IH] tried.
by split=> // tried' _; apply: IHts.
Qed.

(* Any rule that is written as a step: if the step is unbiased, and its residuals distributions, for any
   distribution left of the target, any tokens tried and any admitted draft, then it is lossless on every
   tree, at every context, for every target. With [q] not looking at the tokens tried, this is the statement
   about a rule that is given the draft's law and the siblings already tried. *)
Theorem token_tree_lossless D (rule : step W D) (admitted : D -> Prop) :
  (forall (r : T -> R) tried d, is_dist r -> admitted d -> step_ok rule (fun _ _ => True) r tried d) ->
  forall target : context -> T -> R, (forall c, is_dist (target c)) ->
  forall q : context -> seq T -> D, (forall c tried, admitted (q c tried)) ->
  forall s c, lossless target (@speculate W D rule target (@plant W D q s c) c) c.
Proof.
move=> ok target target_dist q admit s c.
apply: (tree_lossless (grow := fun _ _ => True) (admitted := fun _ => admitted)) => //.
by apply: (@plant_admissible _ _ _ (fun _ _ => True) q (width s)).
Qed.

(* The same for a rule that is given fixed tokens. *)
Theorem fixed_tree_lossless (rule : step W T) :
  (forall (r : T -> R) tried x, is_dist r -> step_ok rule (fun _ _ => True) r tried x) ->
  forall target : context -> T -> R, (forall c, is_dist (target c)) ->
  forall t c, lossless target (@speculate W T rule target (@plant_tokens W t) c) c.
Proof.
move=> ok target target_dist t c.
apply: (tree_lossless (grow := fun _ _ => True) (admitted := fun _ _ => True)) => //.
  by move=> r tried x rd _; apply: ok.
exact: plant_tokens_admissible.
Qed.

Variable target : context -> T -> R.
Hypothesis target_dist : forall c, is_dist (target c).

Section Speculative.
(* The draft at a context may depend on the siblings that were rejected there: i.i.d. siblings, and any
   other way to draw them from a distribution. *)
Variable q : context -> seq T -> T -> R.
Hypothesis q_dist : forall c tried, is_dist (q c tried).

Notation speculative_step s c := (@speculate W _ (@speculative W) target (@plant W _ q s c) c).

Lemma plant_dist s c : admissible (R := R) (@grows T) (fun _ => @is_dist R T) (@plant W _ q s c) [::].
Proof. by apply: (@plant_admissible _ _ _ (fun _ _ => True) q (width s)). Qed.

Lemma plant_few s c : (width s <= #|T|)%N ->
  admissible (R := R) (@grows T) (fun tried d => is_dist d /\ (size tried < #|T|)%N) (@plant W _ q s c) [::].
Proof.
move=> wide; apply: (@plant_admissible _ _ _ (fun k tried => size tried = k) q #|T|) => //.
  by move=> k tried _ <- [x ->]; rewrite size_rcons.
by move=> c' k tried <-.
Qed.

(* Multi-step speculative sampling on token trees (Miao et al. 2023, Alg. 2, Thm 4.2). *)
Theorem multi_step_lossless s c : lossless target (speculative_step s c) c.
Proof.
apply: (tree_lossless (grow := @grows T) (admitted := fun _ => @is_dist R T)) => //.
  by move=> r tried d; apply: speculative_step_ok.
exact: plant_dist.
Qed.

(* A chain of any length (Leviathan et al. 2023, Alg. 1; Chen et al. 2023, Alg. 2). *)
Theorem chain_lossless length c : lossless target (speculative_step (chain_shape length) c) c.
Proof. exact: multi_step_lossless. Qed.

(* A tree with the same number of siblings at every node of a level. *)
Theorem k_ary_lossless ks c : lossless target (speculative_step (regular_shape ks) c) c.
Proof. exact: multi_step_lossless. Qed.

(* The first tokens after [c], continued by plain decoding, have the target's joint law. *)
Theorem multi_step_joint s c (w : seq T) :
  expect (bind (speculative_step s c) (@finish W target (size c + size w))) (fun e => (e == c ++ w)%:R)
  = joint target c w.
Proof. by apply: lossless_joint; apply: multi_step_lossless. Qed.

(* Steps one after the other, each on a tree of its own that may depend on the context, ... *)
Theorem multi_step_rounds (s : context -> shape) k c :
  lossless target (rounds (fun c' => speculative_step (s c') c') k c) c.
Proof. by apply: rounds_lossless => c'; apply: multi_step_lossless. Qed.

(* ... and the generation loop itself: the first [n] tokens after [c], emitted by [n] such steps and by nothing
   else, have the law of plain decoding. *)
Theorem multi_step_generation (s : context -> shape) n c f :
  expect (rounds (fun c' => speculative_step (s c') c') n c) (fun e => f (take (size c + n) e))
  = expect (@decode W target n c) f.
Proof.
by apply: generation_lossless => // c'; [apply: multi_step_lossless | apply: walk_emits].
Qed.

(* Siblings without replacement (Chen et al. 2024, Sequoia; Jeon et al. 2024, RSD), on every tree in which no
   node has more siblings than there are tokens. *)
Theorem without_replacement_lossless s c : (width s <= #|T|)%N ->
  lossless target (@speculate W _ (@without_replacement W) target (@plant W _ q s c) c) c.
Proof.
move=> wide; apply: tree_lossless (plant_few c wide) => // r tried d rd [dd few].
by apply: without_replacement_step_ok; rewrite ?few_untried.
Qed.

End Speculative.

(* Trees of fixed tokens (Miao et al. 2023, Alg. 2, on drafts that are point masses; He et al. 2023, REST),
   the same token among siblings twice included. *)
Theorem point_mass_lossless t c :
  lossless target (@speculate W _ (@point_mass W) target (@plant_tokens W t) c) c.
Proof.
apply: (tree_lossless (grow := @grows T) (admitted := fun _ _ => True)) => //.
  by move=> r tried x rd _; apply: point_mass_step_ok.
exact: plant_tokens_admissible.
Qed.

End Instances.
