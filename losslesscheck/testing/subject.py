"""Subjects: implementations under test, and how they are called.

A subject is any callable that verifies a batch of drafts. It takes what it needs of a ``Batch`` by the
names of its arguments and returns what was emitted:

    def verify(target, draft, tokens, rng):
        ...
        return emitted, accepted

======================  ===========================================================================
argument                what it is (B rows of a batch, N draft tokens in each, V tokens)
======================  ===========================================================================
``target``              [B, N+1, V]: p after the context, and in row i+1 after draft token i
``draft``               [B, N, V]: in row i the q that draft token i was drawn from (a fixed draft
                        token: the point mass on it)
``tokens``              [B, N] int64: the draft tokens
``parents``             [B, N] int64: the draft token above draft token i, −1 for the root; always
                        below i, and siblings are to be tried in ascending order. Every row may have
                        a tree of its own, level by level or not. A subject that does not ask for it
                        is given chains only.
``lengths``             [B] int64: the first so many draft tokens of a row are real, the others
                        padding. A subject that does not ask for it is given full rows only.
``coins``               [B, N]: a uniform number in [0, 1) to test draft token i with (accept x if
                        coin · q(x) < p(x)); a rule that throws one coin for all siblings of a node
                        uses that of the first
``final``               [B]: a uniform number in [0, 1) to draw the last token with, by inverse
                        transform: the first token up to which the weights sum to more than
                        final · total
``seed``                an int from 0 to 2³¹ − 1, another one for every call
``rng``                 a ``numpy.random.Generator``, seeded for every call
``generator``           a ``torch.Generator`` on the subject's device, seeded for every call
======================  ===========================================================================

A function with ``**arguments`` is given all of these (``generator`` with torch only), and so trees, and
rows of different lengths. Of a ``torch.nn.Module`` the names are those of ``forward``.

Arrays are NumPy arrays or torch tensors, as the subject says. Probabilities have the subject's dtype;
coins are multiples of 2⁻²⁴ (2⁻⁵³ for float64) as engines draw them. All arrays but the probabilities
are copies, so that a subject that writes into them spoils nothing for others.

It returns ``(emitted, accepted)``: emitted [B, ≥ depth+1] integers of which the first accepted + 1 of
a row count, and accepted [B], how many draft tokens were accepted; or ``emitted`` alone, with −1 after
the last token of every row.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.rule import Rule
from losslesscheck.testing.batch import Batch, Emitted, IntArray, SubjectError, emitted
from losslesscheck.testing.errstate import callers
from losslesscheck.testing.message import wrapped
from losslesscheck.testing.options import whole

__all__ = ["ARGUMENTS", "Batch", "Emitted", "IntArray", "Library", "Subject", "SubjectError", "subject"]

Library = Literal["numpy", "torch"]

DTYPES = ("float16", "bfloat16", "float32", "float64")

ARGUMENTS = (
    "target",
    "draft",
    "tokens",
    "parents",
    "lengths",
    "coins",
    "final",
    "seed",
    "rng",
    "generator",
)
"""What a subject may ask for."""

FACTS = ("array", "dtype", "device", "batch")
"""What a subject says of itself, beside its function and its rule."""


@dataclass(frozen=True)
class Subject:
    """An implementation under test.

    Attributes:
        function: see the module for its arguments and what it returns.
        rule: the rule that it implements; ``None`` if that is said elsewhere.
        array: the library of its arrays.
        dtype: of its probabilities.
        device: of its tensors; ``"cpu"`` for NumPy. Whether it is there is seen when it is needed.
        batch: how many rows it is given at most at a time; ``None`` for a number that suits a CPU.

    Raises:
        InputError: for a class, arguments that there are not, or an unknown library or dtype.
    """

    function: Callable[..., Any]
    rule: Rule | None = None
    array: Library = "numpy"
    dtype: str = "float32"
    device: str = "cpu"
    batch: int | None = None

    def __post_init__(self) -> None:
        if self.array not in ("numpy", "torch"):
            raise InputError(f"array: {self.array!r} is neither numpy nor torch")
        if self.dtype not in DTYPES:
            raise InputError(f"dtype: {self.dtype!r} is none of {', '.join(DTYPES)}")
        if self.array == "numpy" and self.dtype == "bfloat16":
            raise InputError("dtype: NumPy has no bfloat16")
        if self.array == "numpy" and self.device != "cpu":
            raise InputError(f"device: NumPy's arrays are on the cpu, not on {self.device}")
        if self.batch is not None:
            whole("batch", self.batch)
        if inspect.isclass(self.function):
            raise InputError(f"subject: {self.name} is a class; hand in an instance, as {self.name}()")
        for needed in ("target", "tokens"):
            if needed not in self.takes:
                raise InputError(f"{self.name}: takes no argument {needed!r}")
        if self.array == "numpy" and "generator" in self.takes:
            raise InputError(f"{self.name}: generator is torch's; say array='torch', or ask for rng")

    @cached_property
    def takes(self) -> frozenset[str]:
        """The names of the arguments that it asks for."""
        if not callable(self.function):
            raise InputError(f"subject: {self.function!r} cannot be called")
        found = set()
        try:
            parameters = inspect.signature(_called(self.function)).parameters
        except ValueError:
            raise InputError(f"{self.name}: its arguments have no names; wrap it in a function") from None
        for name, parameter in parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                return frozenset(ARGUMENTS) - ({"generator"} if self.array == "numpy" else set())
            if name in ARGUMENTS and parameter.kind is not parameter.POSITIONAL_ONLY:
                found.add(name)
            elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
                raise InputError(
                    f"{self.name}: there is no argument {name!r} (there are: {', '.join(ARGUMENTS)})"
                )
        return frozenset(found)

    @property
    def name(self) -> str:
        """The function's name, or that of the class of a callable object."""
        qualified = str(getattr(self.function, "__qualname__", type(self.function).__name__))
        return qualified.rpartition("<locals>.")[2]

    @property
    def injected(self) -> bool:
        """Whether its coins can be injected, so that it is a function of its inputs."""
        return {"coins", "final"} <= self.takes and not self.takes & {"seed", "rng", "generator"}

    def require_device(self) -> None:
        """Raises an ``InputError`` if torch or the device is missing here."""
        if self.array != "torch" or "_device_found" in self.__dict__:
            return
        try:
            import torch

            torch.empty(0, device=self.device)
        except ImportError:
            raise InputError("array: torch is not installed") from None
        except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"device: there is no {self.device!r} here: {reason}") from None
        self.__dict__["_device_found"] = True  # so that a call costs nothing

    def __call__(self, batch: Batch) -> Emitted:
        """What it emits.

        Raises:
            InputError: if torch or the device is missing here.
            SubjectError: if it raises, or returns what is no outcome of the batch.
        """
        self.require_device()
        arguments = {name: self._argument(name, batch) for name in self.takes}
        try:
            with callers():
                returned = self.function(**arguments)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # SystemExit and pytest.skip too: they would end or hide a test
            said = f"{self.name} raised {type(error).__name__}: {error}\n  {batch.described(self.takes)}"
            raise SubjectError(wrapped(said)) from error
        try:
            return emitted(returned, batch)
        except SubjectError as error:
            said = f"{self.name}: {error}\n  {batch.described(self.takes, error.row)}"
            raise SubjectError(wrapped(said), error.row) from None

    def _argument(self, name: str, batch: Batch) -> Any:
        if name == "seed":
            return batch.seed
        if name == "rng":
            return np.random.default_rng(batch.seed)
        if name == "generator":
            import torch

            return torch.Generator(self.device).manual_seed(batch.seed)
        return self.to_library(getattr(batch, name), name)

    def to_library(self, values: npt.NDArray[Any], name: str) -> Any:
        """An array of a batch as the subject's library, dtype and device have it."""
        probabilities = name in ("target", "draft")
        if not probabilities or 0 in values.strides:
            values = np.array(values)
        if self.array == "numpy":
            return values.astype(self.dtype, copy=False) if probabilities else values
        import torch

        tensor = torch.from_numpy(values)
        return tensor.to(self.device, getattr(torch, self.dtype) if probabilities else None)

    def __getstate__(self) -> dict[str, Any]:
        """A rule is found again by its name: pickle cannot find its function, whose name the rule has."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        if (rule := self.rule) is not None:
            place = rule.function.__module__, rule.function.__qualname__
            found = getattr(sys.modules.get(place[0]), place[1], None)
            if isinstance(found, Rule) and replace(found, values=rule.values) == rule:
                state["rule"] = (*place, dict(rule.values))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state["rule"], tuple):
            module, name, values = state["rule"]
            found = getattr(importlib.import_module(module), name)
            state = {**state, "rule": replace(found, values=values)}
        self.__dict__.update(state)


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    """What is called in the end: of a ``torch.nn.Module``, which takes anything, its ``forward``."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(function, torch.nn.Module):
        forward: Callable[..., Any] = function.forward
        return forward
    return function


@overload
def subject(function: Callable[..., Any], /, **facts: Any) -> Subject: ...


@overload
def subject(**facts: Any) -> Callable[[Callable[..., Any]], Subject]: ...


def subject(
    function: Callable[..., Any] | None = None, /, *, rule: Any = None, **facts: Any
) -> Subject | Callable[[Callable[..., Any]], Subject]:
    """Makes a subject of a function; as a decorator too.

    Args:
        rule: what it implements: a rule, its name or ``file.py:function``.
        **facts: ``array``, ``dtype``, ``device``, ``batch``; see ``Subject``.

    Raises:
        InputError: for a bad argument.

    >>> @subject(rule="chain", dtype="float64")
    ... def verify(target, draft, tokens, coins, final):
    ...     ...
    >>> verify.injected, verify.rule.name
    (True, 'chain')
    """
    from losslesscheck import rules

    for name in facts:
        if name not in FACTS:
            close = get_close_matches(name, ("rule", *FACTS), n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise InputError(f"{name}: a subject has no such fact (it has: rule, {', '.join(FACTS)}){hint}")
    resolved = None if rule is None else rules.resolve(rule)
    if function is None:
        return lambda f: Subject(f, resolved, **facts)
    return Subject(function, resolved, **facts)
