"""Every rule's claim, checked by its exact law on random and on degenerate instances."""

import pytest

from losslesscheck import rules
from losslesscheck.law import UNDEFINED
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.rules.chain import chain
from losslesscheck.rules.chain_kernel import chain_kernel
from losslesscheck.rules.point_mass import point_mass
from losslesscheck.rules.specinfer import specinfer
from losslesscheck.rules.standalone import standalone
from losslesscheck.rules.target_only import target_only
from losslesscheck.rules.without_replacement import without_replacement
from losslesscheck.tree import Tree
from tests.rules.laws import law, off, random_models, row

CHAINS = [Tree.chain(1), Tree.chain(2), Tree.chain(3)]
TREES = [
    Tree.chain(2),
    Tree.regular((3,)),
    Tree.regular((2, 2)),
    Tree.from_parents([-1, -1, 0, 0, 3]),
]
FIXED = [
    Tree.siblings([2, 0]),
    Tree((Tree((Tree(token=2),), token=1), Tree((Tree(token=1), Tree(token=0)), token=0))),
]


def trees(rule: Rule) -> list[Tree | None]:
    if not rule.takes_tree:
        return [None]
    if rule.single_path:
        return [*CHAINS]
    return [*TREES, *FIXED] if rule.fixed_tokens else [*TREES]


CASES = [
    pytest.param(rules.get(name), tree, id=f"{name}-{tree if tree else 'own'}")
    for name in rules.names()
    for tree in trees(rules.get(name))
]


@pytest.mark.parametrize(("rule", "tree"), CASES)
def test_random_instances(rule: Rule, tree: Tree | None) -> None:
    depth = tree.depth if tree else 3
    for seed in range(12):
        p, q = random_models(seed, 3, depth)
        assert off(rule, p, q, tree) == "", f"seed {seed}"


DEGENERATE = [
    pytest.param(row("1", "0", "0"), row("1", "0", "0"), id="equal-one-hot"),
    pytest.param(row("1", "0", "0"), row("0", "1", "0"), id="different-one-hot"),
    pytest.param(row(".2", ".3", ".5"), row("0", "0", "1"), id="one-hot-draft"),
    pytest.param(row("0", "1", "0"), row(".2", ".3", ".5"), id="one-hot-target"),
    pytest.param(row(".2", ".3", ".5"), row(".2", ".3", ".5"), id="equal"),
    pytest.param(row(".5", ".5", "0"), row("0", "0", "1"), id="disjoint"),
    pytest.param(row("0", ".5", ".5"), row(".5", ".5", "0"), id="overlapping"),
]


@pytest.mark.parametrize(("p", "q"), DEGENERATE)
@pytest.mark.parametrize(("rule", "tree"), CASES)
def test_degenerate_instances(rule: Rule, tree: Tree | None, p: list, q: list) -> None:
    assert off(rule, p, q, tree) == ""


def test_without_replacement_is_undefined_once_the_support_of_the_draft_is_used_up() -> None:
    p, one_hot = row(".2", ".3", ".5"), row("1", "0", "0")
    undefined = without_replacement.bind(exhausted="undefined")
    two = Tree.regular((2,))
    assert law(undefined, p, one_hot, two)[UNDEFINED] == 1 - p[0]
    assert off(without_replacement, p, one_hot, two) == ""
    assert off(undefined, p, row(".1", "0", ".9"), two) == ""


def test_chain_kernel_has_the_law_of_chain() -> None:
    for seed in range(8):
        p, q = random_models(seed, 3, 2)
        assert law(chain_kernel, p, q) == law(chain, p, q)


def test_specinfer_on_a_path_is_chain() -> None:
    for seed in range(8):
        p, q = random_models(seed, 3, 2)
        assert law(specinfer, p, q, Tree.chain(2)) == law(chain, p, q)


@pytest.mark.parametrize("tree", [Tree.regular((2, 2)), *FIXED], ids=str)
def test_point_mass_has_the_law_of_target_only(tree: Tree) -> None:
    for seed in range(8):
        p, _ = random_models(seed, 3, 2)
        assert law(point_mass, p, tree=tree) == law(target_only, p, tree=tree)


def test_standalone_verifies_the_likeliest_drafts() -> None:
    # After the root .5 .3; below 0: .35 (token 2), .10; below 1: .18, .09. The best three are
    # 0, 0→2 and 1.
    after = [row(".1", ".2", ".7"), row(".6", ".3", ".1"), row("1", "0", "0")]
    q = Model.table([row(".5", ".3", ".2"), *after])
    drafted = Tree((Tree((Tree(token=2),), token=0), Tree(token=1)))
    own = standalone.bind(steps=2, topk=2, draft_tokens=4)
    for seed in range(8):
        p, _ = random_models(seed, 3, 2)
        assert law(own, p, q) == law(target_only, p, tree=drafted)


@pytest.mark.parametrize(("steps", "topk", "draft_tokens"), [(1, 2, 3), (2, 2, 7), (3, 2, 5), (2, 3, 6)])
def test_standalone_with_wider_trees(steps: int, topk: int, draft_tokens: int) -> None:
    own = standalone.bind(steps=steps, topk=topk, draft_tokens=draft_tokens)
    for seed in range(6):
        p, q = random_models(seed, 3, steps)
        assert off(own, p, q) == "", f"seed {seed}"
