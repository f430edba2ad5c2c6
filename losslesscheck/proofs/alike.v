(* Two programs that are alike draw from the same vectors and flip the same coins, in the same order.

   Two texts of one rule can differ in what they keep in their variables, and in how a vector is written down.
   If they draw and flip alike, both have the same law, and one is sound if the other is. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Alike.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).

(* It is asked only of what is reached, and the outcomes are to be related by [rel]. Two vectors are the same if
   their entries are. *)
Fixpoint alike A B (rel : A -> B -> Prop) (t : program W A) (u : program W B) : Prop :=
  match t, u with
  | Return a, Return b => rel a b
  | Draw v k, Draw w l => v =1 w /\ forall x, v x != 0 -> alike rel (k x) (l x)
  | Flip a yes no, Flip b yes' no' =>
    [/\ a = b, a != 0 -> alike rel yes yes' & 1 - a != 0 -> alike rel no no']
  | _, _ => False
  end.

(* Programs that are alike, outcomes included, have the same law, ... *)
Lemma alike_law A (t u : program W A) f : alike eq t u -> expect t f = expect u f.
Proof.
elim: t u => [a|v k IH|a yes IHy no IHn] [b|w l|b yes' no'] //=; first by move=> ->.
  case=> e kl; rewrite !sumE; apply: eq_bigr => x _; rewrite -e.
  by case: (eqVneq (v x) 0) => [->|vx]; rewrite ?mul0r // (IH x (l x)) //; apply: kl.
case=> <- yy nn; congr (_ + _).
  by case: (eqVneq a 0) => [->|an0]; rewrite ?mul0r // (IHy yes') //; apply: yy.
by case: (eqVneq (1 - a) 0) => [->|an1]; rewrite ?mul0r // (IHn no') //; apply: nn.
Qed.

(* ... and one is sound if the other is. *)
Lemma alike_sound A B (rel : A -> B -> Prop) t u : alike rel t u -> sound u -> sound t.
Proof.
elim: t u => [a|v k IH|a yes IHy no IHn] [b|w l|b yes' no'] //=.
  case=> e kl [wd sl]; split=> [|x vx]; first by apply: eq_dist wd => x; rewrite e.
  by apply: (IH x (l x)); [apply: kl | apply: sl; rewrite -e].
case=> <- yy nn [b01 [sy sn]]; do !split=> //.
  by move=> a0; apply: (IHy yes'); [apply: yy | apply: sy].
by move=> a1; apply: (IHn no'); [apply: nn | apply: sn].
Qed.

Lemma alike_same A (t u : program W A) : t = u -> alike eq t u.
Proof. by move=> <-; elim: t => [a|v k IH|a yes IHy no IHn] /=; split. Qed.

(* One program after another. *)
Lemma alike_bind A B A' B' (rel : A -> B -> Prop) (rel' : A' -> B' -> Prop) t u k l :
  alike rel t u -> (forall a b, rel a b -> alike rel' (k a) (l b)) -> alike rel' (bind t k) (bind u l).
Proof.
move=> + kl; elim: t u => [a|v k' IH|a yes IHy no IHn] [b|w l'|b yes' no'] //=; first exact: kl.
  by case=> e tu; split=> // x vx; apply: IH; apply: tu.
by case=> e yy nn; split=> // a0; [apply: IHy; apply: yy | apply: IHn; apply: nn].
Qed.

Lemma alike_assoc A B C D (rel : A -> B -> Prop) t (u : program W C) (k : C -> program W D) l :
  alike rel t (bind u (fun c => bind (k c) l)) -> alike rel t (bind (bind u k) l).
Proof.
elim: u t => [c|w k' IH|b yes IHy no IHn] [a|v l'|a yes' no'] //=.
  by case=> e tu; split=> // x vx; apply: IH; apply: tu.
by case=> e yy nn; split=> // a0; [apply: IHy; apply: yy | apply: IHn; apply: nn].
Qed.

End Alike.
