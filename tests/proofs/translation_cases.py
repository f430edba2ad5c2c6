"""Random rational instances on which the Coq text and the Python text of a rule are compared."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from losslesscheck import rules
from losslesscheck.instances import ContextRows, Instance, arbitrary
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

COUNT = 48
"""Instances of every rule."""

DEEPEST = 3
MOST_TOKENS = 7
"""Draft tokens of a tree."""

MOST_PATHS = 700
"""Ways through a tree whose drafts are drawn; Coq follows every one."""

MOST_CONTEXTS = 14
"""Contexts that have a row of their own; the other ones share the row of the empty context."""


@dataclass(frozen=True)
class Case:
    """A rule, with its parameters bound, on an instance."""

    rule: Rule
    instance: Instance

    def __str__(self) -> str:
        parameters = "".join(f", {name} = {value}" for name, value in self.rule.settings.items())
        lines = [f"{self.rule.name}{parameters}, V = {self.instance.vocabulary}, tree {self.instance.tree}"]
        for name, rows in (("p", self.instance.target), ("q", self.instance.draft)):
            lines += [f"  {name}{context} = ({', '.join(map(str, row))})" for context, row in rows.items()]
        return "\n".join(lines)


@cache
def cases(name: str) -> list[Case]:
    """The instances of a rule; the same ones on every call."""
    rng = np.random.default_rng([ord(letter) for letter in name])
    return [_case(rules.get(name), rng) for _ in range(COUNT)]


@cache
def threshold_cases() -> list[Case]:
    """Instances of target_only with its thresholds, one or both of which are below 1."""
    rng = np.random.default_rng(len("threshold"))
    found = [_case(rules.get("target_only"), rng) for _ in range(COUNT)]
    return [replace(case, rule=case.rule.bind(**_thresholds(case.instance.target, rng))) for case in found]


def small_cases(rule: Rule, count: int) -> list[Case]:
    """Instances of a rule that makes many choices: little trees, two or three tokens."""
    rng = np.random.default_rng([ord(letter) for letter in rule.name])
    found = []
    for _ in range(count):
        vocabulary = int(rng.choice([2, 3]))
        trees = [Tree.chain(length) for length in range(rule.tree.depth + 1)]
        if not rule.single_path:
            trees += [Tree.regular((3 if rule.form == "node" else 2,))] * 2
        tree = trees[int(rng.integers(len(trees)))]
        if rule.fixed_tokens and tree.children:
            tokens = [int(token) for token in rng.integers(vocabulary, size=tree.size)]
            parents = list(range(-1, tree.depth - 1)) if tree.width == 1 else [-1] * tree.size
            tree = Tree.from_parents(parents, tokens)
        found.append(Case(rule, arbitrary(rule, tree, vocabulary, int(rng.integers(2**32)))))
    return found


def _case(rule: Rule, rng: np.random.Generator) -> Case:
    vocabulary = int(rng.choice([2, 3, 4]))
    tree = _tree(rule, vocabulary, rng)
    while not rule.fixed_tokens and _paths(tree, vocabulary) > MOST_PATHS:
        tree = _tree(rule, vocabulary, rng)
    instance = arbitrary(rule, tree, vocabulary, int(rng.integers(2**32)))
    kept = list(instance.target)[1:]
    kept = [(), *(kept[i] for i in sorted(rng.permutation(len(kept))[: MOST_CONTEXTS - 1]))]
    target, draft = ({c: rows[c] for c in kept if rows} for rows in (instance.target, instance.draft))
    if draft and rng.random() < 0.1:
        draft = target
    return Case(rule, replace(instance, target=target, draft=draft))


def _tree(rule: Rule, vocabulary: int, rng: np.random.Generator) -> Tree:
    """A random tree for the rule.

    With target_only, whose claim needs distinct siblings, every fourth tree may have equal ones all
    the same: the two texts must agree on what the rule does, not on what it claims.
    """
    if rule.single_path:
        return Tree.chain(int(rng.choice(DEEPEST + 1, p=[0.1, 0.2, 0.35, 0.35])))
    distinct = rule.distinct_siblings and rng.random() < 0.75
    size = int(rng.integers(1, MOST_TOKENS + 1)) if rng.random() < 0.95 else 0
    parents: list[int] = []
    tokens: list[int] = []
    depth = {-1: 0}
    below: dict[int, list[int]] = defaultdict(list)
    for node in range(size):
        free = [n for n in depth if depth[n] < DEEPEST and not (distinct and len(below[n]) == vocabulary)]
        parent = int(rng.choice(free))
        token = int(rng.choice([t for t in range(vocabulary) if not (distinct and t in below[parent])]))
        parents.append(parent)
        tokens.append(token)
        depth[node] = depth[parent] + 1
        below[parent].append(token)
    return Tree.from_parents(parents, tokens if rule.fixed_tokens else None)


def _paths(tree: Tree, vocabulary: int) -> int:
    """How many sequences of draws, acceptances and rejections a tree of drawn drafts has."""
    paths = vocabulary
    for child in reversed(tree.children):
        paths = vocabulary * (_paths(child, vocabulary) + paths)
    return paths


def _thresholds(target: ContextRows, rng: np.random.Generator) -> dict[str, Fraction]:
    """One or both thresholds random; the single one often a token's very probability."""
    single, acc = (Fraction(int(rng.integers(1, 13)), 12) for _ in range(2))
    if rng.random() < 0.7:
        single = rng.choice([entry for entry in target[()] if entry > 0])
    random = int(rng.integers(1, 4))
    return {
        "threshold_single": single if random & 1 else Fraction(1),
        "threshold_acc": acc if random & 2 else Fraction(1),
    }


def has_equal_siblings(tree: Tree) -> bool:
    """Whether two siblings of some node are the same token."""
    return any(
        a.token is not None and a.token == b.token
        for _, node in tree.nodes()
        for a, b in itertools.combinations(node.children, 2)
    )
