"""Rules: a function that reads like the paper's algorithm, with what is claimed of it."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, overload

from losslesscheck.budget import Budget, WorkFailed
from losslesscheck.errors import BudgetExceeded, InputError, RuleError
from losslesscheck.machines.vocabulary import Outcome
from losslesscheck.tree import Tree
from losslesscheck.walk import walk_nodes, walk_steps

Form = Literal["step", "node", "whole"]
"""How much of the draft-and-verify step one call of the function decides.

``step``: one draft token, ``f(m, p, q, accept, reject)``, with p the running residual and q the
draft distribution at the context; or ``f(m, p, token, accept, reject)`` for a fixed draft token.
``node``: all siblings of a node, ``f(m, p, siblings, accept, end)``, which are fixed tokens.
``whole``: everything, ``f(m, p, q, tree)`` with p and q functions of the context (``tree`` may be
left out by a rule that builds its own).
"""

Value = Fraction | int | str

LONGEST_NUMBER = 200
"""Characters of a parameter's value."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a rule.

    Attributes:
        default: its type is the parameter's: ``Fraction`` for a number that is handed to the rule
            as a machine's number, ``int`` for a count, ``str`` for a named choice.
        description: one line.
        minimum, maximum: inclusive bounds, or ``None``.
        choices: the allowed strings, if it is a named choice.
    """

    default: Value
    description: str = ""
    minimum: Fraction | int | None = None
    maximum: Fraction | int | None = None
    choices: tuple[str, ...] = ()

    def parse(self, name: str, value: Value | float) -> Value:
        """``value`` (a string from the command line, or a Python value) as this parameter's type.

        Floats are read as the decimal number that they print as: .9 is 9/10.

        Raises:
            InputError: if it is of another type, out of bounds or no allowed choice.
        """
        if isinstance(self.default, str):
            if str(value) not in self.choices:
                raise InputError(f"{name}: {value!r} is not one of {', '.join(self.choices)}")
            return str(value)
        text = str(value)
        if len(text) > LONGEST_NUMBER or re.search(r"e[+-]?\d{4}", text, re.IGNORECASE):
            # Fraction would write all its digits out.
            raise InputError(f"{name}: {text[:20]} has too many digits")
        try:
            number = Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise InputError(f"{name}: {value!r} is not a number") from None
        if isinstance(self.default, int) and number.denominator != 1:
            raise InputError(f"{name}: {value!r} is not an integer")
        if self.minimum is not None and number < self.minimum:
            raise InputError(f"{name}: {value} is below {self.minimum}")
        if self.maximum is not None and number > self.maximum:
            raise InputError(f"{name}: {value} is above {self.maximum}")
        return int(number) if isinstance(self.default, int) else number


@dataclass(frozen=True)
class Rule:
    """An acceptance rule.

    Attributes:
        function: the rule's text; see ``Form`` for its signature.
        form: which of the three signatures it has.
        fixed_tokens: the draft tokens stand in the tree (a deterministic drafter) instead of being
            drawn from q.
        greedy: the claim is about the target's greedy decoding, not about sampling from it.
        single_path: the rule drafts a single path; trees with siblings are refused.
        distinct_siblings: the claim needs the siblings of a node to be distinct tokens.
        paper: where it comes from, with equation or algorithm numbers.
        claim: what is claimed, in one sentence.
        conditions: what the claim supposes.
        broken: for a broken pattern, what is wrong with it.
        lossless: whether the claim, for given parameters, is that the rule is lossless.
        tree: the token tree that it is checked on unless another is asked for.
        parameters: the rule's own parameters by name.
    """

    name: str
    function: Callable[..., Outcome]
    form: Form
    fixed_tokens: bool = False
    greedy: bool = False
    single_path: bool = False
    distinct_siblings: bool = False
    paper: str = ""
    claim: str = ""
    conditions: tuple[str, ...] = ()
    broken: str = ""
    lossless: Callable[[Mapping[str, Value]], bool] = field(default=lambda parameters: True)
    tree: Tree = field(default_factory=Tree)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The source of the function; empty where there is none (typed at a prompt)."""
        try:
            return inspect.getsource(self.function)
        except (OSError, TypeError):
            return ""

    @property
    def hash(self) -> str:
        """SHA-256 of the file that the function stands in and of the function's name; of its byte
        code where it stands in no file."""
        file = inspect.getsourcefile(self.function)
        if file is not None and Path(file).is_file():
            content = Path(file).read_bytes()
        else:
            code = self.function.__code__
            content = code.co_code + repr((code.co_consts, code.co_names)).encode()
        return hashlib.sha256(content + b"\0" + self.function.__qualname__.encode()).hexdigest()

    @property
    def takes_tree(self) -> bool:
        """Whether a token tree is handed to it (a rule may build its own instead)."""
        return self.form != "whole" or len(_positional(self.function)) == 4

    @property
    def takes_tried(self) -> bool:
        """Whether the step wants to know the siblings tried before."""
        return self.form == "step" and "tried" in inspect.signature(self.function).parameters

    def bind(self, /, **values: Value | float) -> Rule:
        """This rule with some parameters set.

        Raises:
            InputError: for a name that the rule does not have, or a bad value.
        """
        parsed = dict(self.values)
        for name, value in values.items():
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise InputError(f"{name}: {self.name} has no such parameter (it has: {known})")
            parsed[name] = self.parameters[name].parse(name, value)
        return replace(self, values=parsed)

    @property
    def settings(self) -> dict[str, Value]:
        """Every parameter with its value."""
        return {name: self.values.get(name, p.default) for name, p in self.parameters.items()}

    @property
    def claims_lossless(self) -> bool:
        """Whether the rule, with its parameters as they are, is claimed to be lossless."""
        return not self.broken and self.lossless(self.settings)

    def apply(self, m: Any, *arguments: Any, **state: Any) -> Outcome:
        """Calls the function with the parameters as the machine's own numbers."""
        parameters = {
            name: m.number(value) if isinstance(value, Fraction) else value
            for name, value in self.settings.items()
        }
        return self.function(m, *arguments, **parameters, **state)

    def run(self, m: Any, p: Any, q: Any, tree: Tree) -> Outcome:
        """One whole draft-and-verify step on a machine, with p and q as its functions of the context."""
        if self.form == "step":
            return walk_steps(m, self.apply, p, None if self.fixed_tokens else q, tree)
        if self.form == "node":
            return walk_nodes(m, self.apply, p, tree)
        return self.apply(m, p, q, tree) if self.takes_tree else self.apply(m, p, q)

    def fit(self, tree: Tree | None, vocabulary: int) -> Tree:
        """``tree`` (or the rule's own) as the rule needs it, siblings numbered where it needs fixed
        tokens and none are given.

        Raises:
            InputError: for siblings where the rule drafts a single path, equal siblings where its
                claim needs distinct ones, a token outside the vocabulary, or a tree for a rule
                that builds its own.
        """
        if tree is not None and not self.takes_tree:
            raise InputError(f"tree: {self.name} builds its own token tree from its parameters")
        tree = self.tree if tree is None else tree
        if self.single_path and tree.width > 1:
            raise InputError(
                f"tree: {self.name} drafts a single path, but a node of {tree} has {tree.width} siblings"
            )
        if not self.fixed_tokens:
            if tree.tokens:
                raise InputError(f"tree: {self.name} draws its tokens; the tree must not fix them")
            return tree
        if not tree.tokens:
            tree = tree.labelled()
        for path, node in tree.nodes():
            where = "the root" if not path else f"node {'.'.join(map(str, path))}"
            seen: dict[int, int] = {}
            for rank, child in enumerate(node.children):
                if child.token is None:
                    raise InputError(f"tree: child {rank} of {where} has no token")
                if not 0 <= child.token < vocabulary:
                    raise InputError(
                        f"tree: child {rank} of {where} is token {child.token}, "
                        f"outside a vocabulary of {vocabulary}"
                    )
                if self.distinct_siblings and child.token in seen:
                    raise InputError(
                        f"tree: children {seen[child.token]} and {rank} of {where} are both token "
                        f"{child.token}; {self.name} needs distinct siblings"
                    )
                seen[child.token] = rank
        return tree


@overload
def rule(function: Callable[..., Outcome], /) -> Rule: ...


@overload
def rule(**facts: Any) -> Callable[[Callable[..., Outcome]], Rule]: ...


def rule(
    function: Callable[..., Outcome] | None = None,
    /,
    *,
    name: str | None = None,
    parameters: Mapping[str, Parameter] | None = None,
    tree: Tree | None = None,
    **facts: Any,
) -> Rule | Callable[[Callable[..., Outcome]], Rule]:
    """Makes a rule of a function; as a decorator with or without facts (see ``Rule``).

    Raises:
        InputError: if it is no plain function, or its signature is none of the three in ``Form``.

    >>> @rule
    ... def chain(m, p, q, accept, reject):
    ...     x = m.draw(q)
    ...     if m.flip(m.min(m.one, p[x] / q[x])):
    ...         return accept(x)
    ...     return reject(m.norm(m.relu(p - q)))
    >>> chain.form, chain.fixed_tokens
    ('step', False)
    """
    if function is None:
        return lambda f: _made(f, name, parameters, tree, facts)
    return _made(function, name, parameters, tree, facts)


def _made(
    function: Callable[..., Outcome],
    name: str | None,
    parameters: Mapping[str, Parameter] | None,
    tree: Tree | None,
    facts: Mapping[str, Any],
) -> Rule:
    if not inspect.isfunction(function):
        raise InputError(f"rule: {function!r} is no plain function")
    form, fixed = _form(function)
    if parameters is None:
        parameters = {
            key: _undeclared(key, p.default)
            for key, p in inspect.signature(function).parameters.items()
            if p.kind is inspect.Parameter.KEYWORD_ONLY
        }
    if tree is None:
        tree = Tree.chain(2) if facts.get("single_path") else Tree.regular((2, 1))
    return Rule(
        name=name or function.__name__,
        function=function,
        form=form,
        tree=tree,
        parameters=parameters,
        **{"fixed_tokens": fixed, **facts},
    )


def load(reference: str) -> Rule:
    """The rule ``function`` of ``file.py``, named as ``file.py:function``.

    Raises:
        InputError: if there is no such file or function.
        RuleError: if the file does not import, or not within the default budget.
    """
    path, _ = _place(reference)
    try:
        Budget().run(lambda: _imported(path) and None)  # a trial: an import can take any time or memory
    except BudgetExceeded as error:
        raise RuleError(f"rule: {path} does not import: {error}") from None
    except WorkFailed:
        pass  # raised again below, in this process
    return load_again(reference)


def load_again(reference: str) -> Rule:
    """``load`` without a trial in another process, for a file that has been loaded before.

    Raises:
        InputError, RuleError: as ``load`` does.
    """
    path, attribute = _place(reference)
    try:
        module = _imported(path)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise RuleError(f"rule: {path} does not import: {type(error).__name__}: {error}") from error
    found = getattr(module, attribute, None)
    if isinstance(found, Rule):
        return found
    if not callable(found):
        raise InputError(f"rule: {path} has no function {attribute!r}")
    return rule(found)


def _place(reference: str) -> tuple[Path, str]:
    file, _, attribute = reference.rpartition(":")
    if not file or not Path(file).is_file():
        raise InputError(f"rule: there is no file {file or attribute!r}")
    return Path(file), attribute


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"losslesscheck_user_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with contextlib.redirect_stdout(sys.stderr):  # standard output belongs to the report
        spec.loader.exec_module(module)
    return module


def _positional(function: Callable[..., Any]) -> list[str]:
    return [
        name
        for name, p in inspect.signature(function).parameters.items()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and name != "tried"
    ]


def _form(function: Callable[..., Any]) -> tuple[Form, bool]:
    names = _positional(function)
    if names[3:] == ["accept", "reject"]:
        return "step", names[2] == "token"
    if names[3:] == ["accept", "end"]:
        return "node", True
    if len(names) == 3 or names[3:] == ["tree"]:
        return "whole", False
    raise InputError(
        f"rule {function.__name__}({', '.join(names)}): the arguments must be "
        "(m, p, q, accept, reject), (m, p, siblings, accept, end) or (m, p, q, tree)"
    )


def _undeclared(name: str, default: Any) -> Parameter:
    if default is inspect.Parameter.empty:
        raise InputError(f"rule: parameter {name} needs a default value")
    if isinstance(default, float):
        default = Fraction(str(default))
    if not isinstance(default, (int, Fraction)) or isinstance(default, bool):
        raise InputError(f"rule: the default of parameter {name} must be a number, not {default!r}")
    return Parameter(default)
