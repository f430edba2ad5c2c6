"""A rule's text as a source: found again by its name or its file wherever a shard is computed."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from losslesscheck import rules
from losslesscheck.errors import InputError
from losslesscheck.instances import hashed
from losslesscheck.machines.monte_carlo.sampling import sample, survey
from losslesscheck.machines.monte_carlo.tally import Counts, Plan
from losslesscheck.model import Model
from losslesscheck.rule import Rule, load_again
from losslesscheck.runs.record import MOST_STEPS
from losslesscheck.runs.source import Problem, code_hash, plan_hash
from losslesscheck.runs.texts import runs_its_text, text_hash
from losslesscheck.tree import Tree

WORK = 1.2e9
"""Work of a shard (see ``survey``), of which a core does some 4 to 25 · 10⁷ a second."""

CODE = (
    "instances.py",
    "model.py",
    "rule.py",
    "tree.py",
    "walk.py",
    "machines/monte_carlo/lanes.py",
    "machines/monte_carlo/paths.py",
    "machines/monte_carlo/rows.py",
    "machines/monte_carlo/sampler.py",
    "machines/monte_carlo/sampling.py",
    "machines/monte_carlo/tally.py",
    "machines/monte_carlo/values.py",
    "runs/rule_source.py",
    "runs/source.py",
)
"""The modules that decide what is sampled and how it is counted. Counts are not added to those of
another version of them, though the change may be harmless."""

Choice = Literal["context", "position"]
"""What chooses a model's row: the context, by a hash of it, or the position alone."""


@dataclass(frozen=True)
class Rows:
    """The rows of a model, as bytes: float64, little-endian, shape [count, vocabulary]."""

    count: int
    vocabulary: int
    content: bytes

    @classmethod
    def of(cls, model: Model) -> Rows:
        return cls(model.count, model.vocabulary, model.floats.astype("<f8").tobytes())

    def model(self, choice: Choice, name: str) -> Model:
        rows: npt.NDArray[np.float64] = np.frombuffer(self.content, dtype="<f8").astype(np.float64)
        rows = rows.reshape(self.count, self.vocabulary)
        if choice == "position":
            return Model.positions(rows, name)
        return Model(rows, hashed(self.vocabulary, self.count), name)

    @property
    def hash(self) -> str:
        shape = f"{self.count},{self.vocabulary}:".encode()
        return hashlib.sha256(shape + self.content).hexdigest()


@dataclass(frozen=True)
class RuleSource:
    """A rule with its parameters, on one target and one draft.

    Attributes:
        reference: the rule's name, or ``file.py:function`` with the absolute path of the file.
        text: see ``texts.text_hash``; another text under the same reference is refused.
        parameters: names and values, as ``Rule.bind`` reads them.
        tree: as ``Rule.fit`` returns it.
        target, draft: the models' rows.
        choice: what chooses among them.
        name, seed, instance, steps: see ``Source``.
    """

    reference: str
    text: str
    parameters: tuple[tuple[str, str], ...]
    tree: Tree
    target: Rows
    draft: Rows | None
    choice: Choice
    name: str
    seed: int
    instance: int
    steps: int = 0

    @property
    def greedy(self) -> bool:
        return _prepared(self).rule.greedy

    def problem(self) -> Problem:
        rule, plan = _prepared(self).rule, self.plan()
        return {
            "rule": self.name,
            "text": self.text,
            "form": rule.form,
            "fixed_tokens": rule.fixed_tokens,
            "greedy": rule.greedy,
            "parameters": dict(self.parameters),
            "vocabulary": self.target.vocabulary,
            "tree": str(self.tree),
            "target": self.target.hash,
            "draft": None if self.draft is None else self.draft.hash,
            "rows_by": self.choice,
            "counters": plan_hash(plan),
            "code": code_hash(CODE),
        }

    def plan(self) -> Plan:
        return _prepared(self).plan

    def shard(self, seed: np.random.SeedSequence) -> Counts:
        own = _prepared(self)
        return sample(
            own.rule,
            own.target,
            own.draft,
            self.tree,
            self.steps,
            np.random.default_rng(seed),
            threads=1,
            plan=own.plan,
        )


def rule_source(
    rule: Rule,
    target: Model,
    draft: Model | None,
    tree: Tree,
    *,
    choice: Choice,
    seed: int,
    instance: int,
    steps: int | None = None,
) -> RuleSource:
    """The source that a rule is.

    Args:
        rule, target, draft, tree: see ``machines.monte_carlo.monte_carlo``.
        choice: what chooses the models' rows.
        seed, instance: see ``Source``.
        steps: of a shard; by default as many as make ``WORK``, of which the pilot run is asked.

    Raises:
        InputError: if other processes cannot find the rule's text, or it is not what runs.
    """
    source = RuleSource(
        reference=findable(rule),
        text=text_hash(rule),
        parameters=tuple((name, str(value)) for name, value in rule.settings.items()),
        tree=tree,
        target=Rows.of(target),
        draft=None if draft is None else Rows.of(draft),
        choice=choice,
        name=rule.name,
        seed=seed,
        instance=instance,
    )
    again = _prepared(source)
    if again.rule.function.__code__ != rule.function.__code__:
        raise InputError(f"save: {source.reference} is another function than the rule at hand")
    for fact in ("form", "fixed_tokens", "greedy"):
        if getattr(again.rule, fact) != getattr(rule, fact):
            raise InputError(
                f"save: {source.reference} has {fact} = {getattr(again.rule, fact)!r}, "
                f"but the rule at hand {getattr(rule, fact)!r}"
            )
    return replace(source, steps=_round(WORK / again.work) if steps is None else steps)


def _round(steps: float) -> int:
    """To one digit: 64,771,234 becomes 60,000,000."""
    return min(MOST_STEPS, max(1, int(float(f"{steps:.0e}"))))


def findable(rule: Rule) -> str:
    """How other processes find the rule: its name, or ``file.py:function``.

    Raises:
        InputError: if they do not, or its text is not what runs here.
    """
    name, file = rule.function.__qualname__, inspect.getsourcefile(rule.function)
    if rule.name in (*rules.names(), *rules.broken()) and rules.get(rule.name).hash == rule.hash:
        reference = rule.name
    elif file is None or not Path(file).is_file() or not name.isidentifier():
        raise InputError(
            f"save: other processes cannot find the rule {name}; put it at the top level of a file"
        )
    else:
        reference = f"{Path(file).resolve()}:{name}"
    if not runs_its_text(rule):
        raise InputError(f"save: the text of {reference} has changed since it was imported")
    return reference


@dataclass(frozen=True)
class _Prepared:
    """What is made of a source once in every process."""

    rule: Rule
    target: Model
    draft: Model | None
    plan: Plan
    work: float


def _prepared(source: RuleSource) -> _Prepared:
    return _prepare(replace(source, steps=0))


@lru_cache(maxsize=4)
def _prepare(source: RuleSource) -> _Prepared:
    found = load_again(source.reference) if ":" in source.reference else rules.get(source.reference)
    rule = found.bind(**dict(source.parameters))
    if text_hash(rule) != source.text or not runs_its_text(rule):
        raise InputError(f"rule: the text of {source.reference} has changed since the run began")
    target = source.target.model(source.choice, "target")
    draft = None if source.draft is None else source.draft.model(source.choice, "draft")
    pilot = np.random.SeedSequence(source.seed, spawn_key=(source.instance,))  # of no shard
    rng = np.random.default_rng(pilot)
    plan, work = survey(rule, target, draft, source.tree, rng)
    return _Prepared(rule, target, draft, plan, work)
