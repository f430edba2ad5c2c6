"""What a failed ``assert_lossless`` says."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product

from losslesscheck.machines.monte_carlo.tally import Pool
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.testing.experiment import Context, Experiment
from losslesscheck.testing.greedy import Wrong
from losslesscheck.testing.message import odds, place, spelled, table, wrapped
from losslesscheck.testing.problem import Problem

FEW = 100
"""Contexts that are looked at to see whether a model depends on the position only."""

NO_SMALLER = "No smaller case was found that one could check by hand."


def failure(experiment: Experiment, smaller: Experiment | None, *, sought: bool = False) -> str:
    """What a failed assertion says of an experiment.

    Args:
        smaller: a smaller problem that refutes the subject too.
        sought: one was looked for, so that it is to be said if there is none.
    """
    lines = [f"{experiment.subject} does not reproduce {_whose(experiment.problem.rule)}.", ""]
    lines += _evidence(experiment)
    if smaller is not None:
        lines += ["", "A smaller case:", *_rows(smaller), *_evidence(smaller)]
    elif sought:
        lines += ["", NO_SMALLER, *_rows(experiment)]
    lines += [
        "",
        f"A correct implementation fails here with probability at most {experiment.alpha:.0e}.",
    ]
    return wrapped("\n".join(lines))


def greedy_failure(subject: str, wrong: Wrong, smaller: Wrong | None, seed: int) -> str:
    """What a failed assertion says of a row that is not what a greedy rule emits."""
    rule, length = wrong.problem.rule, len(wrong.emitted)
    said = f"does not reproduce {_whose(rule)}"
    if rule.claims_lossless and wrong.agreed == length < len(wrong.expected):
        said = f"emits the target's greedy decoding, but accepts fewer draft tokens than {rule.name}"
    elif rule.claims_lossless and wrong.agreed == len(wrong.expected) < length:
        said = "counts tokens as accepted that are no draft tokens there"
    lines = [f"{subject} {said}.", "", *_case(wrong)]
    if smaller is None:
        lines += ["", NO_SMALLER]
    else:
        lines += ["", "A smaller case:", *_case(smaller)]
    lines += ["", f"No chance is involved: {rule.name} throws no coins. Seed {seed}."]
    return wrapped("\n".join(lines))


def _whose(rule: Rule) -> str:
    if not rule.claims_lossless:
        return f"the law of {rule.name}"
    return "the target's greedy decoding" if rule.greedy else "the target's law"


def _evidence(experiment: Experiment) -> list[str]:
    problem = experiment.problem
    worst = _worst(experiment)
    lines = [
        f"{problem.rule.name} on {problem.name}, tree {problem.tree}, seed {experiment.seed}: "
        f"{experiment.steps:,} steps",
        f"Next token {place(worst.context)} ({worst.samples:,} times):",
        *table({"expected": worst.expected, "observed": worst.observed}),
        f"  TV {worst.tv:.4g} observed; of the first token at most {experiment.tv_bound:.4g}",
        f"e-value {odds(experiment.log_e)}; a correct implementation ever reaches "
        f"{odds(-math.log(experiment.alpha))} with probability {experiment.alpha:.0e}",
    ]
    others = [c for c in experiment.biased if c is not worst]
    if others:
        named = ", ".join(place(c.context) for c in others[:3])
        lines.append(f"Also biased {named}" + (f" and {len(others) - 3} more" if len(others) > 3 else ""))
    return lines


def _worst(experiment: Experiment) -> Context:
    return (experiment.biased or experiment.contexts)[0]


def _rows(experiment: Experiment) -> list[str]:
    """The rows of both models: by position if they depend on nothing else, else along the worst context."""
    problem, worst = experiment.problem, _worst(experiment).context
    context = () if isinstance(worst, Pool) else worst
    lines = []
    for letter, model, last in (
        ("p", problem.target, problem.tree.depth),
        ("q", problem.draft, problem.tree.depth - 1),
    ):
        if model is not None and last >= 0:
            lines += [
                f"  {letter} = {row} {where}" for where, row in _by_place(problem, model, last, context)
            ]
    return lines


def _by_place(problem: Problem, model: Model, last: int, context: tuple[int, ...]) -> list[tuple[str, str]]:
    """Where, and the row that stands there."""
    if model.count == 1:
        return [("after every context", spelled(model.exact(())))]
    if problem.vocabulary**last <= FEW:
        every = [product(range(problem.vocabulary), repeat=length) for length in range(last + 1)]
        rows = [{tuple(model.exact(before)) for before in contexts} for contexts in every]
        if all(len(found) == 1 for found in rows):
            where = ["at the start", *(_after(length) for length in range(1, last + 1))]
            return [(at, spelled(found.pop())) for at, found in zip(where, rows, strict=True)]
    along = [context[:length] for length in range(min(len(context), last) + 1)]
    return [(place(before), spelled(model.exact(before))) for before in along]


def _after(count: int) -> str:
    return "after one token" if count == 1 else f"after {count} tokens"


def _case(wrong: Wrong) -> list[str]:
    """Inputs and outcome of a row."""
    problem, batch = wrong.problem, wrong.batch
    parents, tokens = batch.parents[0].tolist(), batch.tokens[0].tolist()
    facts = [("draft tokens", _numbers(tokens) or "none")]
    if parents != list(range(-1, len(parents) - 1)):
        facts.append(("parents", _numbers(parents)))
    for before, row in wrong.rows():
        likeliest = f"likeliest {row.argmax()}" if problem.rule.greedy else ""
        facts.append((f"p {place(before)}", f"{spelled(row)}, {likeliest}"))
    facts.append(("expected", f"{_numbers(wrong.expected)}  ({len(wrong.expected) - 1} accepted)"))
    facts.append(("emitted", f"{_numbers(wrong.emitted)}  ({len(wrong.emitted) - 1} accepted)"))
    width = max(len(name) for name, _ in facts)
    head = f"{problem.rule.name} on {problem.name}, row {wrong.number} of {wrong.size}:"
    return [head, *(f"  {name:{width}}  {value}" for name, value in facts)]


def _numbers(values: Iterable[int]) -> str:
    return " ".join(map(str, values))
