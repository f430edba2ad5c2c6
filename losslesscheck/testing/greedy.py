"""Greedy rules: no chance is involved, so every row of many small problems is compared token by token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.instances import uses_draft
from losslesscheck.model import Model
from losslesscheck.testing.bait import Baiter, paths_of
from losslesscheck.testing.batch import Batch, stacked
from losslesscheck.testing.calls import emit
from losslesscheck.testing.drafting import Drafter
from losslesscheck.testing.experiment import Laws
from losslesscheck.testing.message import wrapped
from losslesscheck.testing.minimise import first_smaller
from losslesscheck.testing.problem import Problem, by_context
from losslesscheck.testing.subject import Subject
from losslesscheck.tree import Tree

PROBLEMS = 32
"""Problems whose rows stand in one batch, neighbours from different ones."""

ROWS = 256
LEAST = 8
"""Rows of all problems: so many, or fewer for large vocabularies, but so many for every accept length."""

LISTED = 9
"""Accept lengths that a report lists one by one."""

NUMBERS = 2**21
"""Probabilities of the target in all rows, unless ``LEAST`` takes more."""


@dataclass(frozen=True)
class GreedyReport:
    """What was established of a greedy rule's implementation; ``str`` says it in words.

    Attributes:
        subject, rule: their names.
        tree: the token tree.
        vocabulary: number of tokens V.
        problems: how many problems it was run on.
        steps: draft-and-verify steps, of which every one was right.
        accepted: how many steps accepted 0, 1, 2, … draft tokens.
    """

    subject: str
    rule: str
    tree: str
    vocabulary: int
    problems: int
    steps: int
    accepted: tuple[int, ...]

    def __str__(self) -> str:
        seen = [length for length, count in enumerate(self.accepted) if count]
        never = [length for length, count in enumerate(self.accepted) if not count]
        often = f"{', '.join(str(self.accepted[length]) for length in seen)} times"
        if len(seen) > LISTED:
            often = f"{min(self.accepted[length] for length in seen)} times or more"
        return wrapped(
            f"{self.subject}: right in all of {self.steps:,} steps on {self.problems} problems ({self.rule}, "
            f"V = {self.vocabulary}, tree {self.tree}); {_lengths(seen)} came up {often}"
            + (f", {_lengths(never)} never" if never else "")
            + ". No coins are thrown; other inputs were not tried."
        )


@dataclass(frozen=True, eq=False)
class Wrong:
    """A row whose outcome is not the rule's.

    Attributes:
        problem: where it comes from.
        batch: the row alone.
        number, size: which row it was, of how many.
        emitted: its tokens.
        expected: the rule's own.
    """

    problem: Problem
    batch: Batch
    number: int
    size: int
    emitted: tuple[int, ...]
    expected: tuple[int, ...]

    @property
    def agreed(self) -> int:
        """How many tokens of both are the same, before the first that is not."""
        same = [a == b for a, b in zip(self.emitted, self.expected, strict=False)]
        return same.index(False) if False in same else len(same)

    def rows(self) -> list[tuple[tuple[int, ...], npt.NDArray[np.float64]]]:
        """The target's rows that decide on it, and the tokens before: the last four up to where they part."""
        paths = paths_of(self.batch.parents[0], self.batch.tokens[0].tolist())
        places = range(max(0, self.agreed - 3), self.agreed + 1)
        reached = [self.expected[:place] for place in places if self.expected[:place] in paths]
        return [(path, self.batch.target[0, paths.index(path)]) for path in reached]


def _lengths(lengths: list[int]) -> str:
    if len(lengths) > LISTED:
        return f"{len(lengths)} accept lengths from {lengths[0]} to {lengths[-1]}"
    return f"accept length{'s' * (len(lengths) > 1)} {', '.join(map(str, lengths))}"


def compare(
    subject: Subject,
    pose: Callable[[int], Problem],
    *,
    most: int | None = None,
    fixed: bool = False,
    seed: int = 0,
) -> GreedyReport | Wrong:
    """Runs a subject on problems of a greedy rule.

    Args:
        pose: the problem of a number from 0 to ``PROBLEMS`` − 1, all on token trees of the same shape.
        most: steps at most; by default some 256.
        fixed: the draft tokens are those of the problems' trees.
        seed: of draft tokens, and of the seeds that the subject is handed.

    Raises:
        InputError: if the problems do not suit the subject.
        SubjectError: if the subject fails.
    """
    problems = [pose(number).rounded(subject.dtype) for number in range(PROBLEMS)]
    _require_parents(subject, problems[0].tree)
    depth, vocabulary = problems[0].tree.depth, problems[0].vocabulary
    numbers = (problems[0].tree.size + 1) * vocabulary
    rows = max(LEAST * (depth + 1), min(ROWS, NUMBERS // numbers))
    rows = min(rows, most or rows)
    each = -(-rows // PROBLEMS)
    rng = np.random.default_rng([seed, 3])
    batches = [Baiter(problem, subject.dtype, fixed=fixed).batch(each, rng) for problem in problems]
    # Row r of problem i stands at r · PROBLEMS + i.
    order = np.arange(PROBLEMS * each).reshape(PROBLEMS, each).T.ravel()[:rows]
    batch = stacked(batches).rows(order)
    posed = [problems[number // each] for number in order]
    accepted = [0] * (depth + 1)
    for row, sequence in enumerate(_sequences(subject, batch)):
        if (wrong := _judged(posed[row], batch, row, sequence)) is not None:
            return wrong
        accepted[len(sequence) - 1] += 1
    tree = str(problems[0].tree if fixed else Tree.from_parents(batch.parents[0].tolist()))
    used = len({number // each for number in order.tolist()})
    rule = problems[0].rule.name
    return GreedyReport(subject.name, rule, tree, vocabulary, used, rows, tuple(accepted))


def smaller(subject: Subject, problem: Problem) -> Wrong | None:
    """The first of the smaller problems on which the subject is wrong too."""

    def judged(candidate: Problem) -> Wrong | None:
        _require_parents(subject, candidate.tree)
        size = min(subject.batch or 4, 4)
        batch = Drafter(candidate.rounded(subject.dtype), subject.dtype).batch(size, np.random.default_rng(0))
        for row, sequence in enumerate(_sequences(subject, batch)):
            if (wrong := _judged(candidate, batch, row, sequence)) is not None:
                return wrong
        return None

    return first_smaller(problem, judged)


def ending(problem: Problem) -> Problem:
    """The problem with its tokens renamed in a circle, the likeliest first one becoming the last of them."""
    first = problem.target.floats[int(problem.target.index(()))]

    def renamed(model: Model) -> Model:
        rows = np.roll(model.floats, problem.vocabulary - 1 - int(first.argmax()), axis=1)
        return Model(rows, model.index, model.name)

    draft = None if problem.draft is None else renamed(problem.draft)
    return replace(problem, target=renamed(problem.target), draft=draft)


def _require_parents(subject: Subject, tree: Tree) -> None:
    if tree.width > 1 and "parents" not in subject.takes:
        raise InputError(f"{subject.name} takes no parents, so no tree {tree}")


def _sequences(subject: Subject, batch: Batch) -> list[tuple[int, ...]]:
    """What is emitted in every row."""
    emitted = emit(subject, batch)
    rows = zip(emitted.tokens.tolist(), emitted.accepted.tolist(), strict=True)
    return [tuple(tokens[: accepted + 1]) for tokens, accepted in rows]


def _judged(problem: Problem, batch: Batch, row: int, emitted: tuple[int, ...]) -> Wrong | None:
    """``None`` if a sequence is the rule's, and greedy decoding's too where the rule claims that."""
    alone = batch.rows([row])
    paths = paths_of(alone.parents[0], alone.tokens[0].tolist())
    rule = problem.rule
    target = dict(zip(paths, alone.target[0], strict=True))
    draft = {paths[parent + 1]: q for parent, q in zip(alone.parents[0], alone.draft[0], strict=True)}
    tree = problem.tree
    if rule.fixed_tokens:
        tree = Tree.from_parents(alone.parents[0].tolist(), alone.tokens[0].tolist())
    q = by_context({(): alone.target[0, 0], **draft}, "draft") if uses_draft(rule) else None
    own = Laws(Problem(problem.name, rule, by_context(target, "target"), q, tree)).sequences
    expected = max(own, key=lambda sequence: own[sequence])
    if rule.claims_lossless:
        for place, token in enumerate(emitted):
            p = target.get(emitted[:place])
            if p is not None and token != (best := int(p.argmax())):
                right = (*emitted[:place], best)
                expected = expected if expected[: place + 1] == right else right
                return Wrong(problem, alone, row, batch.size, emitted, expected)
    return None if emitted in own else Wrong(problem, alone, row, batch.size, emitted, expected)
