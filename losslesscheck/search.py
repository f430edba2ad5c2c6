"""The search for counterexamples: the smallest instance on which a rule fails, and the worst one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flint import fmpq

from losslesscheck import instances
from losslesscheck.instances import ContextRows, Instance
from losslesscheck.law import UNDEFINED, rows
from losslesscheck.machines.exact import exact_law, fraction, vectors
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

SMALL_DENOMINATOR = 4
LARGE_DENOMINATOR = 12


@dataclass(frozen=True)
class Counterexample:
    """An instance on which the emitted law is not the target's, and where it shows.

    Attributes:
        instance: the models and the tree.
        context: the tokens emitted before the token whose law is off.
        reached: probability that the step emits ``context`` and then goes on.
        target, draft: the models' rows at ``context`` (``draft`` is ``None`` where the rule asks for
            none there).
        emitted: the law of the next token given the context; where ``undefined`` is positive, the
            probabilities of emitting it, which then sum to less than one.
        tv: total variation between ``emitted`` and ``target``, an undefined outcome counting as a
            token of its own.
        undefined: probability of reaching 0/0 or a draw from an empty support.
    """

    instance: Instance
    context: tuple[int, ...]
    reached: Fraction
    target: list[Fraction]
    draft: list[Fraction] | None
    emitted: list[Fraction]
    tv: Fraction
    undefined: Fraction = Fraction(0)

    @property
    def size(self) -> Fraction:
        """By how much the law is off, as a probability: the TV times that of getting there."""
        return self.tv * self.reached


@dataclass
class Search:
    """What a search has seen.

    Attributes:
        small, random: how many instances of either kind were evaluated.
        found: the smallest counterexample, or ``None``.
        largest: the counterexample with the largest ``size`` that was met, or ``None``.
    """

    small: int = 0
    random: int = 0
    found: Counterexample | None = None
    largest: Counterexample | None = None


def examine(rule: Rule, instance: Instance) -> Counterexample | None:
    """Where the exact law of the rule on this instance is off, at the shortest context; else None.

    Raises:
        RuleError: if the rule does what no rule may do.
    """
    target, draft = instance.models()
    asked: set[tuple[int, ...]] = set()
    p = vectors(target)
    if draft is not None:
        index = draft.index

        def noted(context: tuple[int, ...]) -> Any:
            asked.add(context)
            return index(context)

        draft.index = noted
    law = exact_law(rule, target, draft, instance.tree)

    def demanded(context: tuple[int, ...]) -> Sequence[Any]:
        row = p(context)
        if not rule.greedy:
            return row
        best = max(range(len(row)), key=lambda t: (row[t], -t))
        return [row[0] * 0 + (t == best) for t in range(len(row))]

    undefined = law.get(UNDEFINED, fmpq(0))
    for row in rows(law, instance.vocabulary, demanded):
        if undefined == 0 and not any(d != 0 for d in row.differences):
            continue
        if undefined != 0:
            emitted = row.masses
            tv = (sum(abs(a - b) for a, b in zip(emitted, row.expected, strict=True)) + undefined) / 2
            reached = undefined * 0 + 1
        else:
            emitted, tv, reached = row.emitted, row.tv, row.reached
        return Counterexample(
            instance,
            row.context,
            fraction(reached),
            [fraction(a) for a in row.expected],
            draft.exact(row.context) if draft is not None and row.context in asked else None,
            [fraction(a) for a in emitted],
            fraction(tv),
            fraction(undefined),
        )
    if undefined != 0:
        expected = [fraction(a) for a in demanded(())]
        return Counterexample(
            instance,
            (),
            Fraction(1),
            expected,
            draft.exact(()) if draft is not None else None,
            [Fraction(0)] * instance.vocabulary,
            Fraction(1),
            fraction(undefined),
        )
    return None


def search(
    rule: Rule,
    tree: Tree | None,
    vocabulary: int,
    *,
    random_instances: int = 64,
    seed: int = 0,
    positive_draft: bool = False,
    examine: Callable[[Rule, Instance], Counterexample | None] = examine,
) -> Search:
    """Looks for an instance on which the rule fails.

    All small instances first (constant rows in multiples of 1/1 … 1/4, position-dependent rows in
    halves), then random ones with context-dependent rows; if only those fail, larger denominators
    are tried and the random failure is made simpler, step by step.

    Args:
        tree: the only tree to look at, or ``None`` for the rule's own and its smaller relatives.
        vocabulary: V of the random instances; the small ones have two or three tokens (more only if
            the tree names more).
        positive_draft: look only at drafts without zeros.
    """
    whole = rule.fit(tree, vocabulary)
    trees = [whole] if tree is not None or not rule.takes_tree else _relatives(rule, whole, vocabulary)
    most = max(whole.tokens, default=-1) + 1
    vocabularies = range(2, min(vocabulary, max(3, most)) + 1)
    seen = Search()

    def failing(candidates: Iterable[Instance]) -> Counterexample | None:
        for candidate in candidates:
            if positive_draft and _has_zeros(candidate):
                continue
            seen.small += 1
            if (found := examine(rule, candidate)) is not None:
                return found
        return None

    def enumerated(denominators: Iterable[int]) -> Iterable[Instance]:
        for denominator in denominators:
            yield from instances.small(rule, trees, vocabularies, denominator)
            if denominator == 2:
                for t in trees:
                    yield from instances.by_position(rule, t, 2)

    seen.found = failing(enumerated(range(1, SMALL_DENOMINATOR + 1)))
    if seen.found is not None:
        return seen
    numbered = rule.fixed_tokens and whole == whole.labelled()
    for number in range(random_instances):
        # A rule that takes the number of a sibling for its token is right where they agree.
        names = [(token + number) % vocabulary for token in range(vocabulary)]
        drafted = whole.renamed(names) if numbered else whole
        candidate = instances.arbitrary(rule, drafted, vocabulary, seed * 1_000_003 + number)
        if positive_draft:
            candidate = replace(
                candidate, draft={c: instances.positive(r) for c, r in candidate.draft.items()}
            )
        seen.random += 1
        if (hit := examine(rule, candidate)) is not None:
            larger = failing(
                itertools.islice(enumerated(range(SMALL_DENOMINATOR + 1, LARGE_DENOMINATOR + 1)), 3000)
            )
            seen.found = larger or simplify(rule, hit, positive_draft=positive_draft, examine=examine)
            break
    return seen


def simplify(
    rule: Rule,
    found: Counterexample,
    *,
    positive_draft: bool = False,
    examine: Callable[[Rule, Instance], Counterexample | None] = examine,
) -> Counterexample:
    """The same failure with simpler rows: each row in turn is replaced by the simplest one that
    still fails (the default row, one-hot, halves, thirds; with ``positive_draft`` drafts keep every
    token)."""
    vocabulary = found.instance.vocabulary
    simple = [
        [Fraction(part, total) for part in parts]
        for total in (1, 2, 3)
        for parts in instances.compositions(total, vocabulary)
    ][:60]
    for which in ("target", "draft"):
        for context in list(getattr(found.instance, which)):
            held = dict(getattr(found.instance, which))
            trials = [{c: r for c, r in held.items() if c != context}] if context else []
            trials += [{**held, context: row} for row in simple]
            for rows_tried in trials:
                candidate = _with(found.instance, which, rows_tried)
                if positive_draft and _has_zeros(candidate):
                    continue
                trial = examine(rule, candidate)
                if trial is not None:
                    found = trial
                    break
    return found


def worst(
    rule: Rule,
    start: Counterexample,
    *,
    evaluations: int = 400,
    positive_draft: bool = False,
    examine: Callable[[Rule, Instance], Counterexample | None] = examine,
) -> Counterexample:
    """A counterexample with a large bias, by moving mass between tokens while the bias grows.

    A lower bound on the largest bias: local search from ``start``, in steps from 1/4 to 1/1000; with
    ``positive_draft`` among drafts without zeros.
    """
    best = start
    for step in (Fraction(1, 4), Fraction(1, 10), Fraction(1, 20), Fraction(1, 100), Fraction(1, 1000)):
        improved = True
        while improved and evaluations > 0:
            improved = False
            for candidate in _moves(best.instance, step):
                if evaluations == 0:
                    break
                if positive_draft and _has_zeros(candidate):
                    continue
                evaluations -= 1
                trial = examine(rule, candidate)
                if trial is not None and trial.size > best.size:
                    best, improved = trial, True
                    break
    return best


def _moves(instance: Instance, step: Fraction) -> Iterable[Instance]:
    for which in ("target", "draft"):
        held = getattr(instance, which)
        for context, row in held.items():
            for a, b in itertools.permutations(range(len(row)), 2):
                moved = min(step, row[a])
                if moved > 0:
                    changed = list(row)
                    changed[a] -= moved
                    changed[b] += moved
                    yield _with(instance, which, {**held, context: changed})


def _relatives(rule: Rule, whole: Tree, vocabulary: int) -> list[Tree]:
    """The rule's own tree, after the smaller ones of its kind."""
    if whole.tokens and whole != rule.tree.labelled():
        return [whole]
    shapes = [(1,), (2,), (1, 1)]
    small = [
        rule.fit(Tree.regular(shape), vocabulary)
        for shape in shapes
        if len(shape) <= whole.depth and max(shape) <= whole.width
    ]
    return [*(t for t in small if t.size < whole.size), whole]


def _has_zeros(instance: Instance) -> bool:
    return any(0 in row for row in instance.draft.values())


def _with(instance: Instance, which: str, rows: ContextRows) -> Instance:
    if which == "target":
        return replace(instance, target=rows)
    return replace(instance, draft=rows)
