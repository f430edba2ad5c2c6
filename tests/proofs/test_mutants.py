"""Random changes to the library's texts: what still matches a proved text must have that text's exact law."""

from __future__ import annotations

import ast
import copy
import importlib.util
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from losslesscheck import Tree, rules
from losslesscheck.errors import LosslesscheckError
from losslesscheck.instances import Instance, arbitrary
from losslesscheck.law import UNDEFINED
from losslesscheck.machines.exact import exact_law
from losslesscheck.proofs.theorems import SCOPES
from losslesscheck.proofs.translate import matching
from losslesscheck.rule import Rule
from losslesscheck.transparent import parsed

MUTANTS = 40
"""Of every rule's text."""

FEWEST_MATCHING = 3
"""Of these; a change may change nothing, such as another name."""


def statements(text: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of the text."""
    blocks = [getattr(node, name, None) for node in ast.walk(text) for name in ("body", "orelse")]
    return [block for block in blocks if isinstance(block, list) and block]


def expression(written: str) -> ast.expr:
    return ast.parse(written, mode="eval").body


class Mutation:
    """Changes to one text.

    Args:
        rule: whose text it is.
        rng: decides on them.
    """

    def __init__(self, rule: Rule, rng: random.Random) -> None:
        self.rng = rng
        self.text = copy.deepcopy(parsed(rule.function))
        self.text.args.defaults = [ast.Tuple([], ast.Load()) for _ in self.text.args.defaults]
        self.text.name = "mutant"
        target = "p(())" if rule.form == "whole" else "p"
        self.undefined = [
            f"m.norm({target} - {target})",
            f"{target}[m.argmax({target})] / m.zero",
            f"m.one / (m.one - {target}[m.argmax({target})])",  # at one-hot targets only
            "()[0]",
        ]

    def changed(self) -> str:
        """The text after one change, or two."""
        changes = [
            self.exchange,
            self.drop,
            self.repeat,
            self.rename,
            self.bind_undefined,
            self.choose,
            self.enclose,
            self.give_to_function,
            self.call_it,
        ]
        for change in self.rng.choices(changes, k=self.rng.choice([1, 1, 2])):
            change()
        return ast.unparse(ast.fix_missing_locations(self.text))

    def place(self) -> tuple[list[ast.stmt], int]:
        block = self.rng.choice(statements(self.text))
        return block, self.rng.randrange(len(block))

    def some_undefined(self) -> ast.expr:
        return expression(self.rng.choice(self.undefined))

    def test(self) -> ast.expr:
        """A condition whose answer is known, and whose evaluation may not be defined."""
        scalar = f"m.sum(m.norm({self.undefined[0][7:-1]})) < 1"
        return expression(self.rng.choice([f"{scalar} or True", f"{scalar} and False", "True", "not True"]))

    def exchange(self) -> None:
        block, i = self.place()
        j = self.rng.randrange(len(block))
        block[i], block[j] = block[j], block[i]

    def drop(self) -> None:
        block, i = self.place()
        block[i : i + 1] = [] if len(block) > 1 else [ast.Pass()]

    def repeat(self) -> None:
        block, i = self.place()
        block.insert(self.rng.randrange(len(block) + 1), copy.deepcopy(block[i]))

    def rename(self) -> None:
        names = [node for node in ast.walk(self.text) if isinstance(node, ast.Name)]
        old = self.rng.choice(names).id
        new = self.rng.choice([self.rng.choice(names).id, "z", "after", "bound", "x1"])
        for node in names:
            node.id = new if node.id == old else node.id

    def bind_undefined(self) -> None:
        """A value that is not used."""
        block, i = self.place()
        block.insert(i, ast.Assign([ast.Name("unused", ast.Store())], self.some_undefined()))

    def choose(self) -> None:
        """``a if test else a`` for an expression."""
        a = self.rng.choice([*self.expressions()])
        b = self.rng.choice([copy.deepcopy(a), self.some_undefined()])
        chosen = ast.IfExp(self.test(), *self.rng.sample([copy.deepcopy(a), b], 2))
        a.__class__, a.__dict__ = ast.IfExp, vars(chosen)

    def expressions(self) -> Iterator[ast.expr]:
        for node in ast.walk(self.text):
            if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                yield node

    def enclose(self) -> None:
        block, i = self.place()
        block[i] = ast.If(self.test(), [block[i]], self.rng.choice([[], [copy.deepcopy(block[i])]]))

    def give_to_function(self) -> None:
        """A condition becomes a function that is given what it does not use."""
        self.use_function("asked_with", ["ignored"], [], [self.some_undefined()])

    def call_it(self) -> None:
        """A condition becomes a function with a variable that it does not use."""
        local = ast.Assign([ast.Name("ignored", ast.Store())], self.some_undefined())
        self.use_function("asked", [], [local], [])

    def use_function(
        self, name: str, arguments: list[str], before: list[ast.stmt], given: list[ast.expr]
    ) -> None:
        conditions = [node for node in ast.walk(self.text) if isinstance(node, ast.If)]
        if not conditions:
            return
        condition = self.rng.choice(conditions)
        a = ast.arguments([], [ast.arg(argument) for argument in arguments], None, [], [], None, [])
        body = [*before, ast.Return(condition.test)]
        self.text.body.insert(0, ast.FunctionDef(name, a, body, []))
        condition.test = ast.Call(ast.Name(name, ast.Load()), given, [])


@cache
def small_instances(name: str) -> list[Instance]:
    rule = rules.get(name)
    trees = [Tree(), Tree.chain(1), Tree.chain(2), *([] if rule.single_path else [Tree.regular((2,))])]
    if rule.fixed_tokens:
        trees = [Tree(), Tree.siblings((0,)), Tree.siblings((1, 0))]
    return [arbitrary(rule, tree, 2, seed) for tree in trees for seed in range(3)]


def law(rule: Rule, instance: Instance) -> dict[tuple[int, ...], Any]:
    target, draft = instance.models()
    found = exact_law(rule, target, draft, instance.tree)
    return {emitted: mass for emitted, mass in found.items() if mass != 0}


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("name", SCOPES)
def test_a_mutant_that_matches_has_the_law_of_the_rule_that_it_matches(name, tmp_path):
    rule = rules.get(name)
    rng = random.Random(name)
    found: Counter[bool] = Counter()
    for number in range(MUTANTS):
        text = Mutation(rule, rng).changed()
        path = tmp_path / f"mutant_{number}.py"
        path.write_text(f"from typing import cast\n\n\n{text}\n")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except SyntaxError:
            continue
        mutant = replace(rule, function=module.mutant)
        same = matching(mutant)
        found[same is not None] += 1
        if same is None:
            continue
        for instance in small_instances(name):
            try:
                emitted = law(mutant, instance)
            except LosslesscheckError as error:
                pytest.fail(f"matches {same}, but fails: {error}\n{text}")
            assert UNDEFINED not in emitted, f"matches {same}, but is undefined:\n{text}"
            assert emitted == law(rule, instance), f"matches {same}, but has another law:\n{text}"
    assert found[True] >= FEWEST_MATCHING
    assert found[False] >= FEWEST_MATCHING
