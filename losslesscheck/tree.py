"""Token trees: what a drafter proposes and a verifier walks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from losslesscheck.errors import InputError

MOST_TOKENS = 2000
"""The largest number of draft tokens in a tree; engines draft some hundreds."""

LONGEST = 128
"""The largest draft length: trees are walked, compared and hashed by recursion."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A node of a token tree, with its draft tokens below it in the order in which they are tried.

    The root stands for the last token already emitted; its children are the first draft tokens.

    Attributes:
        children: the child nodes, siblings of one another.
        token: the draft token that this node proposes, where it is fixed in advance (a greedy or
            top-k drafter); ``None`` where the rule draws it from the draft model, and at the root.

    >>> Tree.regular((2, 1)).size
    4
    >>> [child.token for child in Tree.siblings([7, 3]).children]
    [7, 3]
    """

    children: tuple[Tree, ...] = ()
    token: int | None = None

    @classmethod
    def chain(cls, length: int) -> Tree:
        """A single path of ``length`` draft tokens (the draft length γ)."""
        return cls.regular((1,) * length)

    @classmethod
    def regular(cls, widths: Sequence[int]) -> Tree:
        """The tree whose nodes at depth i have ``widths[i]`` children.

        Raises:
            InputError: if a width is not a positive integer, or the tree has more than ``LONGEST``
                levels or ``MOST_TOKENS`` draft tokens.
        """
        _check_depth(len(widths))
        level_size = size = 1
        for level, width in enumerate(widths):
            if not isinstance(width, int) or width < 1:
                raise InputError(f"tree: width {width!r} at level {level} is not a positive integer")
            level_size *= width
            size += level_size
            if size > MOST_TOKENS + 1:
                raise InputError(f"tree: more than {MOST_TOKENS} draft tokens, counted to level {level}")
        node = cls()
        for width in reversed(widths):
            node = cls((node,) * width)
        return node

    @classmethod
    def siblings(cls, tokens: Sequence[int]) -> Tree:
        """One level of fixed draft tokens."""
        return cls(tuple(cls(token=token) for token in tokens))

    @classmethod
    def from_parents(cls, parents: Sequence[int], tokens: Sequence[int] | None = None) -> Tree:
        """The tree in which draft token i hangs below draft token ``parents[i]`` (−1: the root).

        Siblings are tried in ascending index, as the engines link them.

        Raises:
            InputError: if a parent is out of range (dangling), if the links form a cycle, if
                ``tokens`` has another length than ``parents``, or if a path is longer than
                ``LONGEST`` or there are more than ``MOST_TOKENS`` draft tokens.

        >>> Tree.from_parents([-1, 0, 0]).depth
        2
        >>> Tree.from_parents([1, 0])
        Traceback (most recent call last):
        ...
        losslesscheck.errors.InputError: tree: parents[0] = 1 lies on a cycle
        """
        count = len(parents)
        if count > MOST_TOKENS:
            raise InputError(f"tree: {count} draft tokens are more than {MOST_TOKENS}")
        if tokens is not None and len(tokens) != count:
            raise InputError(f"tree: {len(tokens)} tokens for {count} parents")
        for index, parent in enumerate(parents):
            if not isinstance(parent, int) or not -1 <= parent < count:
                raise InputError(
                    f"tree: parents[{index}] = {parent!r} dangles: there is no draft token {parent!r}"
                )
        below: dict[int, list[int]] = {}
        for index, parent in enumerate(parents):
            below.setdefault(parent, []).append(index)
        reached: list[int] = []
        frontier = list(below.get(-1, ()))
        depth = 0
        while frontier:
            depth += 1
            reached.extend(frontier)
            frontier = [child for node in frontier for child in below.get(node, ())]
        if missing := sorted(set(range(count)) - set(reached)):
            raise InputError(f"tree: parents[{missing[0]}] = {parents[missing[0]]} lies on a cycle")
        _check_depth(depth)
        built: dict[int, Tree] = {}
        for index in [*reversed(reached), -1]:
            built[index] = cls(
                tuple(built[child] for child in below.get(index, ())),
                tokens[index] if tokens is not None and index >= 0 else None,
            )
        return built[-1]

    def labelled(self) -> Tree:
        """The same shape with the siblings of every node numbered 0, 1, 2, …

        For a target that may be any distribution this is no restriction: tokens can be renamed
        separately at every context.
        """
        return Tree(
            tuple(Tree(child.labelled().children, rank) for rank, child in enumerate(self.children)),
            self.token,
        )

    def renamed(self, names: Sequence[int]) -> Tree:
        """The tree with token t called ``names[t]``.

        >>> str(Tree.siblings([0, 1]).renamed([2, 0, 1]))
        '[2 0]'
        """
        token = None if self.token is None else names[self.token]
        return Tree(tuple(child.renamed(names) for child in self.children), token)

    def nodes(self) -> Iterator[tuple[tuple[int, ...], Tree]]:
        """Every node with its path (child ranks from the root), parents before children."""
        stack: list[tuple[tuple[int, ...], Tree]] = [((), self)]
        while stack:
            path, node = stack.pop()
            yield path, node
            stack.extend(((*path, rank), node.children[rank]) for rank in reversed(range(len(node.children))))

    @property
    def tokens(self) -> set[int]:
        """The draft tokens that the tree fixes."""
        return {node.token for _, node in self.nodes() if node.token is not None}

    @property
    def size(self) -> int:
        """Number of draft tokens (the root is not counted)."""
        return sum(1 for _ in self.nodes()) - 1

    @property
    def depth(self) -> int:
        """Largest number of draft tokens on a path: the draft length γ."""
        return max(len(path) for path, _ in self.nodes())

    @property
    def width(self) -> int:
        """Largest number of siblings at a node."""
        return max(len(node.children) for _, node in self.nodes())

    def __str__(self) -> str:
        widths: list[set[int]] = []
        for path, node in self.nodes():
            if node.token is not None:
                break
            if len(path) == len(widths):
                widths.append(set())
            widths[len(path)].add(len(node.children))
        else:
            if all(len(level) == 1 for level in widths):
                return ",".join(str(level.pop()) for level in widths[:-1]) or "0"
        return _nested(self)


def _check_depth(depth: int) -> None:
    if depth > LONGEST:
        raise InputError(f"tree: a path of {depth} draft tokens is longer than {LONGEST}")


def _nested(node: Tree) -> str:
    label = "" if node.token is None else str(node.token)
    if not node.children:
        return label or "·"
    return f"{label}[{' '.join(_nested(child) for child in node.children)}]"
