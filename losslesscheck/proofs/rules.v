(* The rules in the form to be read, over any world.

   They are written by hand after the Python texts in losslesscheck/rules. The mechanical translations of those
   texts are in texts.v; faithful.v proves that a text and its form here have the same law. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Rules.
Variable W : world.
Local Open Scope rule_scope.
Implicit Types (p q : vector W) (x y : token W) (c xs : seq (token W)).

(* chain.py, specinfer.py (Leviathan et al. 2023, Alg. 1; Miao et al. 2023, Alg. 2): accept x ~ q with
   min(1, p(x)/q(x)), else what is left of p is norm((p - q)+). *)
Definition residual p q : vector W := norm (positive_part (minus p q)).

Definition speculative : step W (vector W) := fun p tried q =>
  Draw q (fun x =>
    Flip (smaller 1 (p x / q x))
      (Return (Accept x))
      (Return (Reject (residual p q) (rcons tried x)))).

(* without_replacement.py (Sequoia, RSD): the same, with q renormalised off the tokens tried, or uniform
   where that leaves nothing. *)
Definition without_replacement : step W (vector W) := fun p tried q =>
  speculative p tried (norm_or (without q tried) (uniform_without tried)).

(* point_mass.py: a fixed draft token x is accepted with p(x), else p(x) becomes 0. *)
Definition point_mass : step W (token W) := fun p tried x =>
  Flip (p x) (Return (Accept x)) (Return (Reject (norm (without p [:: x])) (rcons tried x))).

(* naive_sampling.py (SpecInfer's baseline): the target draws, the tree serves if it holds the token. *)
Definition naive_sampling : node_rule W := fun p siblings =>
  Draw p (fun y => Return (if y \in siblings then Take y else Stop y)).

(* target_only.py (SGLang): one coin for all siblings, compared with their cumulative target probability. *)
Section TargetOnly.
Variables (single acc : number W) (p : vector W).

Fixpoint try_siblings (low high cumulative : number W) (rest : vector W) (xs : seq (token W)) :
    program W (decision W) :=
  if xs is x :: xs' then
    below low high ((cumulative + p x) / acc)
      (fun=> Return (Take x))
      (fun low' => if single <= p x then Return (Take x)
                   else try_siblings low' high (cumulative + p x) (without rest [:: x]) xs')
  else Draw (norm rest) (fun y => Return (Stop y)).
End TargetOnly.

Definition target_only (single acc : number W) : node_rule W := fun p siblings =>
  try_siblings single acc p 0 1 0 p siblings.

(* tree_greedy.py: the sibling that is the target's best token. [x0] is any token at all. *)
Definition tree_greedy (x0 : token W) : node_rule W := fun p siblings =>
  let best := argmax x0 p in Return (if best \in siblings then Take best else Stop best).

(* blockwise.py (Stern et al. 2018): the longest prefix of the draft's best tokens that are the target's, then
   the target's best token. Sec. 3 proposes and verifies; the merged step of Sec. 4 emits the token after the
   prefix. Here the draft is any model. *)
Fixpoint propose x0 (q : model W) (length : nat) (c : context W) : seq (token W) :=
  if length is l.+1 then let x := argmax x0 (q c) in x :: propose x0 q l (rcons c x) else [::].

Fixpoint keep_best x0 (p : model W) (c : context W) (xs : seq (token W)) : context W :=
  let best := argmax x0 (p c) in
  if xs is x :: xs' then if x == best then keep_best x0 p (rcons c x) xs' else rcons c best
  else rcons c best.

Definition blockwise x0 (p q : model W) (length : nat) (c : context W) : program W (context W) :=
  Return (keep_best x0 p c (propose x0 q length c)).

(* A path of [length] drafts, drawn before any is verified. *)
Fixpoint draft_path (q : model W) (length : nat) (c : context W) : program W (seq (token W)) :=
  if length is l.+1 then
    Draw (q c) (fun x => bind (draft_path q l (rcons c x)) (fun xs => Return (x :: xs)))
  else Return [::].

(* A draw by inverse transform: the first token whose cumulative probability exceeds a coin. The last token is
   returned without a comparison: in exact arithmetic the same, as the coin is below 1. *)
Fixpoint invert (low high reached : number W) (v : vector W) (xs : seq (token W)) : program W (token W) :=
  match xs with
  | x :: (_ :: _) as xs' =>
    below low high (reached + v x) (fun=> Return x) (fun low' => invert low' high (reached + v x) v xs')
  | [:: x] => Return x
  | [::] => Draw v (@Return W _)
  end.

Definition inverse_transform (v : vector W) : program W (token W) := invert 0 1 0 v (vocabulary W).

(* chain_kernel.py (SGLang, chain_speculative_sampling_triton): accept iff 0 < q(x) <= 1 and u q(x) < p(x). *)
Section ChainKernel.
Variables p q : model W.

Definition emit (v : vector W) (c : context W) : program W (context W) :=
  bind (inverse_transform v) (fun y => Return (rcons c y)).

Fixpoint verify_coins (c : context W) (xs : seq (token W)) : program W (context W) :=
  if xs is x :: xs' then
    if (0 < q c x) && (q c x <= 1) then
      below 0 1 (p c x / q c x)
        (fun=> verify_coins (rcons c x) xs')
        (fun=> emit (residual (p c) (q c)) c)
    else emit (residual (p c) (q c)) c
  else emit (p c) c.

Definition chain_kernel (length : nat) (c : context W) : program W (context W) :=
  bind (draft_path q length c) (verify_coins c).
End ChainKernel.

(* block_verification.py (Sun et al. 2024, Alg. 2): weights along the path, a coin for every position, the
   longest prefix whose coin succeeded is kept. *)
Section BlockVerification.
Variables p q : model W.

Definition scaled (weight : number W) (c : context W) : vector W := table (fun x => weight * p c x).

Definition surplus (weight : number W) (c : context W) : vector W :=
  positive_part (minus (scaled weight c) (q c)).

(* How likely the prefix [c] is to be kept, with its weight; [last]: the whole path. *)
Definition keep (last : bool) (weight : number W) (c : context W) : number W :=
  if last then weight
  else if weight < 1 then let s := sum (surplus weight c) in s / (s + 1 - weight) else 1.

(* The last prefix kept so far is [kept], what is drawn after it [rest]. *)
Fixpoint verify_block (c : context W) (weight : number W) (kept : context W) (rest : vector W)
    (xs : seq (token W)) : program W (context W) :=
  if xs is x :: xs' then
    let weight' := smaller 1 (weight * (p c x / q c x)) in
    let here := rcons c x in
    let last := xs' == [::] in
    Flip (keep last weight' here)
      (verify_block here weight' here (if last then p here else norm (surplus weight' here)) xs')
      (verify_block here weight' kept rest xs')
  else Draw rest (fun y => Return (rcons kept y)).

Definition block_verification (length : nat) (c : context W) : program W (context W) :=
  bind (draft_path q length c)
    (verify_block c 1 c (if length is 0%N then p c else norm (surplus 1 c))).
End BlockVerification.

End Rules.
