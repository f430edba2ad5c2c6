(* A rule whose step is biased is not lossless: the converse of tree.v, and what an unbiased step looks like.

   So the step identity is no mere sufficient condition that a clever rule could do without. On the tree with
   one draft token it is what losslessness means: for the target there, while no token was tried. In all states
   of the walk together, after any rejections, it is what the law of the walk means ([walk_criterion]). For a
   step that drafts one token it leaves no choice but the acceptance probability, which determines the residual,
   and none may accept more often than Leviathan's does. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless tree rules step.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The smallest tree with a draft token. *)
Definition one_sibling (W : world) D (d : D) : tree W D := Draft d (fun=> Leaf) (fun=> Leaf).

Section Necessity.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).

Section Converse.
Variables (D : Type) (rule : step W D).

Section Target.
Variable target : context -> T -> R.
Hypothesis target_dist : forall c, is_dist (target c).

(* The law of what the walk over it emits, whatever the rule does. *)
Lemma one_sibling_law (r : T -> R) tried d c n f :
  expect (bind (walk rule target (one_sibling W d) c r tried) (@finish W target n)) f
  = \sum_y expect (rule r tried d) (@next_token R T undefined y) * expect (@finish W target n (rcons c y)) f.
Proof.
pose g y := expect (@finish W target n (rcons c y)) f.
transitivity (expect (rule r tried d) (fun o => \sum_y g y * next_token y o)); last first.
  by rewrite expect_sum; apply: eq_bigr => y _; rewrite expectZ mulrC.
rewrite expect_bind [walk _ _ _ _ _ _]/= expect_bind; apply: eq_expect => -[x|r' tried'] /=; rewrite sumE.
  rewrite (finish_step target_dist n (rcons c x) f) (bigD1 x) //= eqxx mulr1 big1 ?addr0 // => y yx.
  by rewrite eq_sym (negbTE yx) mulr0.
by apply: eq_bigr => y _; rewrite mulrC.
Qed.

(* A test function and a length that see the next token, and it alone. *)
Lemma sees_next (v : T -> R) c y :
  \sum_z v z * expect (@finish W target (size c).+1 (rcons c z)) (fun e => (e == rcons c y)%:R) = v y.
Proof.
rewrite -[RHS]sum_at; apply: eq_bigr => z _; rewrite finish_short ?size_rcons // [expect _ _]/=.
by rewrite take_oversize ?size_rcons // eqseq_rcons eqxx.
Qed.

(* If the first token that is emitted there has the target's law, the step is unbiased. *)
Theorem first_token_necessary d c :
  (forall y, expect (bind (speculate rule target (one_sibling W d) c) (@finish W target (size c).+1))
               (fun e => (e == rcons c y)%:R) = target c y) ->
  step_identity rule (target c) [::] d.
Proof. by move=> H y; rewrite -[RHS]H one_sibling_law sees_next. Qed.

(* On the tree with one draft token, lossless means that the step is unbiased. *)
Theorem one_sibling_criterion d c :
  lossless target (speculate rule target (one_sibling W d) c) c <-> step_identity rule (target c) [::] d.
Proof.
split=> [H | identity n f].
  by apply: first_token_necessary => y; rewrite H -finish_step // (sees_next (target c)).
by rewrite one_sibling_law -finish_step //; apply: eq_bigr => y _; rewrite identity.
Qed.

(* So a rule that is lossless on the tree with one draft token is unbiased, at the context and for the draft
   there, while no token was tried. Of the step after a rejection this says nothing: a rule may be biased there,
   and be lossless on trees with one draft. *)
Theorem step_necessary d c :
  lossless target (speculate rule target (one_sibling W d) c) c -> step_identity rule (target c) [::] d.
Proof. by move/one_sibling_criterion. Qed.

End Target.

(* The general theorem is exact. For a rule whose reached residuals are distributions, the law that
   [walk_law] in tree.v gives, for every target, every tree and every state of the walk, holds if and only if
   the step identity does, for every distribution left of the target and every admitted draft. *)
Section Criterion.
Variables (grow : seq T -> seq T -> Prop) (admitted : seq T -> D -> Prop).
Hypothesis residuals : forall (r : T -> R) tried d,
  is_dist r -> admitted tried d -> reached (residual_ok grow tried) (rule r tried d).

Theorem walk_criterion :
  (forall target : context -> T -> R, (forall c, is_dist (target c)) ->
   forall t c (r : T -> R) tried n f, admissible grow admitted t tried -> is_dist r ->
     expect (bind (walk rule target t c r tried) (@finish W target n)) f
     = \sum_y r y * expect (@finish W target n (rcons c y)) f)
  <->
  (forall (r : T -> R) tried d, is_dist r -> admitted tried d -> step_identity rule r tried d).
Proof.
split=> [H r tried d rd ad y | identity target target_dist t c r tried n f adt rd].
  have target_dist (c : context) : is_dist r by [].
  have := H (fun=> r) target_dist (one_sibling W d) [::] r tried 1%N (fun e => (e == [:: y])%:R).
  have adt : admissible grow admitted (one_sibling W d) tried by [].
  rewrite one_sibling_law // => /(_ adt rd) E.
  rewrite -(sees_next (fun=> r) (fun z => expect (rule r tried d) (@next_token R T undefined z)) [::]).
  exact: etrans E (sees_next (fun=> r) r [::] y).
apply: walk_law adt rd => // r' tried' d' r'd ad'.
by split; [apply: identity | apply: residuals].
Qed.

(* For a rule that pays no regard to the tokens tried, the same for the whole step, from the root: it is
   lossless on every tree, for every target, if and only if its step is unbiased. *)
Hypothesis regardless : forall (r : T -> R) tried d y,
  expect (rule r tried d) (@next_token R T undefined y) = expect (rule r [::] d) (@next_token R T undefined y).
Hypothesis admitted_regardless : forall tried d, admitted tried d -> admitted [::] d.

Theorem step_criterion :
  (forall target : context -> T -> R, (forall c, is_dist (target c)) ->
   forall t c, admissible grow admitted t [::] -> lossless target (speculate rule target t c) c)
  <->
  (forall (r : T -> R) d, is_dist r -> admitted [::] d -> step_identity rule r [::] d).
Proof.
split=> [H r d rd ad | identity target target_dist t c adt].
  have target_dist (c : context) : is_dist r by [].
  by apply: (step_necessary target_dist (c := [::])); apply: H.
apply: tree_lossless adt => // r tried d rd ad; split; last exact: residuals.
by move=> y; rewrite regardless; apply: identity => //; apply: admitted_regardless ad.
Qed.

End Criterion.
End Converse.

(* The canonical form: a step that draws x from the draft q, accepts it with probability a(x), and otherwise
   goes on with the residual rho; both may depend on what is left of the target, and on q. *)
Section Canonical.
Variables a rho : (T -> R) -> (T -> R) -> T -> R.

Definition canonical : step W (T -> R) := fun p tried q =>
  @Draw W _ q (fun x => @Flip W _ (a p q x)
    (Return (@Accept W x))
    (Return (@Reject W (rho p q) (rcons tried x)))).

Lemma canonical_identity (p q : T -> R) tried : is_dist q ->
  step_identity canonical p tried q
  <-> forall y, (1 - \sum_x q x * a p q x) * rho p q y = p y - q y * a p q y.
Proof.
move=> qd; have E y : expect (canonical p tried q) (@next_token R T undefined y)
    = q y * a p q y + (1 - \sum_x q x * a p q x) * rho p q y.
  rewrite expect_draw -(dist_sum qd) -sumrB mulr_suml -(sum_at (fun x => q x * a p q x)) -big_split /=.
  by apply: eq_bigr => x _; rewrite mulrDr !mulrA mulrBr mulr1.
by split=> H y; [rewrite -(H y) E [RHS]addrC addKr | rewrite E H addrC subrK].
Qed.

(* On one draft token it is lossless if and only if (1 - sum_x q(x) a(x)) rho(y) = p(y) - q(y) a(y) for every
   token y: where any token can be rejected, the acceptance probabilities determine the residual. For
   Leviathan's, a(x) = min(1, p(x) / q(x)), it is norm((p - q)+). *)
Theorem residual_form (target : context -> T -> R) (q : T -> R) c :
  (forall c', is_dist (target c')) -> is_dist q ->
  lossless target (speculate canonical target (one_sibling W q) c) c
  <-> forall y, (1 - \sum_x q x * a (target c) q x) * rho (target c) q y
                = target c y - q y * a (target c) q y.
Proof.
by move=> target_dist qd; rewrite -(canonical_identity (target c) [::] qd) one_sibling_criterion.
Qed.

End Canonical.

(* And any acceptance with q(y) a(y) <= p(y) for every token y has a residual with which it is lossless on one
   draft, norm(p - q a). That no other acceptance has one is [canonical_dominated] below. *)
Theorem residual_exists (a : (T -> R) -> (T -> R) -> T -> R) (target : context -> T -> R) (q : T -> R) c :
  (forall c', is_dist (target c')) -> is_dist q -> (forall y, q y * a (target c) q y <= target c y) ->
  let rho p q' := @norm W (fun y => p y - q' y * a p q' y) in
  lossless target (speculate (canonical a rho) target (one_sibling W q) c) c.
Proof.
move=> target_dist qd le_p rho; apply/residual_form => // y.
by rewrite -(dist_sum (target_dist c)) -sumrB mass_norm // => x; rewrite subr_ge0.
Qed.

(* Leviathan's step is of this form. *)
Lemma speculative_canonical :
  @speculative W = canonical (fun p q x => @smaller W 1 (@div W (p x) (q x))) (@residual W).
Proof. by []. Qed.

(* Any step that draws one draft token x from q, and accepts it or goes on with some residual: by any number
   of coins and draws, and with a residual that may depend on x and on them. *)
Section OneDraft.
Variables (D : Type) (rule : step W D) (target : context -> T -> R) (c : context) (d : D).
Variables (q : T -> R) (judge : T -> program W (outcome W)).
Hypothesis target_dist : forall c, is_dist (target c).
Hypothesis drafts : rule (target c) [::] d = @Draw W _ q judge.
Hypothesis well : sound (rule (target c) [::] d).

Definition judges (x : T) (o : outcome W) : Prop :=
  match o with Accept z => z = x | Reject r _ => forall y, 0 <= r y end.

Hypothesis judged : forall x, q x != 0 -> reached (judges x) (judge x).
Hypothesis unbiased : lossless target (speculate rule target (one_sibling W d) c) c.

(* If it is lossless on one draft, it cannot accept a token there more often than the target emits it. *)
Theorem acceptance_dominated y : q y * expect (judge y) (@accepted R T undefined) <= target c y.
Proof.
have [qd sound_judge] : is_dist q /\ forall x, q x != 0 -> sound (judge x) by move: well; rewrite drafts.
rewrite -(step_necessary target_dist unbiased y) drafts expect_draw (bigD1 y) //=.
have share x (f g : outcome W -> R) : (forall o, judges x o -> f o <= g o) ->
    q x * expect (judge x) f <= q x * expect (judge x) g.
  move=> fg; case: (eqVneq (q x) 0) => [->|qn0]; first by rewrite !mul0r.
  apply: ler_wpmul2l; first exact: dist_ge0.
  exact: expect_le_reached (sound_judge x qn0) (judged qn0) fg.
apply: ler_paddr.
  apply: sumr_ge0 => x _; apply: le_trans (share x (fun=> 0 * 0) _ _); first by rewrite expectZ mul0r mulr0.
  by case=> [z _|r tried r0]; rewrite mul0r ?ler0n //; apply: r0.
by apply: share => -[z ->|r tried r0]; [rewrite /= eqxx | apply: r0].
Qed.

(* So it accepts the one draft with probability at most sum_x min(p(x), q(x)), that of a maximal coupling of p
   and q. *)
Theorem acceptance_optimal :
  expect (rule (target c) [::] d) (@accepted R T undefined) <= overlap (target c) q.
Proof.
have [qd sound_judge] : is_dist q /\ forall x, q x != 0 -> sound (judge x) by move: well; rewrite drafts.
rewrite drafts expect_draw; apply: ler_sum => x _; rewrite le_minr acceptance_dominated /=.
case: (eqVneq (q x) 0) => [->|qn0]; first by rewrite mul0r.
rewrite -[X in _ <= X]mulr1 ler_wpmul2l ?dist_ge0 // -[X in _ <= X](expect_const 1 (sound_judge x qn0)).
by apply: (expect_le_reached (sound_judge x qn0) (judged qn0)) => -[z|r tried] //= _; apply: ler01.
Qed.

(* No step that is lossless on one draft accepts it more often than Leviathan's does. *)
Theorem speculative_optimal :
  expect (rule (target c) [::] d) (@accepted R T undefined)
  <= expect (@speculative W (target c) [::] q) (@accepted R T undefined).
Proof.
have [qd _] : is_dist q /\ forall x, q x != 0 -> sound (judge x) by move: well; rewrite drafts.
by rewrite speculative_acceptance //; apply: acceptance_optimal.
Qed.

End OneDraft.

(* For the canonical form, on one draft: the accepted part of q lies below the target. *)
Theorem canonical_dominated (a rho : (T -> R) -> (T -> R) -> T -> R) (target : context -> T -> R) q c :
  (forall c', is_dist (target c')) -> is_dist q -> (forall x, 0 <= a (target c) q x <= 1) ->
  (forall y, 0 <= rho (target c) q y) ->
  lossless target (speculate (canonical a rho) target (one_sibling W q) c) c ->
  forall y, q y * a (target c) q y <= target c y.
Proof.
move=> target_dist qd a01 rho0 /(residual_form _ _ _ target_dist qd) H y.
rewrite -subr_ge0 -H mulr_ge0 // -(dist_sum qd) -sumrB; apply: sumr_ge0 => x _.
by rewrite -[X in X - _]mulr1 -mulrBr mulr_ge0 ?dist_ge0 // subr_ge0; case/andP: (a01 x).
Qed.

End Necessity.
