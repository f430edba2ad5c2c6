(* Drafting first and verifying afterwards has the law of drafting as one goes.

   The papers' proofs, and the walk of walk.v, draw a draft token when it is tried; the drafts below a rejected
   token, and the siblings after an accepted one, are never drawn. An engine drafts the whole tree, runs the
   target on it once, and then verifies. Here the engine's order is written down, for any verification of drawn
   tokens and any drafts (i.i.d. siblings, siblings without replacement, any that depend on those before), and
   the sequence emitted is proved to have the same law: what is drawn and not looked at can be left out, and
   independent draws can be exchanged. For the same reason a tree may be drafted level by level. So the theorems
   about walks are theorems about engines.

   The shape is fixed before any of its tokens is drawn. A tree that is pruned or reordered by what was drawn is
   not covered, and can be lossy: if of two drafts the better one is kept, it has another law than the one that
   it is verified with. (In tree.v the tree below a draft may depend on the token accepted, and so on all tokens
   accepted before; here it may not.) *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless tree rules step instances.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.

Section Eager.
Variable W : world.
Notation tokens := (seq (token W)).

Variable D : Type. (* what is known of a draft token before it is drawn, its distribution to begin with *)

(* What is decided on a draft token once it has been drawn. It may flip coins, and it is given what is left of
   the target, the siblings tried before, what is known of the draft, and the token. *)
Definition judge := vector W -> tokens -> D -> token W -> program W (outcome W).

(* The distribution that the token is drawn from, after the siblings before it. *)
Variable offer : tokens -> D -> vector W.

(* The step rule that draws the token and decides at once. *)
Definition drawn (j : judge) : step W D := fun r tried d => Draw (offer tried d) (j r tried d).

(* The draft at a context, given the siblings before it there. *)
Variable q : context W -> tokens -> D.

(* The siblings of a node are drawn in order, below each of them its subtree. *)
Section DraftSiblings.
Variables (draft : shape -> context W -> program W (token_tree W)) (c : context W).

Fixpoint draft_siblings (ss : seq shape) (before : tokens) : program W (seq (token W * token_tree W)) :=
  if ss is s :: ss' then
    Draw (offer before (q c before)) (fun x =>
      bind (draft s (rcons c x)) (fun t =>
        bind (draft_siblings ss' (rcons before x)) (fun ts => Return ((x, t) :: ts))))
  else Return [::].
End DraftSiblings.

Fixpoint draft_tree (s : shape) (c : context W) : program W (token_tree W) :=
  let: Shape ss := s in bind (draft_siblings draft_tree c ss [::]) (fun ts => Return (Node ts)).

Lemma draft_treeE ss c :
  draft_tree (Shape ss) c = bind (draft_siblings draft_tree c ss [::]) (fun ts => Return (Node ts)).
Proof. by []. Qed.

(* The same trees drafted level by level, as engines do it: the siblings of every node of a level, then the
   level below. A node is a shape that is to be drafted below a context; a row is the siblings of a node, each
   with the shape below it. *)
Notation node := (shape * context W)%type.
Notation row := (seq (shape * token W)).

Fixpoint draft_row (c : context W) (ss : seq shape) (before : tokens) : program W row :=
  if ss is s :: ss' then
    Draw (offer before (q c before)) (fun x =>
      bind (draft_row c ss' (rcons before x)) (fun xs => Return ((s, x) :: xs)))
  else Return [::].

Fixpoint draft_rows (nodes : seq node) : program W (seq (context W * row)) :=
  if nodes is (Shape ss, c) :: nodes' then
    bind (draft_row c ss [::]) (fun xs =>
      bind (draft_rows nodes') (fun rows => Return ((c, xs) :: rows)))
  else Return [::].

Definition next_level (e : context W * row) : seq node := [seq (x.1, rcons e.1 x.2) | x <- e.2].

Definition join (xs : row) (ts : seq (token_tree W)) : token_tree W := Node (zip [seq x.2 | x <- xs] ts).

(* Every row takes its subtrees from the trees drafted for the level below. *)
Fixpoint join_rows (rows : seq (context W * row)) (ts : seq (token_tree W)) : seq (token_tree W) :=
  if rows is (_, xs) :: rows' then join xs (take (size xs) ts) :: join_rows rows' (drop (size xs) ts)
  else [::].

(* Nodes one after the other, each with everything below it. *)
Fixpoint draft_trees (nodes : seq node) : program W (seq (token_tree W)) :=
  if nodes is (s, c) :: nodes' then
    bind (draft_tree s c) (fun t => bind (draft_trees nodes') (fun ts => Return (t :: ts)))
  else Return [::].

(* The first [levels] levels one by one, what is below them node by node. *)
Fixpoint draft_levels (levels : nat) (nodes : seq node) : program W (seq (token_tree W)) :=
  if levels is l.+1 then
    bind (draft_rows nodes) (fun rows =>
      bind (draft_levels l (flatten [seq next_level e | e <- rows])) (fun ts => Return (join_rows rows ts)))
  else draft_trees nodes.

Variables (j : judge) (target : model W).

(* The walk down a tree of tokens that are drawn already. *)
Section VerifySiblings.
Variables (verify : token_tree W -> context W -> program W (context W)) (c : context W).

Fixpoint verify_siblings (ts : seq (token W * token_tree W)) (r : vector W) (tried : tokens) :
    program W (context W) :=
  if ts is (x, t) :: ts' then
    bind (j r tried (q c tried) x) (fun o =>
      match o with
      | Accept y => verify t (rcons c y)
      | Reject r' tried' => verify_siblings ts' r' tried'
      end)
  else Draw r (fun y => Return (rcons c y)).
End VerifySiblings.

Fixpoint verify_tree (t : token_tree W) (c : context W) : program W (context W) :=
  let: Node ts := t in verify_siblings verify_tree c ts (target c) [::].

(* One step of an engine, with the tree drafted node by node, or level by level. *)
Definition draft_then_verify (s : shape) (c : context W) : program W (context W) :=
  bind (draft_tree s c) (fun t => verify_tree t c).

Definition levels_then_verify (levels : nat) (s : shape) (c : context W) : program W (context W) :=
  bind (draft_levels levels [:: (s, c)]) (fun ts => verify_tree (head (Node [::]) ts) c).

End Eager.

(* The judges of two rules; with their drawing they are the rules. *)
Section Judges.
Variable W : world.
Local Open Scope rule_scope.

Definition speculative_judge : judge W (vector W) := fun p tried q x =>
  Flip (smaller 1 (p x / q x))
    (Return (Accept x))
    (Return (Reject (residual p q) (rcons tried x))).

Definition without_replacement_judge : judge W (vector W) := fun p tried q x =>
  speculative_judge p tried (redrafted tried q) x.

Lemma speculativeE : @speculative W = drawn (fun _ q => q) speculative_judge.
Proof. by []. Qed.

Lemma without_replacementE : @without_replacement W = drawn (@redrafted W) without_replacement_judge.
Proof. by []. Qed.

End Judges.

Section Laws.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Local Open Scope ring_scope.

Section Drafts.
Variables (D : Type) (offer : seq T -> D -> T -> R) (q : context -> seq T -> D).
Notation draft := (@draft_tree W D offer q).
Notation draft_beside := (@draft_siblings W D offer q draft).

(* Drafting is sound if the drafts are distributions, as long as there is a sibling to draw. *)
Lemma draft_sound n s c :
  (forall c tried, (size tried < n)%N -> is_dist (offer tried (q c tried))) -> (width s <= n)%N ->
  sound (draft s c).
Proof.
move=> qd; elim/shape_induction: s c => ss IH c wn.
rewrite draft_treeE; apply/sound_bind; split; last exact: all_reached.
move: wn; rewrite widthE => /andP[sn under].
rewrite -[size ss]/(size (Nil T) + size ss)%N in sn.
elim: ss [::] IH under sn => [|s ss IHss] before //= [IH IHs] /andP[w ws] sn.
split=> [|x _]; first by apply: qd; rewrite (leq_trans _ sn) // addnS ltnS leq_addr.
apply/sound_bind; split; first exact: IH.
apply: all_reached => t; apply/sound_bind; split; last exact: all_reached.
by apply: IHss; rewrite // size_rcons addSnnS.
Qed.

(* Level by level: all siblings of a node can be drawn before what is below any of them. *)
Notation draft_row := (@draft_row W D offer q).
Notation draft_rows := (@draft_rows W D offer q).
Notation draft_trees := (@draft_trees W D offer q).
Notation draft_levels := (@draft_levels W D offer q).

Lemma draft_trees_size nodes : reached (fun ts => size ts = size nodes) (draft_trees nodes).
Proof.
elim: nodes => [|[s c] nodes IH] //; apply/reached_bind/all_reached => t.
by apply/reached_bind; apply: sub_reached IH => ts /= ->.
Qed.

Lemma draft_trees_cat nodes nodes' f : expect (draft_trees (nodes ++ nodes')) f
  = expect (draft_trees nodes) (fun ts => expect (draft_trees nodes') (fun ts' => f (ts ++ ts'))).
Proof.
elim: nodes f => [|[s c] nodes IH] f //=; rewrite !expect_bind.
by apply: eq_expect => t; rewrite !expect_bind IH.
Qed.

Lemma draft_siblings_row c ss before f : expect (draft_beside c ss before) f
  = expect (draft_row c ss before) (fun xs =>
      expect (draft_trees (next_level (c, xs))) (fun ts => f (zip [seq x.2 | x <- xs] ts))).
Proof.
elim: ss before f => [|s ss IH] before f //=; rewrite !sumE; apply: eq_bigr => x _; congr (_ * _).
rewrite !expect_bind; under [RHS]eq_expect do rewrite /= expect_bind.
rewrite [RHS]expect_swap; apply: eq_expect => t; rewrite expect_bind IH; apply: eq_expect => xs.
by rewrite /= expect_bind.
Qed.

Lemma draft_tree_row ss c f : expect (draft (Shape ss) c) f
  = expect (draft_row c ss [::]) (fun xs =>
      expect (draft_trees (next_level (c, xs))) (fun ts => f (join xs ts))).
Proof. by rewrite draft_treeE expect_bind draft_siblings_row. Qed.

Lemma draft_trees_rows nodes f : expect (draft_trees nodes) f
  = expect (draft_rows nodes) (fun rows =>
      expect (draft_trees (flatten [seq next_level e | e <- rows])) (fun ts => f (join_rows rows ts))).
Proof.
elim: nodes f => [|[[ss] c] nodes IH] f //.
rewrite [LHS]expect_bind draft_tree_row [RHS]expect_bind; apply: eq_expect => xs.
rewrite expect_bind; under eq_expect do rewrite expect_bind IH.
rewrite expect_swap; apply: eq_expect => rows; rewrite [RHS]draft_trees_cat.
apply: (eq_expect_reached (draft_trees_size _)) => ts; rewrite size_map => sz.
by apply: eq_expect => ts' /=; rewrite take_size_cat ?drop_size_cat.
Qed.

Lemma draft_levels_law levels nodes f : expect (draft_levels levels nodes) f = expect (draft_trees nodes) f.
Proof.
elim: levels nodes f => [|l IH] nodes f //=; rewrite draft_trees_rows expect_bind; apply: eq_expect => rows.
by rewrite expect_bind IH.
Qed.

Variables (j : judge W D) (target : context -> T -> R).
Notation verify := (@verify_tree W D q j target).
Notation verify_beside := (@verify_siblings W D q j verify).
Notation walk := (@walk W D (@drawn W D offer j) target).

(* The order in which a tree is drafted does not matter: level by level, as engines do it, or each sibling with
   all that is below it. *)
Theorem level_order levels s c f :
  expect (@levels_then_verify W D offer q j target levels s c) f
  = expect (@draft_then_verify W D offer q j target s c) f.
Proof. by rewrite expect_bind draft_levels_law [LHS]expect_bind [RHS]expect_bind. Qed.

(* A judge decides on the token that it is given, and after a rejection that token has been tried. *)
Definition decides (tried : seq T) (x : T) (o : outcome W) : Prop :=
  match o with Accept y => y = x | Reject _ tried' => tried' = rcons tried x end.

Hypothesis judge_decides : forall r tried d x, reached (decides tried x) (j r tried d x).

Definition same_law_under (s : shape) : Prop := forall c f, sound (draft s c) ->
  expect (draft s c) (fun t => expect (verify t c) f) = expect (walk (@plant W D q s c) c (target c) [::]) f.

(* At a node, after some siblings: the decision on the next one is moved to the front, before the drafts below
   it and beside it. Of these one is not looked at, whatever is decided, and is left out. *)
Lemma same_law_beside ss c before r f :
  in_all same_law_under ss -> sound (draft_beside c ss before) ->
  expect (draft_beside c ss before) (fun ts => expect (verify_beside c ts r before) f)
  = expect (walk (@plant_siblings W D q c ss before) c r before) f.
Proof.
elim: ss before r => [|s ss IH] before r //= [under unders] [_ sound_x].
rewrite !sumE; apply: eq_bigr => x _.
case: (eqVneq (offer before (q c before) x) 0) => [->|qx]; first by rewrite !mul0r.
have /sound_bind[sound_under beside] := sound_x x qx.
have [_ /sound_bind[sound_beside _]] := reached_exists sound_under beside.
pose decided t ts (o : outcome W) : R :=
  match o with
  | Accept y => expect (verify t (rcons c y)) f
  | Reject r' tried' => expect (verify_beside c ts r' tried') f
  end.
congr (_ * _); rewrite !expect_bind.
transitivity (expect (draft s (rcons c x)) (fun t => expect (draft_beside c ss (rcons before x)) (fun ts =>
    expect (j r before (q c before) x) (decided t ts)))).
  apply: eq_expect => t; rewrite expect_bind; apply: eq_expect => ts.
  by rewrite /= expect_bind; apply: eq_expect => -[].
under eq_expect do rewrite expect_swap.
rewrite expect_swap; apply: (eq_expect_reached (judge_decides _ _ _ _)) => -[y|r' tried'] /= ->.
  by rewrite -under //; apply: eq_expect => t; rewrite expect_const.
by rewrite expect_const // IH.
Qed.

(* Drafting the whole tree and then verifying it emits what drafting as one goes emits, with the same law: for
   every judge, every shape, all drafts that are distributions wherever one is drawn, and any target at all. *)
Theorem eager_lazy s c f : sound (draft s c) ->
  expect (@draft_then_verify W D offer q j target s c) f
  = expect (@speculate W D (@drawn W D offer j) target (@plant W D q s c) c) f.
Proof.
rewrite /draft_then_verify /speculate expect_bind; move: s c f.
elim/shape_induction => ss IH c f; rewrite draft_treeE plantE => /sound_bind[beside _].
by rewrite -same_law_beside // expect_bind; apply: eq_expect.
Qed.

(* So either is lossless if the other is. *)
Theorem eager_lossless_iff s c : sound (draft s c) ->
  lossless target (@draft_then_verify W D offer q j target s c) c <->
  lossless target (@speculate W D (@drawn W D offer j) target (@plant W D q s c) c) c.
Proof. by move=> sd; split; apply: eq_lossless => f; rewrite eager_lazy. Qed.

End Drafts.

Variable target : context -> T -> R.
Hypothesis target_dist : forall c, is_dist (target c).
Variable q : context -> seq T -> T -> R.

(* Multi-step speculative sampling with the whole tree drafted first (Miao et al. 2023, Alg. 2, Thm 4.2;
   Leviathan et al. 2023, Alg. 1, on chains) is lossless on every shape, for all drafts that are distributions
   as long as there is a sibling to draw. *)
Theorem eager_lossless s c :
  (forall c' before, (size before < width s)%N -> is_dist (q c' before)) ->
  lossless target (@draft_then_verify W _ (fun _ d => d) q (@speculative_judge W) target s c) c.
Proof.
move=> q_dist; apply/eager_lossless_iff; [by split | exact: draft_sound q_dist (leqnn _) |].
rewrite -speculativeE; apply: (tree_lossless (grow := @grows T) (admitted := fun _ => @is_dist R T)) => //.
  by move=> r tried d; apply: speculative_step_ok.
apply: (@plant_admissible _ _ _ _ _ _ (fun k tried => size tried = k) q (width s)) => //.
  by move=> k tried _ <- [x ->]; rewrite size_rcons.
by move=> c' k tried <-; apply: q_dist.
Qed.

(* The same with the tree drafted level by level. *)
Theorem engine_lossless levels s c :
  (forall c' before, (size before < width s)%N -> is_dist (q c' before)) ->
  lossless target (@levels_then_verify W _ (fun _ d => d) q (@speculative_judge W) target levels s c) c.
Proof. by move=> q_dist; apply: eq_lossless (eager_lossless _ q_dist) => f; rewrite level_order. Qed.

(* So are siblings without replacement, all of them drafted first (Chen et al. 2024, Sequoia; Jeon et al. 2024,
   RSD), as long as no node has more of them than there are tokens. *)
Theorem eager_without_replacement_lossless s c :
  (forall c' before, is_dist (q c' before)) -> (width s <= #|T|)%N ->
  lossless target (@draft_then_verify W _ (@redrafted W) q (@without_replacement_judge W) target s c) c.
Proof.
move=> q_dist wide; apply/eager_lossless_iff; first by split.
  apply: draft_sound wide => c' before few; apply: redrafted_dist => //.
  exact: few_untried.
by rewrite -without_replacementE; apply: without_replacement_lossless.
Qed.

(* And level by level. *)
Theorem engine_without_replacement_lossless levels s c :
  (forall c' before, is_dist (q c' before)) -> (width s <= #|T|)%N ->
  lossless target (@levels_then_verify W _ (@redrafted W) q (@without_replacement_judge W) target levels s c) c.
Proof.
by move=> qd wide; apply: eq_lossless (eager_without_replacement_lossless c qd wide) => f; rewrite level_order.
Qed.

End Laws.
