"""The walk over the token tree that every step-by-step rule shares.

This is the shape of the general theorem: a draft token is tried; accepted it leads to the child's
node at the longer context, where the target starts afresh; rejected it leads to the next sibling,
at the same context, with the residual in place of the target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from losslesscheck.errors import RuleError
from losslesscheck.machines.vocabulary import Context, Machine, NextToken, Outcome, Token, Vector
from losslesscheck.tree import Tree


def walk_steps(
    m: Machine, step: Callable[..., Outcome], p: NextToken, q: NextToken | None, tree: Tree
) -> Outcome:
    """Verifies ``tree`` with a rule that decides on one draft token at a time.

    ``step(m, residual, draft, accept, reject)`` gets the draft distribution at the context, or,
    where ``q`` is ``None``, the fixed token of the tree's node.

    Raises:
        RuleError: if the step returns anything but what ``accept`` or ``reject`` returned.
    """

    def enter(context: Context, node: Tree) -> Outcome:
        return attempt(context, node, 0, p(context), {})

    def attempt(context: Context, node: Tree, rank: int, residual: Vector, state: dict[str, Any]) -> Outcome:
        if rank == len(node.children):
            return (*context, m.draw(residual))
        child = node.children[rank]

        made: list[Outcome] = []

        def accept(token: Token) -> Outcome:
            longer = (*context, token)
            made.append(m.call(("enter", longer, child.children), lambda: enter(longer, child)))
            return made[-1]

        def reject(residual: Vector, **state: Any) -> Outcome:
            key = ("attempt", context, node.children, rank + 1, residual, *state.values())
            made.append(m.call(key, lambda: attempt(context, node, rank + 1, residual, state)))
            return made[-1]

        draft = child.token if q is None else q(context)
        return _one_of(made, step(m, residual, draft, accept, reject, **state))

    return enter((), tree)


def walk_nodes(m: Machine, rule: Callable[..., Outcome], p: NextToken, tree: Tree) -> Outcome:
    """Verifies a tree of fixed tokens with a rule that decides on all siblings of a node at once.

    ``rule(m, target, siblings, accept, end)``; ``accept`` takes one of ``siblings``, and leads to
    the first of them if they are equal.

    Raises:
        RuleError: if the rule accepts a token that is no sibling, or returns anything but what
            ``accept`` or ``end`` returned.
    """

    def visit(context: Context, node: Tree) -> Outcome:
        siblings: list[Any] = [child.token for child in node.children]
        made: list[Outcome] = []

        def accept(token: Token) -> Outcome:
            ranks = [r for r, t in enumerate(siblings) if t is token]
            ranks = ranks or [r for r, t in enumerate(siblings) if t == token]
            if not ranks:
                raise RuleError(f"the rule accepts {token!r}, which is none of the siblings {siblings}")
            child = node.children[ranks[0]]
            longer = (*context, token)
            made.append(m.call(("visit", longer, child.children), lambda: visit(longer, child)))
            return made[-1]

        def end(token: Token) -> Outcome:
            made.append((*context, token))
            return made[-1]

        return _one_of(made, rule(m, p(context), list(siblings), accept, end))

    return visit((), tree)


def _one_of(made: list[Outcome], outcome: Outcome) -> Outcome:
    """``outcome``, which must be what a continuation returned: a step cannot end the walk by itself."""
    for one in made:
        if outcome is one:
            return outcome
    raise RuleError(f"the rule returned {outcome!r}, not what one of its continuations returned")
