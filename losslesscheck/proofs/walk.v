(* Token trees and the walks over them, in any world.

   A step rule decides on one draft token at a time, a node rule on all siblings of a node at once. The walk
   is what they share: an accepted token leads to the node below it, where the target starts afresh; a
   rejected one to the next sibling, with the residual in place of the target. Where no sibling is left, a
   token is drawn from what is left of the target: the bonus token at the end of a path. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Walks.
Variable W : world.

(* The tokens emitted since the root, and a language model: the next token's law after a context. *)
Definition context := seq (token W).
Definition model := context -> vector W.

(* What a step rule does with a draft token: emit it, or go on with a residual and the tokens tried. *)
Inductive outcome := Accept of token W | Reject of vector W & seq (token W).

Section Steps.
Variable D : Type. (* what is known of a draft token: its distribution, or the token if it is fixed *)

Definition step := vector W -> seq (token W) -> D -> program W outcome.

(* A node where no sibling is left, or a sibling to try: what follows may depend on the token accepted, and
   on the tokens tried before (drafts without replacement, or any other that depend on their history). *)
Inductive tree := Leaf | Draft of D & (token W -> tree) & (seq (token W) -> tree).

Variables (rule : step) (target : model).

(* The sequence that one draft-and-verify step emits, [c] included; [r] is what is left of the target
   at [c], and [tried] the siblings that were rejected there. *)
Fixpoint walk (t : tree) (c : context) (r : vector W) (tried : seq (token W)) : program W context :=
  match t with
  | Leaf => Draw r (fun y => Return (rcons c y))
  | Draft d under beside =>
    bind (rule r tried d) (fun o =>
      match o with
      | Accept x => walk (under x) (rcons c x) (target (rcons c x)) [::]
      | Reject r' tried' => walk (beside tried') c r' tried'
      end)
  end.

Definition speculate (t : tree) (c : context) : program W context := walk t c (target c) [::].

End Steps.

(* Plain decoding until the sequence has [n] tokens; a longer sequence is cut. *)
Fixpoint decode (next : model) (n : nat) (c : context) : program W context :=
  if n is m.+1 then Draw (next c) (fun y => decode next m (rcons c y)) else Return c.

Definition finish (next : model) (n : nat) (c : context) : program W context :=
  decode next (n - size c) (take n c).

(* Token trees as drafters hand them over: [Shape [:: s1; ...; sk]] is a node with k siblings below it. *)
Inductive shape := Shape of seq shape.

(* The tree of drafts, where the draft at a context is [q context tried]. *)
Fixpoint plant D (q : context -> seq (token W) -> D) (s : shape) (c : context) : tree D :=
  let: Shape children := s in
  (fix siblings (ss : seq shape) (tried : seq (token W)) : tree D :=
     if ss is s' :: ss' then Draft (q c tried) (fun x => plant q s' (rcons c x)) (siblings ss')
     else Leaf D) children [::].

(* Trees of fixed tokens, the siblings of a node in the order in which they are tried. *)
Inductive token_tree := Node of seq (token W * token_tree).

Definition children (t : token_tree) := let: Node ts := t in ts.
Definition siblings (t : token_tree) : seq (token W) := [seq e.1 | e <- children t].

Fixpoint plant_tokens (t : token_tree) : tree (token W) :=
  let: Node ts := t in
  (fix sib (ts : seq (token W * token_tree)) : tree (token W) :=
     if ts is (x, t') :: ts' then Draft x (fun=> plant_tokens t') (fun=> sib ts') else Leaf _) ts.

(* What a node rule does: emit a sibling and go on below it, or emit a token and stop. *)
Inductive decision := Take of token W | Stop of token W.

Definition node_rule := vector W -> seq (token W) -> program W decision.

Fixpoint walk_nodes (rule : node_rule) (target : model) (t : token_tree) (c : context) : program W context :=
  let: Node ts := t in
  bind (rule (target c) [seq e.1 | e <- ts]) (fun o =>
    match o with
    | Stop y => Return (rcons c y)
    | Take y =>
      (* Below the first sibling that is y, as in the Python walk. SGLang's sampler goes below the sibling that
         it accepted; this matters only where siblings are equal. *)
      (fix enter (ts : seq (token W * token_tree)) : program W context :=
         if ts is (x, t') :: ts' then
           if x == y then walk_nodes rule target t' (rcons c y) else enter ts'
         else Return (rcons c y)) ts
    end).

End Walks.

Arguments Accept {W}.
Arguments Reject {W}.
Arguments Leaf {W D}.
Arguments Draft {W D}.
Arguments Node {W}.
Arguments Take {W}.
Arguments Stop {W}.

(* Trees are nested in lists, which the induction principles that Coq derives do not look into. *)
Fixpoint in_all A (P : A -> Prop) (xs : seq A) : Prop := if xs is x :: xs' then P x /\ in_all P xs' else True.

Lemma shape_induction (P : shape -> Prop) : (forall ss, in_all P ss -> P (Shape ss)) -> forall s, P s.
Proof. by move=> H; fix IH 1 => -[ss]; apply: H; elim: ss. Qed.

Lemma token_tree_induction W (P : token_tree W -> Prop) :
  (forall ts, in_all (fun e => P e.2) ts -> P (Node ts)) -> forall t, P t.
Proof. by move=> H; fix IH 1 => -[ts]; apply: H; elim: ts => // -[]. Qed.

(* Planted trees, with a name for the siblings of a node. *)
Section Planted.
Variable W : world.

Section Siblings.
Variables (D : Type) (q : context W -> seq (token W) -> D) (c : context W).

Fixpoint plant_siblings (ss : seq shape) (tried : seq (token W)) : tree W D :=
  if ss is s :: ss' then Draft (q c tried) (fun x => plant q s (rcons c x)) (plant_siblings ss') else Leaf.

Lemma plantE ss : plant q (Shape ss) c = plant_siblings ss [::].
Proof. by []. Qed.
End Siblings.

Fixpoint plant_children (ts : seq (token W * token_tree W)) : tree W (token W) :=
  if ts is (x, t) :: ts' then Draft x (fun=> plant_tokens t) (fun=> plant_children ts') else Leaf.

Lemma plant_tokensE ts : plant_tokens (Node ts) = plant_children ts.
Proof. by []. Qed.

End Planted.
