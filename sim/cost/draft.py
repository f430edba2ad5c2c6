"""What a step drafts and what it verifies, as far as its cost goes."""

from __future__ import annotations

from dataclasses import dataclass

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance.base import check_count, vector
from losslesscheck.tree import Tree


@dataclass(frozen=True)
class Draft:
    """The work of a step, per sequence.

    Attributes:
        passes: how many tokens each pass of an autoregressive drafter takes in, one pass for every level of
            the tree; 1, 1, … for a chain.
        tokens: draft tokens that the target verifies; its pass takes in one more, the last token emitted.

    Raises:
        InputError: if a count is no positive integer.

    >>> Draft.of(Tree.regular((3, 2)))
    Draft(passes=(1, 3), tokens=9)
    """

    passes: tuple[int, ...]
    tokens: int

    def __post_init__(self) -> None:
        check_count("tokens", self.tokens)
        if self.passes:
            object.__setattr__(self, "passes", tuple(vector("passes", self.passes)))
        for index, count in enumerate(self.passes):
            check_count(f"passes[{index}]", count, least=1)
        if self.tokens and not self.passes:
            raise InputError(f"passes: none, for {self.tokens} draft tokens")

    @classmethod
    def chain(cls, draft_length: int) -> Draft:
        """γ draft tokens, one after the other."""
        check_count("draft_length", draft_length)
        return cls((1,) * draft_length, draft_length)

    @classmethod
    def of(cls, tree: Tree) -> Draft:
        """A token tree, drafted level by level; a pass takes in the nodes of a level that have children.

        Raises:
            InputError: if it is no tree, or an empty one.
        """
        if not isinstance(tree, Tree):
            raise InputError(f"tree: {tree!r} is no token tree")
        if not tree.children:
            raise InputError("tree: it has no draft tokens")
        passes: list[int] = []
        tokens = -1
        level = [tree]
        while level:
            tokens += len(level)
            if inner := sum(1 for node in level if node.children):
                passes.append(inner)
            level = [child for node in level for child in node.children]
        return cls(tuple(passes), tokens)
