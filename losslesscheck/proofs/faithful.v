(* The rules' own texts, translated from Python, have the law of their readable forms, and so are lossless.

   A theorem about a rule is worth what its definition is worth: a proof about a paraphrase says nothing of the
   program. The definitions in texts.v are not written by hand; they are what a translator makes of the Python
   texts in losslesscheck/rules, statement by statement. Here each of them is proved to have the law of its
   readable form in rules.v: a loop over the drafts is a recursion on them, a position on the path is the prefix
   up to it, and the tokens tried need not be handed on where no draft looks at them. So what the other files
   prove of the readable forms holds of the texts, for every target, draft, vocabulary and tree. For both are
   shown to be alike (alike.v). That the weights of a text are probabilities follows too, in texts_sound.v. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless tree rules instances chain block kernel.
From Losslesscheck Require Import node naive target_only greedy loop texts alike.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The step rules. A text that hands no token on as tried decides as its readable form does, and forgets. *)
Section Forgetting.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Variable D : Type.
Notation W := (real R T undefined).
Notation context := (seq T).
Implicit Types (c : context) (r : T -> R) (f : context -> R).

Definition forget (o : outcome W) : outcome W :=
  match o with Accept x => @Accept W x | Reject r _ => @Reject W r [::] end.

Definition forgets (rule rule' : step W D) : Prop :=
  forall r tried tried' d, alike (fun o' o => o' = forget o) (rule' r tried' d) (rule r tried d).

(* A tree of which no draft depends on the siblings tried. *)
Fixpoint history_free (t : tree W D) : Prop :=
  match t with
  | Leaf => True
  | Draft _ under beside =>
    [/\ forall x, history_free (under x), history_free (beside [::])
      & forall tried, beside tried = beside [::]]
  end.

(* On such a tree nothing is lost with what is forgotten. *)
Lemma forgets_walk rule rule' target t c r tried tried' : forgets rule rule' -> history_free t ->
  alike eq (@walk W D rule' target t c r tried') (@walk W D rule target t c r tried).
Proof.
move=> same; elim: t c r tried tried' => [|d under IHunder beside IHbeside] c r tried tried' //.
case=> free_under free_beside constant; apply: alike_bind (same r tried tried' d) _ => _ [x|r' tried''] -> /=.
  by apply: IHunder; apply: free_under.
by rewrite (constant tried''); apply: IHbeside.
Qed.

Lemma plant_history_free (q : context -> D) s c : history_free (@plant W D (fun c' _ => q c') s c).
Proof.
elim/shape_induction: s c => ss IH c; rewrite plantE; elim: ss [::] IH => [|s ss IHss] tried //= [IHs IH].
by split=> [x||tried']; [apply: IHs | apply: IHss | case: (ss)].
Qed.

End Forgetting.

Lemma plant_tokens_history_free (R : realFieldType) (T : finType) (undefined : R -> R)
  (t : token_tree (real R T undefined)) : history_free (plant_tokens t).
Proof.
elim/token_tree_induction: t => ts; elim: ts => [|[x t] ts IHts] //= [IHt IH].
by split=> //; apply: IHts.
Qed.

Section Steps.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Variables target draft : context -> T -> R.
Hypothesis target_dist : forall c, is_dist (target c).
Hypothesis draft_dist : forall c, is_dist (draft c).
Implicit Types (s : shape) (t : token_tree W) (c : context) (f : context -> R).

(* The siblings of a node are drawn from the draft at its context, whatever was tried. *)
Notation planted := (@plant W _ (fun (c' : context) _ => draft c')).

(* chain.py (Leviathan et al. 2023, Alg. 1; Chen et al. 2023, Alg. 2): the text draws and flips as speculative
   sampling does, on a chain and on every other shape, and so has its law. *)
Lemma chain_text_alike s c :
  alike eq (speculate (@chain_text W) target (planted s c) c)
    (speculate (@speculative W) target (planted s c) c).
Proof.
by apply: forgets_walk => [r tried tried' d|]; [split=> // x _; split | apply: plant_history_free].
Qed.

Theorem chain_text_law s c f :
  expect (speculate (@chain_text W) target (planted s c) c) f
  = expect (speculate (@speculative W) target (planted s c) c) f.
Proof. exact/alike_law/chain_text_alike. Qed.

(* It is lossless on every shape ... *)
Theorem chain_text_lossless s c : lossless target (speculate (@chain_text W) target (planted s c) c) c.
Proof.
apply: (eq_lossless (fun f => esym (chain_text_law s c f))).
exact: (multi_step_lossless target_dist (q := fun c' _ => draft c')).
Qed.

(* ... and so on a chain of any length. *)
Corollary chain_text_lossless_chain length c :
  lossless target (speculate (@chain_text W) target (planted (chain_shape length) c) c) c.
Proof. exact: chain_text_lossless. Qed.

(* specinfer.py (Miao et al. 2023, Alg. 2): the text draws and flips as multi-step speculative sampling does,
   with siblings that are drawn independently of one another, and so has its law. *)
Lemma specinfer_text_alike s c :
  alike eq (speculate (@specinfer_text W) target (planted s c) c)
    (speculate (@speculative W) target (planted s c) c).
Proof.
by apply: forgets_walk => [r tried tried' d|]; [split=> // x _; split | apply: plant_history_free].
Qed.

Theorem specinfer_text_law s c f :
  expect (speculate (@specinfer_text W) target (planted s c) c) f
  = expect (speculate (@speculative W) target (planted s c) c) f.
Proof. exact/alike_law/specinfer_text_alike. Qed.

(* It is lossless on every shape (Miao et al. 2023, Thm 4.2). *)
Theorem specinfer_text_lossless s c :
  lossless target (speculate (@specinfer_text W) target (planted s c) c) c.
Proof.
apply: (eq_lossless (fun f => esym (specinfer_text_law s c f))).
exact: (multi_step_lossless target_dist (q := fun c' _ => draft c')).
Qed.

(* without_replacement.py (Chen et al. 2024, Sequoia; Jeon et al. 2024, RSD): the text is the readable form. *)
Theorem without_replacement_text_law s c f :
  expect (speculate (@without_replacement_text W) target (planted s c) c) f
  = expect (speculate (@without_replacement W) target (planted s c) c) f.
Proof. by []. Qed.

(* It is lossless on every shape in which no node has more siblings than there are tokens. *)
Theorem without_replacement_text_lossless s c : (width s <= #|T|)%N ->
  lossless target (speculate (@without_replacement_text W) target (planted s c) c) c.
Proof.
move=> wide; apply: (eq_lossless (fun f => esym (without_replacement_text_law s c f))).
exact: (without_replacement_lossless target_dist (q := fun c' _ => draft c')).
Qed.

(* point_mass.py (Miao et al. 2023, Alg. 2, on fixed tokens): the text flips as point-mass verification does on
   every token tree, and so has its law. *)
Lemma point_mass_text_alike t c :
  alike eq (speculate (@point_mass_text W) target (plant_tokens t) c)
    (speculate (@point_mass W) target (plant_tokens t) c).
Proof.
by apply: forgets_walk => [r tried tried' x|]; [split | apply: plant_tokens_history_free].
Qed.

Theorem point_mass_text_law t c f :
  expect (speculate (@point_mass_text W) target (plant_tokens t) c) f
  = expect (speculate (@point_mass W) target (plant_tokens t) c) f.
Proof. exact/alike_law/point_mass_text_alike. Qed.

(* It is lossless on every token tree, siblings that repeat included. *)
Theorem point_mass_text_lossless t c :
  lossless target (speculate (@point_mass_text W) target (plant_tokens t) c) c.
Proof.
apply: (eq_lossless (fun f => esym (point_mass_text_law t c f))).
exact: point_mass_lossless.
Qed.

End Steps.

(* The node rules. *)
Section Nodes.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Variable target : context -> T -> R.
Implicit Types (t : token_tree W) (c : context) (p : T -> R) (x y : T) (xs : seq T) (phi : decision W -> R).

(* The loop that looks for a token among the siblings. *)
Lemma each_sibling y xs :
  @each W _ _ _ xs tt (fun x _ next => if y == x then Return (@Take W x) else next tt)
    (fun=> Return (@Stop W y))
  = Return (@serve R T undefined xs y).
Proof. by elim: xs => [|x xs IH] //=; rewrite /serve inE; case: eqP => [->|]. Qed.

(* naive_sampling.py (Miao et al. 2023, the baseline of Thm 4.3): the text draws as naive sampling does,
   and so has its law, ... *)
Lemma naive_sampling_text_alike p xs : alike eq (@naive_sampling_text W p xs) (@naive_sampling W p xs).
Proof. by split=> // y _; rewrite each_sibling. Qed.

Theorem naive_sampling_text_law p xs phi :
  expect (@naive_sampling_text W p xs) phi = expect (@naive_sampling W p xs) phi.
Proof. exact/alike_law/naive_sampling_text_alike. Qed.

(* ... and is lossless on every token tree. *)
Theorem naive_sampling_text_lossless t c : (forall c, is_dist (target c)) ->
  lossless target (walk_nodes (@naive_sampling_text W) target t c) c.
Proof.
move=> target_dist; apply: eq_lossless (naive_sampling_lossless t c target_dist) => f.
by apply: eq_walk_nodes (all_nodes_true t) => c' xs phi _; rewrite naive_sampling_text_law.
Qed.

(* target_only.py (SGLang, tree_speculative_sampling_target_only, both thresholds 1): the text is target-only
   verification, ... *)
Theorem target_only_text_law p xs : @target_only_text W p xs = @target_only W 1 1 p xs.
Proof.
rewrite /target_only_text; cbv zeta; set body := (X in each _ _ X _); set after := (X in each _ _ _ X).
suff H (low cumulative : R) (rest : T -> R) :
    each xs (low, 1 : number W, cumulative, rest) body after
    = @try_siblings W 1 1 p low 1 cumulative rest xs by exact: H.
elim: xs low cumulative rest => [|x xs IH] low cumulative rest //=.
by rewrite /below /=; congr (Flip _ _ _); case: ifP => // _; apply: IH.
Qed.

(* ... and is lossless on every token tree whose siblings are distinct. *)
Theorem target_only_text_lossless t c : (forall c, is_dist (target c)) ->
  @all_nodes W (fun xs => uniq xs) t -> lossless target (walk_nodes (@target_only_text W) target t c) c.
Proof.
move=> target_dist distinct; apply: eq_lossless (target_only_lossless c target_dist distinct) => f.
by apply: eq_walk_nodes (all_nodes_true t) => c' xs phi _; rewrite target_only_text_law.
Qed.

Variable x0 : T.

(* tree_greedy.py (SGLang, verify_tree_greedy; Miao et al. 2023, Alg. 2, VerifyGreedy): the text decides on the
   same token as greedy verification, ... *)
Theorem tree_greedy_text_law p xs : @tree_greedy_text W x0 p xs = @tree_greedy W x0 p xs.
Proof. exact: each_sibling. Qed.

(* ... and is lossless for greedy decoding on every token tree, for every target. *)
Theorem tree_greedy_text_lossless t c :
  lossless (fun c' => @point W (@argmax W x0 (target c'))) (walk_nodes (@tree_greedy_text W x0) target t c) c.
Proof.
apply: eq_lossless (tree_greedy_lossless x0 target t c) => f.
by apply: eq_walk_nodes (all_nodes_true t) => c' xs phi _; rewrite tree_greedy_text_law.
Qed.

End Nodes.

(* The rules that see a whole path. Their texts begin at the root, and draft the path in a loop. *)
Section Paths.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Variables p q : context -> T -> R.
Implicit Types (x : T) (c drafts xs : context) (f : context -> R).

Lemma each_propose x0 A B (items : seq A) c (after : context -> program W B) :
  @each W _ _ _ items c (fun _ drafts next => next (rcons drafts (@argmax W x0 (q drafts)))) after
  = after (c ++ @propose W x0 q (size items) c).
Proof. by elim: items c => [|i items IH] c /=; rewrite ?cats0 // IH cat_rcons. Qed.

(* The loop that drafts the path draws [draft_path]. What follows has to be alike for every path that can be
   drawn. *)
Lemma each_draft A B (items : seq A) c (after after' : context -> program W B) :
  (forall xs, drawable q c xs -> size xs = size items -> alike eq (after (c ++ xs)) (after' xs)) ->
  alike eq
    (@each W _ _ _ items c (fun _ drafts next => @Draw W _ (q drafts) (fun x => next (rcons drafts x))) after)
    (bind (@draft_path W q (size items) c) after').
Proof.
elim: items c after' => [|i items IH] c after' H; first by have := H [::]; rewrite cats0; apply.
split=> // x qx; apply: alike_assoc; apply: IH => xs dxs sxs.
by rewrite cat_rcons; apply: H; rewrite //= sxs.
Qed.

Lemma each_draft_iota B n length (after after' : context -> program W B) :
  (forall xs, drawable q [::] xs -> size xs = length -> alike eq (after xs) (after' xs)) ->
  alike eq
    (@each W _ _ _ (iota n length) [::]
       (fun _ drafts next => @Draw W _ (q drafts) (fun x => next (rcons drafts x))) after)
    (bind (@draft_path W q length [::]) after').
Proof. by move=> H; rewrite -{2}(size_iota n length); apply: each_draft; rewrite size_iota. Qed.

(* blockwise.py (Stern et al. 2018, Sec. 3): the text emits what blockwise parallel decoding emits, ... *)
Theorem blockwise_text_law x0 length :
  @blockwise_text W x0 p q length = @blockwise W x0 p q length [::].
Proof.
rewrite /blockwise_text each_propose size_iota cat0s /blockwise.
move: (@propose W x0 q length [::]) => drafts; elim: drafts (Nil T) => [|x xs IH] c //=.
by rewrite addn1; case: eqP => // _; rewrite IH.
Qed.

(* ... and is lossless for greedy decoding, for every target and every draft. *)
Theorem blockwise_text_lossless x0 length :
  lossless (fun c => @point W (@argmax W x0 (p c))) (@blockwise_text W x0 p q length) [::].
Proof. by rewrite blockwise_text_law; apply: blockwise_lossless. Qed.

(* chain_kernel.py (SGLang, chain_speculative_sampling_triton): the text draws and flips as
   the kernel does, and so has its law, ... *)
Lemma chain_kernel_text_alike length :
  alike eq (@chain_kernel_text W p q length) (@chain_kernel W p q length [::]).
Proof.
apply: each_draft_iota => drafts _ _; apply: alike_same.
cbv zeta; set body := (X in each _ _ X _); set after := (X in each _ _ _ X).
elim: drafts (Nil T) => [|x xs IH] c //; rewrite [RHS]/= -IH [LHS]/= /body /=.
by case: (q c x <= 0); case: (q c x <= 1).
Qed.

Theorem chain_kernel_text_law length f :
  expect (@chain_kernel_text W p q length) f = expect (@chain_kernel W p q length [::]) f.
Proof. exact/alike_law/chain_kernel_text_alike. Qed.

(* ... and is lossless with any number of drafts. *)
Theorem chain_kernel_text_lossless length : (forall c, is_dist (p c)) -> (forall c, is_dist (q c)) ->
  lossless p (@chain_kernel_text W p q length) [::].
Proof.
move=> p_dist q_dist; apply: eq_lossless (chain_kernel_lossless p_dist q_dist length [::]) => f.
by rewrite chain_kernel_text_law.
Qed.

(* Block verification. Its text multiplies the target by the weight from the other side, ... *)
Lemma surplus_times (weight : R) c x :
  @positive_part W (@minus W (@times W (p c) weight) (q c)) x = @surplus W p q weight c x.
Proof. by rewrite /surplus /positive_part /minus /times /scaled /= mulrC. Qed.

Lemma sum_times (weight : R) c :
  @sum W (@positive_part W (@minus W (@times W (p c) weight) (q c))) = @sum W (@surplus W p q weight c).
Proof. by rewrite !sumE; apply: eq_bigr => x _; apply: surplus_times. Qed.

Lemma norm_times (weight : R) c x :
  @norm W (@positive_part W (@minus W (@times W (p c) weight) (q c))) x = @norm W (@surplus W p q weight c) x.
Proof. exact/eq_norm/surplus_times. Qed.

(* ... and it keeps the number of the drafts kept, with their weight, where the readable form keeps these drafts
   and what is to be drawn after them. It draws and flips as block verification does, and so has its law (Sun et
   al. 2024, Alg. 2). *)
Lemma block_verification_text_alike x0 length :
  alike eq (@block_verification_text W x0 p q length) (@block_verification W p q length [::]).
Proof.
apply: each_draft_iota => drafts _ size_drafts.
cbv zeta; set body := (X in each _ _ X _); set after := (X in each _ _ _ X).
pose left (kept : nat) (weight : R) : T -> R :=
  if kept == length then p (take kept drafts) else @norm W (@surplus W p q weight (take kept drafts)).
suff H c xs kept (weight_kept weight : R) (rest : T -> R) : drafts = c ++ xs -> rest =1 left kept weight_kept ->
    alike eq (each (iota (size c).+1 (size xs)) (kept, weight_kept, weight) body after)
      (@verify_block W p q c weight (take kept drafts) rest xs).
  have := H [::] drafts 0%N 1 1; rewrite take0 size_drafts; apply=> // y; rewrite /left take0.
  by case: eqP => [<-|]; case: (length).
elim: xs c kept weight_kept weight rest => [|x xs IH] c kept weight_kept weight rest at_c rest_left.
  move: rest_left; rewrite /= /left; case: (kept == length) => e; split=> // y.
  by rewrite e; apply: norm_times.
have take_c : take (size c) drafts = c by rewrite at_c take_size_cat.
have nth_c : nth x0 drafts (size c) = x by rewrite at_c nth_cat ltnn subnn.
have at_next : drafts = rcons c x ++ xs by rewrite cat_rcons.
have take_next : take (size c).+1 drafts = rcons c x by rewrite at_next take_size_cat ?size_rcons.
have is_last : ((size c).+1 == length) = (xs == [::]).
  by rewrite -size_drafts at_next size_cat size_rcons -{1}[(size c).+1]addn0 eqn_add2l eq_sym size_eq0.
pose weight' : R := @smaller W 1 (weight * @div W (p c x) (q c x)).
pose keeps : R := @keep W p q (xs == [::]) weight' (rcons c x).
have step go : body (size c).+1 (kept, weight_kept, weight) go
    = @Flip W _ keeps (go ((size c).+1, weight', weight')) (go (kept, weight_kept, weight')).
  rewrite /keeps /keep /body subn1 [_.-1]/= take_c take_next nth_c is_last -/weight'.
  by case: (xs == [::]) => //; rewrite sum_times.
have {}IH := IH (rcons c x); rewrite size_rcons in IH.
rewrite [each _ _ _ _]step; split=> // _; last exact: IH.
have := IH (size c).+1 weight' weight'; rewrite take_next => keep; apply: keep => // y.
by rewrite /left is_last take_next.
Qed.

Theorem block_verification_text_law x0 length f :
  expect (@block_verification_text W x0 p q length) f = expect (@block_verification W p q length [::]) f.
Proof. exact/alike_law/block_verification_text_alike. Qed.

(* The text is lossless with any number of drafts. *)
Theorem block_verification_text_lossless x0 length : (forall c, is_dist (p c)) -> (forall c, is_dist (q c)) ->
  lossless p (@block_verification_text W x0 p q length) [::].
Proof.
move=> p_dist q_dist; apply: eq_lossless (block_verification_lossless p_dist q_dist length [::]) => f.
by rewrite block_verification_text_law.
Qed.

End Paths.
