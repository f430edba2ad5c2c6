(* What a rule is, and the law of what it returns: programs over draw and flip.

   A program draws tokens and flips coins, and returns an outcome. Nothing else in it is random, so that
   its law is finite: [expect t f] is the expected value of [f] at the outcome. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.

Section Programs.
Variable W : world.

Inductive program (A : Type) :=
  | Return of A
  | Draw of vector W & (token W -> program A)
  | Flip of number W & program A & program A.

Arguments Return {A}.
Arguments Draw {A}.
Arguments Flip {A}.

Local Open Scope rule_scope.

Fixpoint expect A (t : program A) (f : A -> number W) : number W :=
  match t with
  | Return a => f a
  | Draw v k => sum (fun x => v x * expect (k x) f)
  | Flip a yes no => a * expect yes f + (1 - a) * expect no f
  end.

Fixpoint bind A B (t : program A) (k : A -> program B) : program B :=
  match t with
  | Return a => k a
  | Draw v l => Draw v (fun x => bind (l x) k)
  | Flip a yes no => Flip a (bind yes k) (bind no k)
  end.

(* Every outcome with its weight, the weights of zero left out: the same law as a list. *)
Fixpoint outcomes A (weight : number W) (t : program A) : seq (number W * A) :=
  if weight <= 0 then [::] else
  match t with
  | Return a => [:: (weight, a)]
  | Draw v k => flatten [seq outcomes (weight * v x) (k x) | x <- vocabulary W]
  | Flip a yes no => outcomes (weight * a) yes ++ outcomes (weight * (1 - a)) no
  end.

(* A coin uniform on [low, high), narrowed by every comparison: [coin < threshold]. *)
Definition below A (low high threshold : number W)
    (yes : number W -> program A) (no : number W -> program A) : program A :=
  let bound := smaller (low + relu (threshold - low)) high in
  Flip ((bound - low) / (high - low)) (yes bound) (no bound).

End Programs.

Arguments Return {W A}.
Arguments Draw {W A}.
Arguments Flip {W A}.

Section Laws.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Local Open Scope ring_scope.

(* In the world of the theorems, as the papers write it. *)
Lemma expect_draw A (v : T -> R) (k : T -> program W A) f :
  expect (@Draw W A v k) f = \sum_x v x * expect (k x) f.
Proof. by rewrite /= sumE. Qed.

Lemma expect_flip A (a : R) (yes no : program W A) f :
  expect (@Flip W A a yes no) f = a * expect yes f + (1 - a) * expect no f.
Proof. by []. Qed.

(* Holds of every outcome that has a nonzero weight: of a sound program, one with positive probability. *)
Fixpoint reached A (P : A -> Prop) (t : program W A) : Prop :=
  match t with
  | Return a => P a
  | Draw v k => forall x, v x != 0 -> reached P (k x)
  | Flip a yes no => (a != 0 -> reached P yes) /\ (1 - a != 0 -> reached P no)
  end.

(* Every vector that is drawn from is a distribution, and every coin has a probability in [0, 1], wherever
   they are reached. *)
Fixpoint sound A (t : program W A) : Prop :=
  match t with
  | Return _ => True
  | Draw v k => is_dist v /\ forall x, v x != 0 -> sound (k x)
  | Flip a yes no => 0 <= a <= 1 /\ (a != 0 -> sound yes) /\ (1 - a != 0 -> sound no)
  end.

(* Holds of every outcome, so of those that are reached. *)
Lemma all_reached A (P : A -> Prop) (t : program W A) : (forall a, P a) -> reached P t.
Proof. by move=> H; elim: t => [a|v k IH|a yes IHy no IHn] //=; split. Qed.

Lemma sub_reached A (P Q : A -> Prop) (t : program W A) :
  (forall a, P a -> Q a) -> reached P t -> reached Q t.
Proof.
move=> PQ; elim: t => [a|v k IH|a yes IHy no IHn] /=; [exact: PQ | by move=> H x /H/IH |].
by case=> ry rn; split=> [/ry/IHy|/rn/IHn].
Qed.

Lemma reached_and A (P Q : A -> Prop) (t : program W A) :
  reached P t -> reached Q t -> reached (fun a => P a /\ Q a) t.
Proof.
elim: t => [a|v k IH|a yes IHy no IHn] //=; first by move=> rP rQ x vx; apply: IH; [apply: rP | apply: rQ].
by case=> Py Pn [Qy Qn]; split=> a0; [apply: IHy; [apply: Py | apply: Qy]
                                     |apply: IHn; [apply: Pn | apply: Qn]].
Qed.

Lemma reached_bind A B (P : B -> Prop) (t : program W A) (k : A -> program W B) :
  reached P (bind t k) <-> reached (fun a => reached P (k a)) t.
Proof.
elim: t => [a|v l IH|a yes IHy no IHn] //=; first by split=> H x /H/IH.
by split=> -[ry rn]; split=> [/ry/IHy|/rn/IHn].
Qed.

Lemma sound_bind A B (t : program W A) (k : A -> program W B) :
  sound (bind t k) <-> sound t /\ reached (fun a => sound (k a)) t.
Proof.
elim: t => [a|v l IH|a yes IHy no IHn] /=; first by split=> [|[]].
  split=> [[vd s]|[[vd s] r]]; last by split=> // x vx; apply/IH; split; [apply: s | apply: r].
  by split=> [|x vx]; [split=> // x vx|]; have [] := (IH x).1 (s x vx).
split=> [[a01 [sy sn]]|[[a01 [sy sn]] [ry rn]]].
  by do !split=> //; move=> a0; [have [] := IHy.1 (sy a0)|have [] := IHn.1 (sn a0)
                              |have [] := IHy.1 (sy a0)|have [] := IHn.1 (sn a0)].
by split=> //; split=> a0; [apply/IHy; split; [apply: sy | apply: ry]
                           |apply/IHn; split; [apply: sn | apply: rn]].
Qed.

(* Something is reached. *)
Lemma reached_exists A (P : A -> Prop) (t : program W A) : sound t -> reached P t -> exists a, P a.
Proof.
elim: t => [a|v k IH|a yes IHy no IHn] /=; first by move=> _ Pa; exists a.
  case=> -[_ v1] s r; have [x vx|v0] := pickP (fun x => v x != 0).
    by apply: (IH x); [apply: s | apply: r].
  by have /eqP := oner_neq0 R; case; rewrite -v1 big1 // => x _; apply/eqP/negbFE/v0.
case=> _ [sy sn] [ry rn]; case: (eqVneq a 0) => [a0|an0]; last by apply: IHy; [apply: sy | apply: ry].
by apply: IHn; [apply: sn | apply: rn]; rewrite a0 subr0 oner_neq0.
Qed.

Lemma eq_expect A (t : program W A) f g : (forall a, f a = g a) -> expect t f = expect t g.
Proof.
move=> e; elim: t => [a|v k IH|a yes IHy no IHn] //=; last by rewrite IHy IHn.
by rewrite !sumE; apply: eq_bigr => x _; rewrite IH.
Qed.

(* Only the values at reached outcomes matter. *)
Lemma eq_expect_reached A (P : A -> Prop) (t : program W A) f g :
  reached P t -> (forall a, P a -> f a = g a) -> expect t f = expect t g.
Proof.
move=> + e; elim: t => [a|v k IH|a yes IHy no IHn] /=; first exact: e.
  move=> Pk; rewrite !sumE; apply: eq_bigr => x _.
  by case: (eqVneq (v x) 0) => [->|vx]; rewrite ?mul0r // IH //; apply: Pk.
case=> Py Pn; congr (_ + _).
  by case: (eqVneq a 0) => [->|an0]; rewrite ?mul0r // IHy //; apply: Py.
by case: (eqVneq (1 - a) 0) => [->|an1]; rewrite ?mul0r // IHn //; apply: Pn.
Qed.

Lemma expect_bind A B (t : program W A) (k : A -> program W B) f :
  expect (bind t k) f = expect t (fun a => expect (k a) f).
Proof.
elim: t => [a|v l IH|a yes IHy no IHn] //=; last by rewrite IHy IHn.
by rewrite !sumE; apply: eq_bigr => x _; rewrite IH.
Qed.

Lemma expectD A (t : program W A) f g : expect t (fun a => f a + g a) = expect t f + expect t g.
Proof.
elim: t => [a|v k IH|a yes IHy no IHn] //=.
  by rewrite !sumE -big_split /=; apply: eq_bigr => x _; rewrite IH mulrDr.
by rewrite IHy IHn !mulrDr addrACA.
Qed.

Lemma expectZ A (t : program W A) (c : R) f : expect t (fun a => c * f a) = c * expect t f.
Proof.
elim: t => [a|v k IH|a yes IHy no IHn] //=.
  by rewrite !sumE mulr_sumr; apply: eq_bigr => x _; rewrite IH mulrCA.
by rewrite IHy IHn mulrDr !(mulrCA c).
Qed.

Lemma expectB A (t : program W A) (f g : A -> R) :
  expect t (fun a => f a - g a) = expect t f - expect t g.
Proof. by rewrite -mulN1r -expectZ -expectD; apply: eq_expect => a; rewrite mulN1r. Qed.

Lemma expect_sum A (I : Type) (s : seq I) (t : program W A) (F : I -> A -> R) :
  expect t (fun a => \sum_(i <- s) F i a) = \sum_(i <- s) expect t (F i).
Proof.
elim: s => [|i s IH].
  rewrite big_nil; transitivity (expect t (fun=> 0 * 0 : R)); last by rewrite expectZ mul0r.
  by apply: eq_expect => a; rewrite big_nil mul0r.
by rewrite big_cons -IH -expectD; apply: eq_expect => a; rewrite big_cons.
Qed.

(* Two programs of which neither depends on the other's outcome can be run in either order. *)
Lemma expect_swap A B (t : program W A) (u : program W B) (f : A -> B -> R) :
  expect t (fun a => expect u (f a)) = expect u (fun b => expect t (fun a => f a b)).
Proof.
elim: t => [a|v k IH|a yes IHy no IHn] //=.
  rewrite sumE; transitivity (expect u (fun b => \sum_x v x * expect (k x) (f^~ b) : R)).
    by rewrite expect_sum; apply: eq_bigr => x _; rewrite expectZ -IH.
  by apply: eq_expect => b; rewrite sumE.
by rewrite expectD !expectZ -IHy -IHn.
Qed.

Lemma expect_const A (t : program W A) (c : R) : sound t -> expect t (fun=> c) = c.
Proof.
elim: t => [a|v k IH|a yes IHy no IHn] //=.
  case=> -[_ v1] sk; rewrite sumE -[RHS]mul1r -v1 mulr_suml; apply: eq_bigr => x _.
  by case: (eqVneq (v x) 0) => [->|vx]; rewrite ?mul0r // IH //; apply: sk.
case=> _ [sy sn]; transitivity (a * c + (1 - a) * c); last by rewrite -mulrDl addrC subrK mul1r.
congr (_ + _).
  by case: (eqVneq a 0) => [->|an0]; rewrite ?mul0r // IHy //; apply: sy.
by case: (eqVneq (1 - a) 0) => [->|an1]; rewrite ?mul0r // IHn //; apply: sn.
Qed.

(* Only the signs at reached outcomes matter. *)
Lemma expect_ge0_reached A (P : A -> Prop) (t : program W A) (f : A -> R) :
  sound t -> reached P t -> (forall a, P a -> 0 <= f a) -> 0 <= expect t f.
Proof.
move=> + + f0; elim: t => [a|v k IH|a yes IHy no IHn]; first by move=> _; apply: f0.
  case=> -[v0 _] sk Pk; rewrite expect_draw; apply: sumr_ge0 => x _.
  by case: (eqVneq (v x) 0) => [->|vx]; rewrite ?mul0r // mulr_ge0 // IH //; [apply: sk | apply: Pk].
case=> /andP[a0 a1] [sy sn] [Py Pn]; rewrite expect_flip; apply: addr_ge0.
  by case: (eqVneq a 0) => [->|an0]; rewrite ?mul0r // mulr_ge0 // IHy //; [apply: sy | apply: Py].
case: (eqVneq (1 - a) 0) => [->|an1]; rewrite ?mul0r // mulr_ge0 ?subr_ge0 // IHn //;
  by [apply: sn | apply: Pn].
Qed.

Lemma expect_ge0 A (t : program W A) f : sound t -> (forall a, 0 <= f a) -> 0 <= expect t f.
Proof. by move=> st f0; apply: (expect_ge0_reached st) (fun a _ => f0 a); apply: all_reached. Qed.

Lemma expect_le_reached A (P : A -> Prop) (t : program W A) (f g : A -> R) :
  sound t -> reached P t -> (forall a, P a -> f a <= g a) -> @expect W _ t f <= expect t g.
Proof.
move=> st Pt fg; rewrite -subr_ge0 -mulN1r -expectZ -expectD.
by apply: (expect_ge0_reached st Pt) => a /fg; rewrite mulN1r subr_ge0.
Qed.

Lemma expect_le A (t : program W A) (f g : A -> R) :
  sound t -> (forall a, f a <= g a) -> @expect W _ t f <= expect t g.
Proof. by move=> st fg; apply: (expect_le_reached st) (fun a _ => fg a); apply: all_reached. Qed.

(* What is not reached has probability 0, so that programs of the same law reach the same. *)
Lemma reached_prob A (P : A -> bool) (t : program W A) :
  sound t -> reached P t <-> expect t (fun a => (~~ P a)%:R) = 0 :> R.
Proof.
pose f a : R := (~~ P a)%:R; have f0 a : 0 <= f a by apply: ler0n.
have ge0 (b : R) u : 0 <= b -> (b != 0 -> sound u) -> 0 <= b * expect u f.
  by move=> b0 su; case: (eqVneq b 0) => [->|/su/expect_ge0 E]; rewrite ?mul0r // mulr_ge0 ?E.
have zero (b : R) u : (b != 0 -> sound u) -> (sound u -> reached P u <-> expect u f = 0) ->
    (b != 0 -> reached P u) <-> b * expect u f = 0.
  move=> su H; split=> [ru|/eqP e bn0]; last first.
    by apply/(H (su bn0)); move: e; rewrite mulf_eq0 (negbTE bn0) => /eqP.
  by case: (eqVneq b 0) => [->|bn0]; rewrite ?mul0r // (H (su bn0)).1 ?mulr0 //; apply: ru.
elim: t => [a|v k IH|a yes IHy no IHn].
- by rewrite /=; case: (P a) => //; split=> // /eqP; rewrite oner_eq0.
- case=> -[v0 _] sk; rewrite expect_draw; split=> [Pk|].
    by rewrite big1 // => x _; apply/(zero _ _ (sk x) (IH x)); apply: Pk.
  move/(psumr_eq0P (fun x _ => ge0 _ _ (v0 x) (sk x))) => none x.
  by apply/(zero _ _ (sk x) (IH x)); apply: none.
case=> /andP[a0 a1] [sy sn]; rewrite expect_flip; split=> [[ry rn]|/eqP].
  by rewrite (zero _ _ sy IHy).1 // (zero _ _ sn IHn).1 // addr0.
rewrite paddr_eq0 ?ge0 ?subr_ge0 // => /andP[/eqP ey /eqP en].
by split; [apply/(zero _ _ sy IHy) | apply/(zero _ _ sn IHn)].
Qed.

Lemma same_reached A (P : A -> bool) (t u : program W A) :
  sound t -> sound u -> (forall f, expect t f = expect u f) -> reached P t -> reached P u.
Proof. by move=> st su e /(reached_prob P st) zero; apply/(reached_prob P su); rewrite -e. Qed.

(* Whether a program is sound can be decided. *)
Fixpoint soundb A (t : program W A) : bool :=
  match t with
  | Return _ => true
  | Draw v k => [&& [forall x, 0 <= v x], \sum_x v x == 1 & [forall x, (v x != 0) ==> soundb (k x)]]
  | Flip a yes no => [&& 0 <= a <= 1, (a != 0) ==> soundb yes & (1 - a != 0) ==> soundb no]
  end.

Lemma soundP A (t : program W A) : reflect (sound t) (soundb t).
Proof.
elim: t => [a|v k IH|a yes IHy no IHn] /=; first exact: ReflectT.
  apply: (iffP and3P) => [[/forallP v0 /eqP v1 /forallP sk]|[[v0 v1] sk]]; last first.
    by split; [apply/forallP | apply/eqP | apply/forallP=> x; apply/implyP=> /sk/IH].
  by split=> // x vx; apply/IH; have /implyP := sk x; apply.
apply: (iffP and3P) => [[a01 /implyP sy /implyP sn]|[a01 [sy sn]]]; last first.
  by split=> //; apply/implyP; [move/sy/IHy | move/sn/IHn].
by do !split=> //; [move/sy/IHy | move/sn/IHn].
Qed.

(* The coin is at least [low]: it is below the threshold if it is below this bound. *)
Lemma belowE A (low high threshold : R) (yes no : R -> program W A) :
  let bound := Num.min (Num.max low threshold) high in
  @below W A low high threshold yes no = @Flip W A (@div W (bound - low) (high - low)) (yes bound) (no bound).
Proof.
suff e : @smaller W (low + @relu W (threshold - low)) high = Num.min (Num.max low threshold) high.
  by rewrite /below -e.
by rewrite smallerE reluE addr_maxr addr0 addrC subrK.
Qed.

Lemma expect_below A (low high threshold : R) (yes no : R -> program W A) f : low <= threshold ->
  let bound := Num.min threshold high in
  expect (@below W A low high threshold yes no) f
  = @div W (bound - low) (high - low) * expect (yes bound) f
    + (1 - @div W (bound - low) (high - low)) * expect (no bound) f.
Proof. by move=> lt; rewrite belowE max_r. Qed.

Lemma below_sound A (low high threshold : R) (yes no : R -> program W A) : low < high ->
  let bound := Num.min (Num.max low threshold) high in
  sound (yes bound) -> (low <= bound < high -> sound (no bound)) ->
  sound (@below W A low high threshold yes no).
Proof.
move=> lt; rewrite belowE; set bound := Num.min _ _ => /= sy sn.
have gap : 0 < high - low by rewrite subr_gt0.
have /andP[lb bh] : low <= bound <= high by rewrite le_minr le_minl le_maxr !lexx orbT (ltW lt).
rewrite [sound _]/= divE; last by rewrite gt_eqF.
split; first by rewrite divr_ge0 ?subr_ge0 ?(ltW lt) //= ler_pdivr_mulr // mul1r ler_sub.
split=> // failed; apply: sn; rewrite lb lt_neqAle bh andbT; apply: contra failed => /eqP ->.
by rewrite mulfV ?subrr ?eqxx ?gt_eqF.
Qed.

Lemma outcomes0 A (t : program W A) : @outcomes W A 0 t = [::].
Proof. by case: t => *; rewrite /= lexx. Qed.

(* The list of outcomes is the law. *)
Theorem expect_outcomes A (t : program W A) f :
  sound t -> expect t f = \sum_(o <- @outcomes W A 1 t) o.1 * f o.2.
Proof.
have nil (w : R) (u : program W A) g : w <= 0 -> 0 <= w ->
    \sum_(o <- [::] : seq (R * A)) o.1 * g o.2 = w * expect u g.
  by move=> w0 w0'; rewrite big_nil (_ : w = 0) ?mul0r //; apply/eqP; rewrite eq_le w0 w0'.
suff H (w : R) : 0 <= w -> sound t -> \sum_(o <- @outcomes W A w t) o.1 * f o.2 = w * expect t f.
  by move=> st; rewrite H ?mul1r ?ler01.
elim: t w => [a|v k IH|a yes IHy no IHn] w w0 st; rewrite [@outcomes]lock /= -lock /=.
- by case: leP => [w0'|_]; [apply: (nil _ (Return a)) | rewrite big_seq1].
- case: leP => [w0'|wpos]; first exact: (nil _ (Draw v k)).
  case: st => -[v0 _] sk; rewrite sumE big_flatten big_map big_enum mulr_sumr /=.
  apply: eq_bigr => x _; case: (eqVneq (v x) 0) => [->|vx].
    by rewrite mulr0 outcomes0 big_nil mul0r mulr0.
  by rewrite IH ?mulrA ?mulr_ge0 //; apply: sk.
- case: leP => [w0'|wpos]; first exact: (nil _ (Flip a yes no)).
  case: st => /andP[a0 a1] [sy sn]; rewrite big_cat /=.
  rewrite [X in _ = X](mulrDr w (a * expect yes f)) !(mulrA w); congr (_ + _).
    case: (eqVneq a 0) => [->|an0]; last by rewrite IHy ?mulr_ge0 //; apply: sy.
    by rewrite mulr0 outcomes0 big_nil mul0r.
  case: (eqVneq (1 - a) 0) => [->|an1]; last by rewrite IHn ?mulr_ge0 ?subr_ge0 //; apply: sn.
  by rewrite mulr0 outcomes0 big_nil mul0r.
Qed.

End Laws.
