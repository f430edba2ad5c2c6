(* The greedy rules emit what greedy decoding emits, and as much of it as the drafts allow.

   Greedy verification of a token tree (SGLang's verify_tree_greedy; VerifyGreedy in Miao et al. 2023,
   arXiv 2305.09781, Alg. 2) and blockwise parallel decoding (Stern et al. 2018, arXiv 1811.03115, Sec. 3; the
   token after the prefix is Sec. 4's merged step) draw nothing. They are exact on every draft, token for token,
   and not only in law; the target may be any vector, and ties go to the first of the best tokens, in the rules
   as in greedy decoding. Nor do they stop early: what is kept is the longest part of the draft that greedy
   decoding would have produced. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless node rules.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Greedy.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Variable x0 : T.
Notation W := (real R T undefined).
Notation context := (seq T).
Implicit Types (v : T -> R) (x y : T) (xs : seq T) (c : context).

Lemma best_of_max v x xs y : y \in x :: xs -> v y <= v (@best_of W v x xs).
Proof.
elim: xs x y => [|z xs IH] x y; first by rewrite inE => /eqP ->.
pose b := if v z <= v x then x else z; rewrite (_ : @best_of W v x (z :: xs) = @best_of W v b xs) //.
have [xb zb] : v x <= v b /\ v z <= v b by rewrite /b; case: (leP (v z) (v x)) => [|/ltW].
rewrite !inE => /or3P[/eqP ->|/eqP ->|yxs].
- by apply: le_trans xb _; apply: IH; rewrite mem_head.
- by apply: le_trans zb _; apply: IH; rewrite mem_head.
by apply: IH; rewrite inE yxs orbT.
Qed.

(* The best token is best. *)
Theorem argmax_max v y : v y <= v (@argmax W x0 v).
Proof.
rewrite /argmax /=; have := mem_enum T y; case: (enum T) => [|x xs] //= H.
exact: best_of_max.
Qed.

Section Target.
Variable target : context -> T -> R.
Notation best c := (@argmax W x0 (target c)).
Notation point_best := (fun c => @point W (best c)).

(* Greedy decoding: the [n] tokens after [c]. *)
Fixpoint greedy (n : nat) (c : context) : seq T :=
  if n is m.+1 then best c :: greedy m (rcons c (best c)) else [::].

Lemma size_greedy n c : size (greedy n c) = n.
Proof. by elim: n c => [|n IH] c //=; rewrite IH. Qed.

(* It is plain decoding with the point masses at the best tokens. *)
Lemma decode_greedy n c f : expect (@decode W point_best n c) f = f (c ++ greedy n c).
Proof.
elim: n c => [|n IH] c; first by rewrite /= cats0.
rewrite -cat_rcons -IH [LHS]/= sumE (bigD1 (best c)) //= big1 => [|y /negbTE yb].
  by rewrite /point eqxx mul1r addr0.
by rewrite /point yb mul0r.
Qed.

Lemma point_best_dist c : is_dist (point_best c).
Proof. exact: point_dist. Qed.

(* Whatever emits what greedy decoding emits is lossless. *)
Lemma greedy_lossless k c : lossless point_best (@Return W _ (c ++ greedy k c)) c.
Proof.
move=> n f; rewrite [LHS]/=; elim: k c => [|k IH] c; first by rewrite cats0.
rewrite /= -cat_rcons IH -(finish_step point_best_dist n c f) (bigD1 (best c)) //= big1 => [|y /negbTE yb].
  by rewrite /point eqxx mul1r addr0.
by rewrite /point yb mul0r.
Qed.

(* Greedy verification of a tree. *)
Notation tree_greedy := (@tree_greedy W x0).

Notation goal := (fun r => @point W (@argmax W x0 r)).

Lemma tree_greedy_node r xs : node_ok tree_greedy goal r xs.
Proof. by move=> y; rewrite /= fun_if if_same /point /= eq_sym; case: eqP. Qed.

(* Greedy verification of a tree is lossless for greedy decoding, on every tree. *)
Theorem tree_greedy_lossless t c : lossless point_best (walk_nodes tree_greedy target t c) c.
Proof.
apply: (@walk_nodes_lossless _ _ _ _ goal target (fun=> True)) => [{}c|{}c xs _|]; first exact: point_dist.
  exact: tree_greedy_node.
exact: all_nodes_true.
Qed.

(* The tokens [xs] are a path down the tree; of siblings that repeat, only the first one counts. *)
Fixpoint path_in (t : token_tree W) (xs : seq T) : bool :=
  if xs is x :: xs' then
    let: Node ts := t in
    (fix find (ts : seq (T * token_tree W)) : bool :=
       if ts is (y, t') :: ts' then if y == x then path_in t' xs' else find ts' else false) ts
  else true.

(* Greedy verification of a tree (Miao et al. 2023, Alg. 2, VerifyGreedy) emits the tokens of greedy decoding,
   on every tree: the longest path of the tree that greedy decoding takes, and one token more. *)
Theorem tree_greedy_exact t c : exists m,
  [/\ walk_nodes tree_greedy target t c = Return (c ++ greedy m.+1 c), path_in t (greedy m c)
    & forall k, path_in t (greedy k c) -> (k <= m)%N].
Proof.
elim/token_tree_induction: t c => ts IH c; rewrite walk_nodesE /=.
have -> : follow tree_greedy target c ts
            (if best c \in [seq e.1 | e <- ts] then Take (best c) else Stop (best c))
          = enter tree_greedy target c (best c) ts.
  case: ifP => // /negbT; elim: ts {IH} => [|[x t] ts IHts] //=.
  by rewrite inE negb_or eq_sym => /andP[/negbTE -> /IHts].
elim: ts IH => [|[x t] ts IHts] /=; first by exists 0%N; split=> //; [rewrite cats1 | case].
case=> IHt /IHts[m [e pm mm]]; case: (eqVneq x (best c)) => [xb|/negbTE xb]; last first.
  exists m; split=> //; first by case: (m) pm => [|m'] //=; rewrite xb.
  by case=> [|k] //=; rewrite xb => /(mm k.+1).
have [m' [e' pm' mm']] := IHt (rcons c (best c)).
exists m'.+1; split; first by rewrite e' cat_rcons.
  by rewrite /= xb eqxx.
by case=> [|k] //=; rewrite xb eqxx; apply: mm'.
Qed.

(* In terms of outcomes: what is emitted is greedy decoding's, and at least one token. *)
Lemma tree_greedy_reached t c :
  reached (fun e => (size c < size e)%N /\ e = c ++ greedy (size e - size c) c)
    (walk_nodes tree_greedy target t c).
Proof.
have [m [-> _ _]] := tree_greedy_exact t c.
by rewrite /reached size_cat addKn size_greedy addnS ltnS leq_addr.
Qed.

(* Blockwise parallel decoding. *)

(* The longest prefix of any proposal [xs] that greedy decoding produces is kept. *)
Lemma keep_best_exact c xs : exists m,
  [/\ (m <= size xs)%N, @keep_best W x0 target c xs = c ++ greedy m.+1 c, take m xs = greedy m c
    & forall k, (k <= size xs)%N -> take k xs = greedy k c -> (k <= m)%N].
Proof.
elim: xs c => [|x xs IH] c /=; first by exists 0%N; split=> //; rewrite cats1.
case: (eqVneq x (best c)) => [->|xb].
  have [m [ms e tm mm]] := IH (rcons c (best c)).
  exists m.+1; split=> //; [by rewrite e cat_rcons | by rewrite /= tm | ].
  by case=> [|k] //= ks [/(mm _ ks)].
exists 0%N; split=> //; first by rewrite cats1.
by case=> [|k] //= _ [/eqP]; rewrite (negbTE xb).
Qed.

Variable draft : context -> T -> R.

Lemma size_propose n c : size (@propose W x0 draft n c) = n.
Proof. by elim: n c => [|n IH] c //=; rewrite IH. Qed.

(* Blockwise parallel decoding (Stern et al. 2018, Sec. 3) of [g] proposed tokens emits m + 1 tokens of greedy
   decoding, where m is the length of the longest prefix of the proposal that greedy decoding produces. *)
Theorem blockwise_exact g c : exists m,
  let proposal := @propose W x0 draft g c in
  [/\ (m <= g)%N, @blockwise W x0 target draft g c = Return (c ++ greedy m.+1 c),
      take m proposal = greedy m c
    & forall k, (k <= g)%N -> take k proposal = greedy k c -> (k <= m)%N].
Proof.
have [m [ms e tm mm]] := keep_best_exact c (@propose W x0 draft g c).
by exists m; rewrite size_propose in ms mm; split=> //; rewrite /blockwise e.
Qed.

(* So it is lossless for greedy decoding, for every draft. *)
Theorem blockwise_lossless g c : lossless point_best (@blockwise W x0 target draft g c) c.
Proof. by have [m [_ -> _ _]] := blockwise_exact g c; apply: greedy_lossless. Qed.

End Target.
End Greedy.
