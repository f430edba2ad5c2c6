"""Problems that suit an implementation."""

from __future__ import annotations

from typing import Any

import numpy as np

from losslesscheck.instances import uses_draft
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.testing import cases
from losslesscheck.testing.drafting import own_tree
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Subject
from losslesscheck.tree import Tree

SHAPES = {
    "one draft": Tree.chain(1),
    "deep chain": Tree.chain(5),
    "wide tree": Tree.regular((4, 2)),
    "early leaf": Tree.from_parents([-1, -1, 0, 2]),
}
"""Token trees beside the rule's own. In the last one a leaf stands above the tree's maximal depth."""


FOREST = (
    Tree.chain(6),
    Tree.regular((2, 2)),
    Tree.from_parents([-1, -1, 0, 2, 3, 1]),
    Tree.from_parents([-1, -1, -1, 1, 1, 4]),
    Tree.regular((3, 1)),
)
"""Trees of equally many draft tokens, to stand in one batch."""


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


MANY = 70_000
"""More rows than a 16-bit number, or the second dimension of a grid, can hold."""


def too_many_rows(subject: Subject, size: int) -> str:
    """Why a batch is too large for a subject; empty if it is not."""
    return f"takes {subject.batch} rows at a time" if (subject.batch or size) < size else ""


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
        return Problem(name, rule, target, draft, own_tree(rule, draft))
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


def seams(vocabulary: int) -> list[int]:
    """The tokens on both sides of where tiles of a large vocabulary meet, and the last one."""
    ends = (64, 256, 1024, 2048, 4096, vocabulary)
    return [place for end in ends for place in (end - 1, end) if place < vocabulary]


def at_seams(subject: Subject, seed: int, *, vocabulary: int) -> Problem:
    """Rows with all their mass at the seams of a large vocabulary, multiples of 2⁻¹²."""
    rng = np.random.default_rng([seed, vocabulary])
    places = seams(vocabulary)

    def model(name: str) -> Model:
        weights = np.zeros((8, vocabulary))
        chosen = rng.random((8, len(places))) < 0.7
        weights[:, places] = rng.random((8, len(places))) * chosen + 2.0**-6
        parts = np.floor(weights / weights.sum(axis=1, keepdims=True) * 2**12)
        parts[np.arange(8), parts.argmax(axis=1)] += 2**12 - parts.sum(axis=1)
        return Model(parts / 2**12, lambda context: (sum(context) + len(context)) % 8, name)

    name = f"mass at seams, V = {vocabulary}"
    return with_models(subject, name, model("target"), model("draft"))


def alternating(subject: Subject, vocabulary: int, tree: Tree | None) -> Problem:
    """At the seams p and q are in turn one twice the other: whatever a tile gets wrong weighs a lot."""
    places = seams(vocabulary)
    odd = np.arange(len(places)) % 2
    rows = np.zeros((2, vocabulary))
    rows[:, places] = np.array([1 + odd, 2 - odd]) / 16
    rows[:, places[0]] += 1 - rows.sum(axis=1)
    target, draft = Model(rows[:1], name="target"), Model(rows[1:], name="draft")
    return with_models(subject, f"alternating at seams, V = {vocabulary}", target, draft, tree)


def finer(subject: Subject) -> Problem:
    """p and q differ by 2⁻¹⁰ at every token, which bfloat16 and 8 bits both round away."""
    signs = np.array([[-1, 1, -1, 1]]) * 2.0**-11  # the likeliest token is not the first
    target, draft = Model(1 / 4 + signs, name="target"), Model(1 / 4 - signs, name="draft")
    return with_models(subject, "p and q = 1/4 ± 2⁻¹¹", target, draft, Tree.chain(2))
