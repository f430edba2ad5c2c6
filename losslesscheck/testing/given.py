"""The problems that a caller asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.testing import cases
from losslesscheck.testing.drafting import own_tree
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Subject
from losslesscheck.tree import Tree


class Given:
    """What the caller of ``assert_lossless`` says of the problems: see there.

    Raises:
        InputError: for what makes no problem.
    """

    def __init__(
        self,
        subject: Subject,
        rule: Rule,
        tree: Tree | Sequence[int] | None,
        vocabulary: int,
        target: npt.ArrayLike | Model | None,
        draft: npt.ArrayLike | Model | None,
    ) -> None:
        shape = _shape(tree)
        if shape is not None and not rule.takes_tree:
            rule.fit(shape, vocabulary)  # says why not
        if shape is None and "parents" not in subject.takes and rule.takes_tree:
            shape = Tree.chain(rule.tree.depth)
        self.rule, self.shape, self.vocabulary = rule, shape, vocabulary
        if target is None and draft is not None:
            raise InputError("draft: a draft without a target")
        depth = (rule.tree if shape is None else shape).depth
        if not rule.takes_tree:
            depth = int(rule.settings.get("steps", depth))
        self.target = None if target is None else _model(target, "target", depth + 1)
        self.draft = None if draft is None else _model(draft, "draft", depth)
        if self.target is not None:
            self.vocabulary = min(vocabulary, self.target.vocabulary)

    def problem(self, kind: str, seed: int) -> Problem:
        """The problem of a kind, with the caller's own rows where there are any."""
        rule, p, q = self.rule, self.target, self.draft
        made = cases.problem(rule, kind, vocabulary=self.vocabulary, tree=self.shape, seed=seed)
        if p is None:
            return made
        if made.draft is None and q is not None:
            raise InputError(f"draft: {rule.name} fixes its draft tokens in the tree")
        if made.draft is not None and q is None:
            raise InputError(f"draft: {rule.name} needs one besides the target")
        tree = made.tree
        if not rule.takes_tree and q is not None:
            tree = own_tree(rule, q)
        return Problem(f"given rows, V = {p.vocabulary}", rule, p, q, tree)


def _shape(tree: Any) -> Tree | None:
    if tree is None or isinstance(tree, Tree):
        return tree
    try:
        widths = tuple(tree)
    except TypeError:
        raise InputError(f"tree: {tree!r} is neither a token tree nor its widths, such as (2, 1)") from None
    return Tree.regular([int(width) if isinstance(width, np.integer) else width for width in widths])


def _model(rows: npt.ArrayLike | Model, name: str, positions: int) -> Model:
    if isinstance(rows, Model):
        return rows
    try:
        values = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: no rows of numbers: {error}") from None
    if values.ndim == 2 and 1 < len(values) < positions:
        raise InputError(
            f"{name}: {len(values)} rows, but {positions} positions; give one row for all, or one for each"
        )
    return Model.positions(values, name)
