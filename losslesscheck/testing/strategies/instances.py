"""Whole problems: targets, drafts and a token tree that fit a rule."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from losslesscheck import rules
from losslesscheck.instances import Instance, uses_draft
from losslesscheck.rule import Rule
from losslesscheck.testing.strategies.arguments import Vocabulary, sizes
from losslesscheck.testing.strategies.distributions import ExactRow, distributions
from losslesscheck.testing.strategies.models import context_rows
from losslesscheck.testing.strategies.pairs import pairs
from losslesscheck.testing.strategies.trees import trees
from losslesscheck.tree import Tree

MOST_CONTEXTS = 2
"""Contexts with rows of their own."""


def instances(
    rule: str | Rule | Callable[..., Any],
    *,
    vocabulary: Vocabulary | None = None,
    max_depth: int = 2,
    max_width: int = 2,
    max_size: int = 4,
    max_denominator: int = 8,
    positive_draft: bool = False,
) -> SearchStrategy[Instance]:
    """Problems on which a rule's exact law can be computed, for ``losslesscheck.search.examine``.

    The trees fit the rule: no siblings for a rule that drafts a single path, fixed tokens where it
    wants them, distinct siblings where its claim needs them, never more siblings than tokens; a rule
    that builds its own tree gets that. The empty tree occurs. Target and draft depend on the context
    and are related as in ``pairs``.

    Shrinks to few tokens, a small tree, the same rows after every context, small denominators. A rare
    fault needs more examples than Hypothesis's hundred: ``settings(max_examples=2000)``.

    Args:
        rule: as ``losslesscheck.verify`` takes it: a name, ``file.py:function``, a function, a rule.
        vocabulary: V, or a strategy for it; two to four if left out.
        max_depth, max_width, max_size: of the tree, see ``trees``.
        max_denominator: of the rows, see ``distributions``.
        positive_draft: whether the draft gives every token a positive probability, which some rules
            need.

    Raises:
        InputError: for a bad argument, or if there is no such rule.

    >>> from hypothesis import find
    >>> found = find(instances("target_only"), lambda instance: instance.tree.size > 0)
    >>> found.vocabulary, str(found.tree), [str(value) for value in found.target[()]]
    (2, '[0]', ['1', '0'])
    """
    resolved = rules.resolve(rule)
    trees(max_depth=max_depth, max_width=max_width, max_size=max_size)  # checks them
    size = st.integers(2, 4) if vocabulary is None else vocabulary
    distributions(size, zeros=not positive_draft, max_denominator=max_denominator)  # checks them

    @cache
    def of_size(size: int) -> SearchStrategy[Instance]:
        tree: SearchStrategy[Tree | None] = st.none()
        if resolved.takes_tree:
            tree = trees(
                max_depth=max_depth,
                max_width=1 if resolved.single_path else min(max_width, size),
                max_size=max_size,
                tokens=size if resolved.fixed_tokens else None,
                duplicates=resolved.fixed_tokens and not resolved.distinct_siblings,
                empty=True,
            )
        both = _target_and_draft(resolved, size, max_denominator, positive_draft)
        return _instances(resolved, size, tree, context_rows(both, size, max_depth, MOST_CONTEXTS))

    return sizes(size).flatmap(of_size)


def _target_and_draft(
    rule: Rule, size: int, max_denominator: int, positive_draft: bool
) -> SearchStrategy[tuple[ExactRow, ExactRow]]:
    target = distributions(size, max_denominator=max_denominator)
    if not uses_draft(rule):
        return st.tuples(target, st.just([]))
    if positive_draft:
        return st.tuples(target, distributions(size, zeros=False, max_denominator=max_denominator))
    return pairs(size, max_denominator=max_denominator)


@st.composite
def _instances(
    draw: DrawFn,
    rule: Rule,
    size: int,
    trees: SearchStrategy[Tree | None],
    rows: SearchStrategy[dict[tuple[int, ...], tuple[ExactRow, ExactRow]]],
) -> Instance:
    tree = rule.fit(draw(trees), size)
    drawn = draw(rows)
    target, draft = drawn[()]
    # Rows that say nothing are left out: the default once more, and those that the tree never reaches.
    targets = {c: p for c, (p, _) in drawn.items() if not c or (p != target and len(c) <= tree.depth)}
    drafts = {c: q for c, (_, q) in drawn.items() if not c or (q != draft and len(c) < tree.depth)}
    return Instance(size, tree, targets, drafts if draft else {})
