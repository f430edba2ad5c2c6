(* A node rule with the right law at one node has it on every token tree: the theorem for node rules.

   A node rule sees all siblings of a node at once: the tree verification of the engines, SpecInfer's baseline.
   This is what the any-vocabulary reading rests on for such a rule: from the rule's own text it establishes
   [node_ok], the law of the token decided at one node, with the target arbitrary and up to k siblings. That is
   the theorem's hypothesis with [admitted xs := size xs <= k] (and [uniq xs], where siblings must be distinct);
   the theorem gives the law of the sequence on every tree whose nodes have such siblings, of any depth.
   Conversely nothing less will do: a rule that is lossless on the trees of one level satisfies [node_ok]. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section TokenTrees.
Variable W : world.
Notation forest := (seq (token W * token_tree W)).
Implicit Types (admitted : seq (token W) -> Prop) (ts : forest) (xs : seq (token W)).

(* The condition holds of the siblings of every node. *)
Fixpoint all_nodes (admitted : seq (token W) -> Prop) (t : token_tree W) : Prop :=
  let: Node ts := t in
  admitted [seq e.1 | e <- ts] /\
  (fix under (ts : forest) : Prop :=
     if ts is (_, t') :: ts' then all_nodes admitted t' /\ under ts' else True) ts.

Lemma all_nodesE admitted ts :
  all_nodes admitted (Node ts) <-> admitted [seq e.1 | e <- ts] /\ in_all (fun e => all_nodes admitted e.2) ts.
Proof.
suff <- : (fix under (ts : forest) : Prop :=
             if ts is (_, t') :: ts' then all_nodes admitted t' /\ under ts' else True) ts
          = in_all (fun e => all_nodes admitted e.2) ts by [].
by elim: ts => [|[x t] ts IH] //=; rewrite IH.
Qed.

Lemma all_nodes_true t : all_nodes (fun=> True) t.
Proof.
by elim/token_tree_induction: t => ts IH; apply/all_nodesE.
Qed.

(* The tree of one level. *)
Definition one_level xs : token_tree W := Node [seq (x, Node [::]) | x <- xs].

Lemma one_level_siblings xs : [seq e.1 | e <- [seq (x, @Node W [::]) | x <- xs]] = xs.
Proof. by rewrite -map_comp map_id. Qed.

Lemma all_nodes_one_level admitted xs : admitted [::] -> admitted xs -> all_nodes admitted (one_level xs).
Proof. by move=> nil axs; rewrite /one_level /= one_level_siblings; split=> //; elim: xs {axs}. Qed.

(* The token that a node rule decides on: it emits it in either case. *)
Definition decided (o : decision W) : token W := match o with Take y => y | Stop y => y end.

Section Follow.
Variables (rule : node_rule W) (target : model W) (c : context W).

(* What follows a decision: the tree below the first sibling that is the token, or nothing. *)
Definition enter (y : token W) : forest -> program W (context W) :=
  fix enter ts :=
    if ts is (x, t') :: ts' then if x == y then walk_nodes rule target t' (rcons c y) else enter ts'
    else Return (rcons c y).

Definition follow ts (o : decision W) : program W (context W) :=
  match o with Stop y => Return (rcons c y) | Take y => enter y ts end.

Lemma walk_nodesE ts :
  walk_nodes rule target (Node ts) c = bind (rule (target c) [seq e.1 | e <- ts]) (follow ts).
Proof. by []. Qed.

Lemma enter_one_level y xs :
  enter y [seq (x, Node [::]) | x <- xs] =
  if y \in xs then walk_nodes rule target (Node [::]) (rcons c y) else Return (rcons c y).
Proof. by elim: xs => [|x xs IH] //=; rewrite in_cons eq_sym; case: eqP. Qed.

End Follow.
End TokenTrees.

Section Nodes.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).

(* Two rules that have the same law at every node have it on every tree. *)
Lemma eq_walk_nodes (rule rule' : node_rule W) (admitted : seq T -> Prop) (target : context -> T -> R) t c f :
  (forall c xs phi, admitted xs -> expect (rule (target c) xs) phi = expect (rule' (target c) xs) phi) ->
  @all_nodes W admitted t ->
  expect (walk_nodes rule target t c) f = expect (walk_nodes rule' target t c) f.
Proof.
move=> same ad; elim/token_tree_induction: t c ad => ts IH c /all_nodesE[ad adts].
rewrite !walk_nodesE !expect_bind same //; apply: eq_expect => -[] y //=.
elim: ts IH adts {ad} => [|[x t] ts IHts] //= [IHt IH] [adt adts].
by case: eqP => [_|_]; [apply: IHt | apply: IHts].
Qed.

(* The law that the next token must have, given the target's: the identity for sampling, the point mass at
   the target's best token for greedy decoding. *)
Variables (rule : node_rule W) (goal : (T -> R) -> T -> R).

Definition node_ok (r : T -> R) (siblings : seq T) : Prop :=
  forall y, expect (rule r siblings) (fun o => (decided o == y)%:R) = goal r y.

(* The law of the decided token gives the expected value of whatever depends on that token alone. *)
Lemma node_ok_expect r xs (g : T -> R) : node_ok r xs ->
  expect (rule r xs) (fun o => g (decided o)) = \sum_y goal r y * g y.
Proof.
move=> ok; transitivity (expect (rule r xs) (fun o => \sum_y g y * (decided o == y)%:R)).
  apply: eq_expect => o; rewrite (bigD1 (decided o)) //= eqxx mulr1 big1 ?addr0 // => y.
  by rewrite eq_sym => /negbTE ->; rewrite mulr0.
by rewrite expect_sum; apply: eq_bigr => y _; rewrite expectZ ok mulrC.
Qed.

Section OneTarget.
Variable target : context -> T -> R.
Notation next := (fun c => goal (target c)).

(* Only the targets that occur matter, and only that the goal there is a distribution. *)
Lemma walk_nodes_lossless (admitted : seq T -> Prop) t c :
  (forall c, is_dist (next c)) -> (forall c xs, admitted xs -> node_ok (target c) xs) ->
  @all_nodes W admitted t -> lossless next (walk_nodes rule target t c) c.
Proof.
move=> nd ok ad n f; elim/token_tree_induction: t c ad => ts IH c /all_nodesE[ad adts].
rewrite walk_nodesE !expect_bind; pose g y := expect (@finish W next n (rcons c y)) f.
rewrite -(finish_step nd n c f) -(node_ok_expect g (ok c _ ad)).
apply: eq_expect => -[] y //=; rewrite /g.
elim: ts IH adts {ad} => [|[x t] ts IHts] //= [IHt IH] [adt adts].
by case: eqP => [_|_]; [rewrite -expect_bind IHt | apply: IHts].
Qed.

(* The converse, for one target and one node: what is lossless on the tree of one level decides on a token with
   the right law. A sibling taken, the rule is asked once more, where there is none; the hypothesis is that it
   returns something there, as every sound rule does ([expect_const]). *)
Theorem node_necessary xs c :
  (forall y, expect (rule (target (rcons c y)) [::]) (fun=> 1) = 1 :> R) ->
  lossless next (walk_nodes rule target (one_level xs) c) c -> node_ok (target c) xs.
Proof.
move=> mass H y; pose f (e : context) : R := (take (size c).+1 e == rcons c y)%:R.
have short e f' : (size c < size e)%N ->
    expect (@finish W next (size c).+1 e) f' = f' (take (size c).+1 e) by move=> ?; rewrite finish_short.
have next_f z : take (size c).+1 (rcons c z) = rcons c z by rewrite take_oversize ?size_rcons.
have next_eq z : f (rcons c z) = (z == y)%:R by rewrite /f next_f eqseq_rcons eqxx.
have := H (size c).+1 f; rewrite walk_nodesE one_level_siblings !expect_bind.
rewrite finish_next // (bigD1 y) //= big1 => [|z zy]; last first.
  by rewrite short ?size_rcons // next_f next_eq (negbTE zy) mulr0.
rewrite short ?size_rcons // next_f next_eq eqxx mulr1 addr0 => <-; apply: eq_expect => o.
have emit z : expect (@finish W next (size c).+1 (rcons c z)) f = (z == y)%:R.
  by rewrite short ?size_rcons // next_f next_eq.
case: o => z /=; last by rewrite emit.
rewrite enter_one_level; case: ifP => _; last by rewrite /= emit.
rewrite (@walk_nodesE W rule target (rcons c z)) expect_bind /=.
rewrite (eq_expect _ (g := fun=> (z == y)%:R * 1)) => [|o]; first by rewrite expectZ mass mulr1.
have two u : take (size c).+1 (rcons (rcons c z) u) = rcons c z.
  by rewrite -cats1 takel_cat ?next_f // size_rcons.
by case: o => u; rewrite /= short ?size_rcons // two next_eq mulr1.
Qed.

End OneTarget.

(* A node rule whose token has the right law at every node with admitted siblings is lossless on every tree of
   such nodes, for every target: the tree theorem for node rules. *)
Theorem node_lossless (admitted : seq T -> Prop) :
  (forall r, is_dist r -> is_dist (goal r)) ->
  (forall r xs, is_dist r -> admitted xs -> node_ok r xs) ->
  forall target : context -> T -> R, (forall c, is_dist (target c)) ->
  forall t c, @all_nodes W admitted t ->
  lossless (fun c => goal (target c)) (walk_nodes rule target t c) c.
Proof.
move=> gd ok target td t c; apply: walk_nodes_lossless => [{}c|{}c xs axs]; first exact: gd.
exact: ok.
Qed.

(* And only such a rule: a condition that is checked at single nodes is no stronger than the claim for trees. *)
Theorem node_iff (admitted : seq T -> Prop) :
  (forall r, is_dist r -> is_dist (goal r)) -> admitted [::] ->
  (forall r xs, is_dist r -> admitted xs -> node_ok r xs) <->
  (forall target : context -> T -> R, (forall c, is_dist (target c)) ->
   forall t c, @all_nodes W admitted t ->
   lossless (fun c => goal (target c)) (walk_nodes rule target t c) c).
Proof.
move=> gd nil; split=> [|H r xs rd axs]; first exact: node_lossless.
have {}H := H (fun=> r) (fun=> rd).
apply: (@node_necessary (fun=> r) xs [::]) => [y|]; last by apply: H; apply: all_nodes_one_level.
have := H (Node [::]) [::] (conj nil I) 0%N (fun=> 1).
by rewrite walk_nodesE !expect_bind /= => mass; rewrite -[RHS]mass; apply: eq_expect => -[].
Qed.

End Nodes.
