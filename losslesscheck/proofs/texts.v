(* The rules' own texts, translated from Python by losslesscheck/proofs/translate.py: not to be edited.

   A rule's text is what these definitions say. That they are lossless is proved in faithful.v. *)
From mathcomp Require Import all_ssreflect.
From Losslesscheck Require Import world program walk rules loop.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Texts.
Variable W : world.
Local Open Scope rule_scope.

Variable x0 : token W. (* any token at all *)

(* Vectors, entry by entry: a product, a quotient, a sum, and the smaller entries. *)
Definition times (v : vector W) (a : number W) : vector W := table (fun x => v x * a).
Definition divided (v : vector W) (a : number W) : vector W := table (fun x => v x / a).
Definition plus (v w : vector W) : vector W := table (fun x => v x + w x).
Definition lesser (v w : vector W) : vector W := table (fun x => smaller (v x) (w x)).

Definition blockwise_text (p q : model W) (length : nat) : program W (context W) :=
  let drafts : seq (token W) := [::] in
  each (iota 0 length) drafts (fun _ drafts next =>
    let drafts := rcons drafts (argmax x0 (q drafts)) in
    next drafts)
  (fun drafts =>
  let kept : seq (token W) := [::] in
  let after : seq (token W) -> program W (context W) := fun kept =>
    Return (rcons kept (argmax x0 (p kept))) in
  each drafts kept (fun x kept next =>
    if (1 <= size kept + 1)%N then
      if x == argmax x0 (p kept) then
        let kept := rcons kept x in
        next kept
      else after kept
    else
      let kept := rcons kept x in
      next kept)
  after).

Definition chain_text : step W (vector W) := fun p tried q =>
  Draw q (fun x =>
  Flip (smaller 1 (p x / q x))
    (Return (Accept x))
    (Return (Reject (norm (positive_part (minus p q))) [::]))).

Definition specinfer_text : step W (vector W) := fun p tried q =>
  Draw q (fun x =>
  Flip (smaller 1 (p x / q x))
    (Return (Accept x))
    (Return (Reject (norm (positive_part (minus p q))) [::]))).

Definition naive_sampling_text : node_rule W := fun p siblings =>
  Draw p (fun y =>
  each siblings tt (fun token_ _ next =>
    if y == token_ then Return (Take token_)
    else next tt)
  (fun _ => Return (Stop y))).

Definition target_only_text : node_rule W := fun p siblings =>
  let coin : number W * number W := (0, 1) in
  let cumulative : number W := 0 in
  let rest := p in
  each siblings (coin, cumulative, rest) (fun token_ '(coin, cumulative, rest) next =>
    let cumulative := cumulative + p token_ in
    below coin.1 coin.2 (cumulative / 1)
      (fun bound => Return (Take token_))
      (fun bound =>
         let coin := (bound, coin.2) in
         if 1 <= p token_ then Return (Take token_)
         else
           let rest := without rest [:: token_] in
           next (coin, cumulative, rest)))
  (fun '(coin, cumulative, rest) => Draw (norm rest) (fun x => Return (Stop x))).

Definition tree_greedy_text : node_rule W := fun p siblings =>
  let best := argmax x0 p in
  each siblings tt (fun token_ _ next =>
    if best == token_ then Return (Take token_)
    else next tt)
  (fun _ => Return (Stop best)).

Definition chain_kernel_text (p q : model W) (length : nat) : program W (context W) :=
  let drafts : seq (token W) := [::] in
  each (iota 0 length) drafts (fun _ drafts next =>
    Draw (q drafts) (fun y =>
    let drafts := rcons drafts y in
    next drafts))
  (fun drafts =>
  let context_ : seq (token W) := [::] in
  each drafts context_ (fun x context_ next =>
    let target := p context_ in
    let draft := q context_ in
    let coin : number W * number W := (0, 1) in
    if 0 < draft x then
      if draft x <= 1 then
        if 0 < draft x then
          below coin.1 coin.2 (target x / draft x)
            (fun bound =>
               let context_ := rcons context_ x in
               next context_)
            (fun bound =>
               let residual := norm (positive_part (minus target draft)) in
               bind (inverse_transform residual) (fun y => Return (rcons context_ y)))
        else if 0 < target x then
          let context_ := rcons context_ x in
          next context_
        else
          let residual := norm (positive_part (minus target draft)) in
          bind (inverse_transform residual) (fun y => Return (rcons context_ y))
      else
        let residual := norm (positive_part (minus target draft)) in
        bind (inverse_transform residual) (fun y => Return (rcons context_ y))
    else
      let residual := norm (positive_part (minus target draft)) in
      bind (inverse_transform residual) (fun y => Return (rcons context_ y)))
  (fun context_ => bind (inverse_transform (p context_)) (fun y => Return (rcons context_ y)))).

Definition without_replacement_text : step W (vector W) := fun p tried q =>
  let untried := uniform_without tried in
  let q := norm_or (without q tried) untried in
  Draw q (fun x =>
  Flip (smaller 1 (p x / q x))
    (Return (Accept x))
    (Return (Reject (norm (positive_part (minus p q))) (rcons tried x)))).

Definition point_mass_text : step W (token W) := fun p tried token_ =>
  Flip (p token_)
    (Return (Accept token_))
    (Return (Reject (norm (without p [:: token_])) [::])).

Definition block_verification_text (p q : model W) (length : nat) : program W (context W) :=
  let drafts : seq (token W) := [::] in
  each (iota 0 length) drafts (fun _ drafts next =>
    Draw (q drafts) (fun y =>
    let drafts := rcons drafts y in
    next drafts))
  (fun drafts =>
  let kept := 0%N in
  let weight_kept : number W := 1 in
  let weight : number W := 1 in
  each (iota 1 length) (kept, weight_kept, weight) (fun i '(kept, weight_kept, weight) next =>
    let before := take (i - 1)%N drafts in
    let here := take i drafts in
    let x := nth x0 drafts (i - 1)%N in
    let weight := smaller 1 (weight * (p before x / q before x)) in
    if i == length then
      let keep := weight in
      Flip keep
        (let kept := i in
         let weight_kept := weight in
         next (kept, weight_kept, weight))
        (next (kept, weight_kept, weight))
    else
      let surplus := sum (positive_part (minus (times (p here) weight) (q here))) in
      let keep := if weight < 1 then surplus / (surplus + 1 - weight) else 1 in
      Flip keep
        (let kept := i in
         let weight_kept := weight in
         next (kept, weight_kept, weight))
        (next (kept, weight_kept, weight)))
  (fun '(kept, weight_kept, weight) =>
  let context_ := take kept drafts in
  if kept == length then Draw (p context_) (fun y => Return (rcons context_ y))
  else
    let residual := norm (positive_part (minus (times (p context_) weight_kept) (q context_))) in
    Draw residual (fun y => Return (rcons context_ y)))).

End Texts.
