(* The weights of the translated texts are probabilities.

   Losslessness is an equation between sums of weights, and signed weights could satisfy it as well. No text has
   any: each is sound, as its readable form is (soundness.v, block.v), since it draws from the same vectors and
   flips the same coins (faithful.v). *)
From mathcomp Require Import all_ssreflect all_algebra.
From Losslesscheck Require Import world program walk lossless tree rules step instances node soundness block.
From Losslesscheck Require Import texts alike faithful.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section TextsSound.
Variables (R : realFieldType) (T : finType).
Context {undefined : R -> R}.
Notation W := (real R T undefined).
Notation context := (seq T).
Variables target draft : context -> T -> R.
Hypothesis target_dist : forall c, is_dist (target c).

(* The step rules, on the trees that they are lossless on. *)
Section Planted.
Hypothesis draft_dist : forall c, is_dist (draft c).
Notation planted := (@plant W _ (fun (c' : context) _ => draft c')).

Theorem chain_text_sound s c : sound (speculate (@chain_text W) target (planted s c) c).
Proof. by apply: alike_sound (chain_text_alike target draft s c) _; apply: multi_step_sound. Qed.

Theorem specinfer_text_sound s c : sound (speculate (@specinfer_text W) target (planted s c) c).
Proof. by apply: alike_sound (specinfer_text_alike target draft s c) _; apply: multi_step_sound. Qed.

Theorem without_replacement_text_sound s c : (width s <= #|T|)%N ->
  sound (speculate (@without_replacement_text W) target (planted s c) c).
Proof. exact: (without_replacement_tree_sound target_dist (q := fun c' _ => draft c')). Qed.

End Planted.

Theorem point_mass_text_sound t c : sound (speculate (@point_mass_text W) target (@plant_tokens W t) c).
Proof. by apply: alike_sound (point_mass_text_alike target t c) _; apply: point_mass_tree_sound. Qed.

(* The node rules, on every tree. *)
Theorem naive_sampling_text_sound t c : sound (walk_nodes (@naive_sampling_text W) target t c).
Proof.
apply: (walk_nodes_sound (admitted := fun=> True)) (all_nodes_true t) => c' xs _.
by apply: alike_sound (naive_sampling_text_alike (target c') xs) _.
Qed.

Theorem target_only_text_sound t c : sound (walk_nodes (@target_only_text W) target t c).
Proof.
apply: (walk_nodes_sound (admitted := fun=> True)) (all_nodes_true t) => c' xs _.
by rewrite target_only_text_law; apply: target_only_node_sound; rewrite // ltr01 lexx.
Qed.

Theorem tree_greedy_text_sound x0 t c : sound (walk_nodes (@tree_greedy_text W x0) target t c).
Proof.
apply: (walk_nodes_sound (admitted := fun=> True)) (all_nodes_true t) => c' xs _.
by rewrite tree_greedy_text_law.
Qed.

(* The rules that see a whole path, with any number of drafts. *)
Theorem blockwise_text_sound x0 length : sound (@blockwise_text W x0 target draft length).
Proof. by rewrite blockwise_text_law. Qed.

Hypothesis draft_dist : forall c, is_dist (draft c).

Theorem chain_kernel_text_sound length : sound (@chain_kernel_text W target draft length).
Proof. by apply: alike_sound (chain_kernel_text_alike target draft length) _; apply: chain_kernel_sound. Qed.

Theorem block_verification_text_sound x0 length : sound (@block_verification_text W x0 target draft length).
Proof.
by apply: alike_sound (block_verification_text_alike target draft x0 length) _; apply: block_verification_sound.
Qed.

End TextsSound.
