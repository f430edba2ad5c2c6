"""What the checks run an implementation on: problems that suit it, and batches made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.instances import uses_draft
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.testing import cases
from losslesscheck.testing.drafting import Drafter, flattened, standalone_tree
from losslesscheck.testing.problem import Problem, round_to
from losslesscheck.testing.subject import Batch, Emitted, Subject
from losslesscheck.tree import Tree

SHAPES = {
    "one draft": Tree.chain(1),
    "deep chain": Tree.chain(5),
    "wide tree": Tree.regular((4, 2)),
    "early leaf": Tree.from_parents([-1, -1, 0, 2]),
}
"""Token trees beside the rule's own. In the last one a leaf stands above the tree's maximal depth."""


def rule_of(subject: Subject) -> Rule:
    assert subject.rule is not None
    return subject.rule


def shape(subject: Subject, vocabulary: int) -> Tree | None:
    """The token tree of a subject's problems; ``None`` for a rule that builds its own."""
    rule = rule_of(subject)
    if not rule.takes_tree:
        return None
    if "parents" not in subject.takes or rule.tree.width > vocabulary:
        return Tree.chain(rule.tree.depth)
    return rule.tree


def unfit(subject: Subject, tree: Tree) -> str:
    """Why a token tree is not for a subject; empty if it is."""
    rule = rule_of(subject)
    if not rule.takes_tree:
        return f"{rule.name} builds its own token tree"
    if tree.width > 1 and rule.single_path:
        return f"{rule.name} drafts a single path"
    if tree.width > 1 and "parents" not in subject.takes:
        return "takes no parents, so no trees"
    return ""


def without_lengths(subject: Subject) -> str:
    """Why rows of different lengths do not suit a subject; empty if they do."""
    return "" if "lengths" in subject.takes else "takes no lengths, so no rows of different lengths"


def posed(
    subject: Subject,
    kind: str,
    *,
    seed: int,
    vocabulary: int = 8,
    tree: Tree | None = None,
    ragged: bool = False,
    padded: int = 0,
) -> Problem:
    """A problem of one of ``cases.KINDS`` that suits a subject.

    Raises:
        InputError: if the vocabulary is too small for the token tree.
    """
    tree = shape(subject, vocabulary) if tree is None else tree
    return cases.problem(
        rule_of(subject), kind, vocabulary=vocabulary, tree=tree, seed=seed, ragged=ragged, padded=padded
    )


def with_models(
    subject: Subject, name: str, target: Model, draft: Model, tree: Tree | None = None
) -> Problem:
    """A problem with given models; fixed draft tokens are the one at the draft's peak and those after it."""
    rule = rule_of(subject)
    tree = shape(subject, target.vocabulary) if tree is None else tree
    if tree is None:
        steps, topk, size = (int(rule.settings[name]) for name in ("steps", "topk", "draft_tokens"))
        return Problem(
            name, rule, target, draft, standalone_tree(draft, steps=steps, topk=topk, draft_tokens=size)
        )
    if rule.fixed_tokens:
        tree = rule.fit(_at_peaks(tree, draft, ()), target.vocabulary)
    return Problem(name, rule, target, draft if uses_draft(rule) else None, tree)


def _at_peaks(tree: Tree, draft: Model, context: tuple[int, ...], token: int | None = None) -> Tree:
    peak = int(draft.floats[int(draft.index(context))].argmax())
    names = [(peak + rank) % draft.vocabulary for rank in range(len(tree.children))]
    below = [
        _at_peaks(child, draft, (*context, name), name)
        for child, name in zip(tree.children, names, strict=True)
    ]
    return Tree(tuple(below), token)


def hot(
    subject: Subject, number: int, vocabulary: int, tree: Tree | None = None, *, step: int = 1
) -> Problem:
    """Point masses on every ``step``-th of the tokens, P of them.

    The target's stands on that of number mod P at first, and elsewhere later; the draft's on the same
    if number // P is even, on the next one if it is odd.
    """
    tokens = np.arange(0, vocabulary, step)
    peaks = np.zeros((len(tokens), vocabulary))
    peaks[np.arange(len(tokens)), tokens] = 1
    first, apart = number % len(tokens), number // len(tokens) % 2

    def peak(context: tuple[Any, ...]) -> Any:
        place: Any = first
        for token in context:
            place = (place * 3 + token + 1) % len(tokens)
        return place

    return with_models(
        subject,
        f"point masses, V = {vocabulary}",
        Model(peaks, peak, "target"),
        Model(peaks, lambda context: (peak(context) + apart) % len(tokens), "draft"),
        tree,
    )


def softmax(
    subject: Subject, seed: int, *, vocabulary: int = 8, zeros: str = "scattered", close: bool = False
) -> Problem:
    """Rows as models have them: softmax of normal logits, not multiples of anything.

    Args:
        close: the draft's logits differ little from the target's, so that the residual is small.
        zeros: ``"scattered"``: a quarter of the tokens have probability 0, as after top-k; ``"tail"``:
            the last half of the target's and the last quarter of the draft's, as in a padded
            vocabulary.
    """
    rng = np.random.default_rng([seed, vocabulary])
    rows = np.exp(2 * rng.standard_normal((2, 8, vocabulary)))
    if zeros == "tail":
        rows[0, :, (vocabulary + 1) // 2 :] = 0
        rows[1, :, (3 * vocabulary + 3) // 4 :] = 0
    else:
        rows *= rng.random(rows.shape) > 0.25
        rows[:, :, rng.integers(vocabulary)] += 0.1
    if close:
        rows[1] = rows[0] * np.exp(rng.standard_normal(rows[1].shape) / 8)
    rows /= rows.sum(axis=2, keepdims=True)

    def number(context: tuple[Any, ...]) -> Any:
        place: Any = 0
        for token in context:
            place = (place * 3 + token + 1) % 8
        return place

    target, draft = Model(rows[0], number, "target"), Model(rows[1], number, "draft")
    return with_models(subject, f"softmax, V = {vocabulary}", target, draft)


def drafted(subject: Subject, problem: Problem, size: int, seed: int) -> Batch:
    """A batch of a problem, with probabilities that the subject's dtype holds."""
    wide = "float64" if subject.dtype == "float64" else "float32"
    batch = Drafter(problem, wide).batch(size, np.random.default_rng([seed, 1]))
    if subject.dtype == wide:
        return batch
    target, draft = (
        round_to(values.astype(np.float64), subject.dtype).astype(wide)
        for values in (batch.target, batch.draft)
    )
    return replace(batch, target=target, draft=draft)


def stacked(batches: Sequence[Batch]) -> Batch:
    """The rows of several batches, with equally many draft tokens, one below the other."""
    arrays = {
        field.name: np.concatenate([getattr(batch, field.name) for batch in batches])
        for field in fields(Batch)
        if field.name != "seed"
    }
    return Batch(**arrays, seed=batches[0].seed)


def every_kind(
    subject: Subject, rows: int, seed: int, *, tree: Tree | None = None, ragged: bool = False
) -> Batch:
    """``rows`` rows of every one of ``cases.KINDS``, one below the other."""
    problems = [posed(subject, kind, seed=seed, tree=tree, ragged=ragged) for kind in cases.KINDS]
    return stacked([drafted(subject, problem, rows, seed) for problem in problems])


def truncated(tree: Tree, count: int) -> Tree:
    """The first ``count`` draft tokens of a token tree, level by level."""
    parents, tokens = flattened(tree)
    return Tree.from_parents(parents[:count], tokens[:count] if tree.tokens else None)


def emit(subject: Subject, batch: Batch) -> Emitted:
    """What a subject emits in a batch, in as many calls as it needs; it is handed a copy.

    Raises:
        SubjectError: if the subject fails.
    """
    most = subject.batch or max(batch.size, 1)
    parts = [
        subject(replace(batch.rows(np.arange(start, min(start + most, batch.size))), seed=batch.seed + start))
        for start in range(0, max(batch.size, 1), most)
    ]
    width = batch.tokens.shape[1] + 1
    return Emitted(
        np.concatenate([_widened(part.tokens, width) for part in parts]),
        np.concatenate([part.accepted for part in parts]),
    )


def _widened(tokens: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    missing = np.full((len(tokens), width - tokens.shape[1]), -1, dtype=np.int64)
    return np.concatenate([tokens, missing], axis=1)


def same(one: Emitted, other: Emitted) -> npt.NDArray[np.bool_]:
    """Which rows of two results of ``emit`` are equal, shape [B]."""
    equal: npt.NDArray[np.bool_] = (one.tokens == other.tokens).all(axis=1) & (one.accepted == other.accepted)
    return equal


def sequence(emitted: Emitted, row: int) -> tuple[int, ...]:
    """The tokens that were emitted in a row."""
    return tuple(emitted.tokens[row, : emitted.accepted[row] + 1].tolist())


def spelled(emitted: Emitted, row: int) -> str:
    """The tokens that were emitted in a row, for a message."""
    return " ".join(map(str, sequence(emitted, row)))


def determined(subject: Subject) -> bool:
    """Whether what is emitted is a function of the batch: coins are injected, or the rule throws none."""
    return subject.injected or rule_of(subject).greedy
