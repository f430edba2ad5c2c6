(* What a rule computes with: numbers, and a finite vocabulary of tokens.

   Every rule in this folder is written once, over an arbitrary world. The theorems read it in the world
   [real R T undefined] of an ordered field R and a finite type T; the world of rational.v evaluates the
   same text.

   What a / 0 is in it, [undefined] says, and this may be any function of a. The machines that read the
   Python texts call a / 0 undefined, and with it the [norm] of a vector that adds up to 0; a branch that
   reaches such a value must have probability zero. A theorem that held only because a / 0 is 0, as MathComp
   has it, would be none about those texts: here no theorem depends on what it is. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.

Record world := World {
  number : Type;
  token : eqType;
  vocabulary : seq token;
  zero : number;
  one : number;
  add : number -> number -> number;
  sub : number -> number -> number;
  mul : number -> number -> number;
  div : number -> number -> number;
  le : number -> number -> bool;
  (* The same vector; a world that computes tabulates it here, so that no entry is computed twice. *)
  table : (token -> number) -> token -> number
}.

Declare Scope rule_scope.
Delimit Scope rule_scope with rule.
Notation "0" := (zero _) : rule_scope.
Notation "1" := (one _) : rule_scope.
Notation "a + b" := (add a b) : rule_scope.
Notation "a - b" := (sub a b) : rule_scope.
Notation "a * b" := (mul a b) : rule_scope.
Notation "a / b" := (div a b) : rule_scope.
Notation "a <= b" := (le a b) : rule_scope.
Notation "a < b" := (~~ le b a) : rule_scope.

(* The operations of a rule: the machine's [min], [relu], [sum], [norm], [without], [uniform], [point] and
   [argmax]. A vector is a function of the token, and need not be a distribution. *)
Section Operations.
Variable W : world.
Local Open Scope rule_scope.

Definition vector := token W -> number W.
Implicit Types (a b : number W) (v w : vector) (x : token W) (xs : seq (token W)).

Definition smaller a b := if a <= b then a else b.
Definition relu a := if 0 <= a then a else 0.
Definition sum_over xs v : number W := foldr (fun x total => v x + total) 0 xs.
Definition sum v : number W := sum_over (vocabulary W) v.
Definition minus v w : vector := table (fun x => v x - w x).
Definition positive_part v : vector := table (fun x => relu (v x)).
Definition norm v : vector := let total := sum v in table (fun x => v x / total).
Definition norm_or v w : vector := if sum v <= 0 then w else norm v.
Definition without v xs : vector := table (fun x => if x \in xs then 0 else v x).
Definition uniform_without xs : vector := norm (without (fun=> 1) xs).
Definition point x : vector := fun y => if y == x then 1 else 0.

(* The token with the largest entry, the first one of several; [x] if there is no token. *)
Definition best_of v x xs : token W := foldl (fun best y => if v y <= v best then best else y) x xs.
Definition argmax (x : token W) v : token W :=
  if vocabulary W is y :: ys then best_of v y ys else x.

End Operations.

(* The world of the theorems, whatever a / 0 is. *)
Definition real (R : realFieldType) (T : finType) (undefined : R -> R) : world :=
  @World R T (enum T) 0%R 1%R +%R (fun a b => a - b)%R *%R
    (fun a b => if b == 0 then undefined a else a / b)%R <=%R (fun v => v).

Arguments real : clear implicits.
(* A quotient stays as it is in a proof, until the divisor is known not to be 0. *)
Arguments div : simpl never.

Section Real.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Implicit Types (a b : R) (p q v : T -> R) (x y : T).
Local Open Scope ring_scope.

Lemma smallerE a b : @smaller W a b = Num.min a b.
Proof. by rewrite /smaller /=; case: leP. Qed.

Lemma divE a b : b != 0 -> @div W a b = a / b.
Proof. by rewrite /div /= => /negbTE ->. Qed.

(* A divisor times the quotient, where 0 is divided by 0 as well. *)
Lemma mul_div a b : (b = 0 -> a = 0) -> b * @div W a b = a.
Proof.
case: (eqVneq b 0) => [b0 a0|bn0 _]; first by rewrite b0 a0 // mul0r.
by rewrite divE // mulrC divfK.
Qed.

Lemma reluE a : @relu W a = Num.max 0 a.
Proof. by rewrite /relu /=; case: leP. Qed.

Lemma sum_overE xs v : @sum_over W xs v = \sum_(x <- xs) v x.
Proof. by elim: xs => [|x xs IH]; rewrite ?big_nil // big_cons -IH. Qed.

Lemma sumE v : @sum W v = \sum_x v x.
Proof. by rewrite /sum sum_overE big_enum. Qed.

(* Distributions, the targets and drafts of the papers. *)
Definition is_dist p := (forall x, 0 <= p x) /\ \sum_x p x = 1.

Lemma dist_ge0 p x : is_dist p -> 0 <= p x.
Proof. by case. Qed.

Lemma dist_sum p : is_dist p -> \sum_x p x = 1.
Proof. by case. Qed.

Lemma dist_le1 p x : is_dist p -> p x <= 1.
Proof. by case=> p0 <-; rewrite (bigD1 x) //= ler_addl sumr_ge0. Qed.

Lemma eq_dist p q : p =1 q -> is_dist p -> is_dist q.
Proof.
move=> e [p0 p1]; split=> [x|]; first by rewrite -e.
by rewrite -p1; apply: eq_bigr => x _; rewrite e.
Qed.

(* A sum that looks at one entry. *)
Lemma sum_at v y : \sum_x v x * (x == y)%:R = v y.
Proof. by rewrite (bigD1 y) //= eqxx mulr1 big1 ?addr0 // => x /negbTE ->; rewrite mulr0. Qed.

Lemma point_dist t : is_dist (@point W t).
Proof.
rewrite /point /=; split=> [x|]; first by case: eqP => _; rewrite ?ler01.
by rewrite (bigD1 t) //= eqxx big1 ?addr0 // => x /negbTE ->.
Qed.

(* A vector with non-negative entries that add up to 0. *)
Lemma massless v x : (forall x, 0 <= v x) -> \sum_y v y = 0 -> v x = 0.
Proof. by move=> v0 z0; apply: (psumr_eq0P (fun y _ => v0 y) z0). Qed.

(* A vector that adds up to 0 has no norm: its entries are divided by 0. *)
Lemma norm_div v x : @norm W v x = @div W (v x) (\sum_y v y).
Proof. by rewrite /norm /= sumE. Qed.

Lemma normE v x : \sum_y v y != 0 -> @norm W v x = v x / \sum_y v y.
Proof. by move=> vn0; rewrite norm_div divE. Qed.

Lemma eq_norm v w : v =1 w -> @norm W v =1 @norm W w.
Proof. by move=> e x; rewrite !norm_div e (eq_bigr w). Qed.

(* A vector with non-negative entries, divided by its sum, is a distribution, if the sum is not zero. *)
Lemma norm_dist v : (forall x, 0 <= v x) -> \sum_x v x != 0 -> is_dist (@norm W v).
Proof.
move=> v0 vn0; split=> [x|]; first by rewrite normE // divr_ge0 ?sumr_ge0.
by under eq_bigr do rewrite normE //; rewrite -mulr_suml mulfV.
Qed.

(* Its mass times the normed vector is the vector, whether the sum is zero or not. *)
Lemma mass_norm v x : (forall x, 0 <= v x) -> (\sum_y v y) * @norm W v x = v x.
Proof. by move=> v0; rewrite norm_div mul_div //; apply: massless. Qed.

(* Entries set to zero. *)
Lemma without_ge0 v xs x : (forall x, 0 <= v x) -> 0 <= @without W v xs x.
Proof. by move=> v0; rewrite /without /=; case: ifP. Qed.

Lemma without_one v x : \sum_y @without W v [:: x] y = \sum_y v y - v x.
Proof.
rewrite (bigD1 x) //= [X in _ = X - _](bigD1 x) //= /without /= inE eqxx add0r addrC addKr.
by apply: eq_bigr => y /negbTE yx; rewrite inE yx.
Qed.

End Real.
