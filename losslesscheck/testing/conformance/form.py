"""Checks of how an implementation behaves as a function: its arguments, its memory, its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from losslesscheck.testing.calls import emit
from losslesscheck.testing.conformance.check import Check, Failure, Trial
from losslesscheck.testing.conformance.coins import MARGIN, calm, settled
from losslesscheck.testing.conformance.inputs import determined, drafted, same, spelled
from losslesscheck.testing.conformance.lane import demand_sound, failure
from losslesscheck.testing.conformance.problems import posed, rule_of, softmax
from losslesscheck.testing.drafting import SEEDS
from losslesscheck.testing.problem import Problem
from losslesscheck.testing.subject import Batch, Emitted, Subject

ROWS = 128

ARRAYS = ("target", "draft", "tokens", "parents", "lengths", "coins", "final")


def altered(subject: Subject, change: Callable[[str, Any], Any]) -> Subject:
    """The subject with every array changed on its way to it, as ``change(name, array)`` says."""
    taken = subject.takes

    def forward(**arguments: Any) -> Any:
        return subject.function(
            **{name: change(name, arguments[name]) if name in ARRAYS else arguments[name] for name in taken}
        )

    forward.__qualname__ = subject.name
    return replace(subject, function=forward)


def interface(trial: Trial) -> Mapping[str, Any]:
    subject = trial.subject
    given: dict[str, tuple[Any, Any]] = {}

    def keep(name: str, array: Any) -> Any:
        given[name] = array, deepcopy(array)
        return given[name][1]

    problem = posed(subject, "dense", seed=trial.seed)
    batch = drafted(subject, problem, min(trial.rows(ROWS), subject.batch or ROWS), trial.seed)
    demand_sound(trial, batch, emit(altered(subject, keep), batch))
    for name, (before, after) in given.items():
        if not bool((before == after).all()):
            raise Failure(
                f"{subject.name} writes into its argument {name}, which its caller may use again. No coin "
                f"is involved. Seed {trial.seed}."
            )
    return {}


def _repeatable_cases(subject: Subject) -> dict[str, str]:
    other = ""
    if subject.injected:
        other = "it takes its coins, not a seed"
    elif rule_of(subject).greedy:
        other = "greedy decoding throws no coins"
    return {"same seed": "", "another seed": other}


def repeatable(trial: Trial) -> Mapping[str, Any]:
    subject = trial.subject
    problem = posed(subject, "dense", seed=trial.seed)
    batch = calm(drafted(subject, problem, trial.rows(ROWS), trial.seed), MARGIN[subject.dtype])
    first = emit(subject, batch)
    if trial.case == "another seed":
        return _other_seeds(trial, problem)
    # Asked at once: a subject that keeps something from call to call has the same to keep now.
    steady = settled(subject, batch, first) if determined(subject) else np.ones(batch.size, dtype=bool)
    other = posed(subject, "sparse", seed=trial.seed)
    emit(subject, drafted(subject, other, trial.rows(ROWS), trial.seed + 1))
    second = emit(subject, batch)
    differ = ~same(first, second) & steady
    if differ.any():
        row = int(np.argmax(differ))
        because = f"The first time it is {spelled(first, row)}."
        raise failure(trial, batch, second, row, "another outcome the second time", because)
    return {}


def _other_seeds(trial: Trial, problem: Problem) -> Mapping[str, Any]:
    """Every bit of a seed leads to other outcomes.

    A row of this problem is the same for other coins with probability .2 or less: all 64 of them for
    any of the 31 bits with 10⁻⁴³.
    """
    subject = trial.subject
    rows = drafted(subject, problem, 64, trial.seed)
    # Large, so that a float32 has no room for its last bits.
    rows = replace(rows, seed=rows.seed | SEEDS // 2)
    once = emit(subject, rows)
    for bit in range(SEEDS.bit_length() - 1):
        other = rows.seed ^ 1 << bit
        if same(once, emit(subject, replace(rows, seed=other))).all():
            raise Failure(
                f"{subject.name} emits the same in all 64 rows for seeds {rows.seed} and {other} "
                f"({problem.name}): it does not use bit {bit} of its seed. Seed {trial.seed}."
            )
    return {}


def _demand_same(
    trial: Trial, batch: Batch, first: Emitted, other: Emitted, what: str, otherwise: str
) -> None:
    """Raises a ``Failure`` where two outcomes differ that only rounding may make different."""
    subject = trial.subject
    differ = ~same(first, other)
    if differ.any() and determined(subject):
        differ &= settled(subject, batch, first)
    if differ.any():
        row = int(np.argmax(differ))
        raise failure(trial, batch, other, row, what, f"{otherwise} it is {spelled(first, row)}.")


def _strided(array: Any) -> Any:
    """Every other entry of an array twice as large."""
    if array.ndim == 0:
        return array
    wide = _filled(array, (*array.shape[:-1], 2 * array.shape[-1]))
    wide[..., ::2] = array
    return wide[..., ::2]


def _sliced(array: Any) -> Any:
    """The middle of an array that is larger in every direction."""
    wide = _filled(array, tuple(size + 3 for size in array.shape))
    middle = tuple(slice(1, 1 + size) for size in array.shape)
    wide[middle] = array
    return wide[middle]


def _transposed(array: Any) -> Any:
    """An array whose first axis varies fastest in memory."""
    axes = tuple(reversed(range(array.ndim)))
    if isinstance(array, np.ndarray):
        return array.transpose(axes).copy().transpose(axes)
    return array.permute(axes).contiguous().permute(axes)


def _read_only(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def _filled(array: Any, shape: tuple[int, ...]) -> Any:
    """A larger array of the same library and dtype: NaN for probabilities, 0 for integers."""
    if isinstance(array, np.ndarray):
        return np.full(shape, np.nan if array.dtype.kind == "f" else 0, dtype=array.dtype)
    return array.new_full(shape, float("nan") if array.is_floating_point() else 0)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "strided": _strided,
    "sliced": _sliced,
    "transposed": _transposed,
    "read-only": _read_only,
}


def _layout_cases(subject: Subject) -> dict[str, str]:
    read_only = "" if subject.array == "numpy" else "torch has no read-only tensors"
    return dict.fromkeys(LAYOUTS, "") | {"read-only": read_only}


def layout(trial: Trial) -> Mapping[str, Any]:
    """A seeded subject may draw its numbers in the order of the memory: only what is impossible counts."""
    subject = trial.subject
    other = altered(subject, lambda name, array: LAYOUTS[trial.case](array))
    problems = [posed(subject, kind, seed=trial.seed) for kind in ("dense", "sparse", "one-hot target")]
    for problem in (*problems, softmax(subject, trial.seed)):
        batch = calm(drafted(subject, problem, trial.rows(ROWS), trial.seed), MARGIN[subject.dtype])
        emitted = emit(other, batch)
        demand_sound(trial, batch, emitted, f"The arrays are {trial.case}.")
        if determined(subject):
            what = f"another outcome where the arrays are {trial.case}"
            _demand_same(trial, batch, emit(subject, batch), emitted, what, "Where they are contiguous")
    return {}


CHECKS = (
    Check(
        "interface",
        "tokens and accept lengths in range, and arguments that are left as they were",
        interface,
        lambda subject: {"": ""},
    ),
    Check("repeatable", "the same seed or coins, the same outcome", repeatable, _repeatable_cases),
    Check("layout", "arrays that are not contiguous, or that may not be written to", layout, _layout_cases),
)
