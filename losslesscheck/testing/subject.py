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
                        below i, and siblings are to be tried in ascending order. A subject that
                        does not ask for it is given chains only.
``lengths``             [B] int64: the first so many draft tokens of a row are real, the others
                        padding. A subject that does not ask for it is given full rows only.
``coins``               [B, N]: a uniform number in [0, 1) to test draft token i with (accept x if
                        coin · q(x) < p(x)); a rule that throws one coin for all siblings of a node
                        uses that of the first
``final``               [B]: a uniform number in [0, 1) to draw the last token with, by inverse
                        transform: the first token up to which the weights sum to more than
                        final · total
``seed``                an int from 0 to 2⁶³ − 1, another one for every call
``rng``                 a ``numpy.random.Generator``, seeded for every call
``generator``           a ``torch.Generator`` on the subject's device, seeded for every call
======================  ===========================================================================

Arrays are NumPy arrays or torch tensors, as the subject says. Probabilities have the subject's dtype;
coins are multiples of 2⁻²⁴ (2⁻⁵³ for float64) as engines draw them.

It returns ``(emitted, accepted)``: emitted [B, ≥ depth+1] integers of which the first accepted + 1 of
a row count, and accepted [B], how many draft tokens were accepted; or ``emitted`` alone, with −1 after
the last token of every row.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError, LosslesscheckError
from losslesscheck.rule import Rule

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

IntArray = npt.NDArray[np.int64]


class SubjectError(LosslesscheckError, AssertionError):
    """An implementation did what none may do: it raised, or returned what is no outcome of a batch.

    Attributes:
        row: the row of the batch that shows it, or ``None``.
    """

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


@dataclass(frozen=True, eq=False)
class Batch:
    """B draft-and-verify steps to be verified in one call; see the module for the arrays.

    Probabilities are float32 or float64 arrays that hold values of the subject's dtype exactly.
    """

    target: npt.NDArray[Any]
    draft: npt.NDArray[Any]
    tokens: IntArray
    parents: IntArray
    lengths: IntArray
    coins: npt.NDArray[Any]
    final: npt.NDArray[Any]
    seed: int

    @property
    def size(self) -> int:
        """The number of rows B."""
        return int(self.target.shape[0])

    @property
    def vocabulary(self) -> int:
        return int(self.target.shape[2])

    def rows(self, chosen: Any) -> Batch:
        """The batch of the rows that an index array or a slice chooses."""
        return Batch(
            self.target[chosen],
            self.draft[chosen],
            self.tokens[chosen],
            self.parents[chosen],
            self.lengths[chosen],
            self.coins[chosen],
            self.final[chosen],
            self.seed,
        )


@dataclass(frozen=True, eq=False)
class Emitted:
    """What was emitted in a batch.

    Attributes:
        tokens: shape [B, L], int64, −1 after the last token of every row.
        accepted: shape [B], int64; the row has one token more than that.
    """

    tokens: IntArray
    accepted: IntArray


@dataclass(frozen=True)
class Subject:
    """An implementation under test.

    Attributes:
        function: see the module for its arguments and what it returns.
        rule: the rule that it implements; ``None`` if that is said elsewhere.
        array: the library of its arrays.
        dtype: of its probabilities.
        device: of its tensors; ``"cpu"`` for NumPy.
        batch: how many rows it is given at most at a time; ``None`` for a number that suits a CPU.

    Raises:
        InputError: for arguments that there are not, or an unknown library or dtype.
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
        if self.batch is not None and self.batch < 1:
            raise InputError(f"batch: {self.batch} is not positive")
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
            parameters = inspect.signature(self.function).parameters
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
        return str(getattr(self.function, "__qualname__", type(self.function).__name__))

    @property
    def injected(self) -> bool:
        """Whether its coins can be injected, so that it is a function of its inputs."""
        return {"coins", "final"} <= self.takes and not self.takes & {"seed", "rng", "generator"}

    def __call__(self, batch: Batch) -> Emitted:
        """What it emits.

        Raises:
            SubjectError: if it raises, or returns what is no outcome of the batch.
        """
        arguments = {name: self._argument(name, batch) for name in self.takes}
        try:
            returned = self.function(**arguments)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # SystemExit and pytest.skip too: they would end or hide a test
            raise SubjectError(
                f"{self.name} raised {type(error).__name__}: {error} ({described(batch)})"
            ) from error
        try:
            return emitted(returned, batch)
        except SubjectError as error:
            raise SubjectError(f"{self.name}: {error} ({described(batch, error.row)})", error.row) from None

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
        if self.array == "numpy":
            return values.astype(self.dtype, copy=False) if probabilities else values
        import torch

        tensor = torch.from_numpy(np.array(values) if 0 in values.strides else values)
        return tensor.to(self.device, getattr(torch, self.dtype) if probabilities else None)


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

    resolved = None if rule is None else rules.resolve(rule)
    if function is None:
        return lambda f: Subject(f, resolved, **facts)
    return Subject(function, resolved, **facts)


def emitted(returned: Any, batch: Batch) -> Emitted:
    """What a subject returned, checked.

    Raises:
        SubjectError: naming the row, if it is no outcome of the batch.
    """
    length = None
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise SubjectError(f"returned {len(returned)} things, not (emitted, accepted)")
        returned, length = returned
    tokens = _integers(returned, "emitted")
    if tokens.ndim != 2 or len(tokens) != batch.size or tokens.shape[1] == 0:
        raise SubjectError(f"emitted has shape {list(tokens.shape)}, not [{batch.size}, ≥ 1]")
    if length is None:
        inside = np.logical_and.accumulate(tokens >= 0, axis=1)
        accepted = inside.sum(axis=1) - 1
        _refuse(tokens < -1, tokens, batch, "is neither a token nor −1")
        _refuse((tokens >= 0) & ~inside, tokens, batch, "stands after a −1")
    else:
        accepted = _integers(length, "accepted")
        if accepted.shape != (batch.size,):
            raise SubjectError(f"accepted has shape {list(accepted.shape)}, not [{batch.size}]")
    most = np.minimum(batch.lengths, tokens.shape[1] - 1)
    wrong = (accepted < 0) | (accepted > most)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SubjectError(
            f"row {row} has {batch.lengths[row]} draft tokens, but {accepted[row]} accepted "
            f"and room for {tokens.shape[1]} tokens",
            row,
        )
    columns = int(batch.tokens.shape[1]) + 1
    tokens = tokens[:, :columns]
    if length is not None:
        tokens = np.where(np.arange(tokens.shape[1]) <= accepted[:, None], tokens, -1)
        _refuse(
            (tokens < 0) & (np.arange(tokens.shape[1]) <= accepted[:, None]), tokens, batch, "is no token"
        )
    _refuse(tokens >= batch.vocabulary, tokens, batch, f"is outside a vocabulary of {batch.vocabulary}")
    return Emitted(tokens, accepted)


def described(batch: Batch, row: int | None = None) -> str:
    """The shapes of a batch, and what decides on a row of it, for an error message."""
    rows, drafts = batch.tokens.shape
    shapes = f"batch of {rows} rows with {drafts} draft tokens, V = {batch.vocabulary}"
    if row is None:
        return shapes
    return (
        f"{shapes}; row {row}: draft tokens {batch.tokens[row].tolist()}, "
        f"coins {batch.coins[row].tolist()}, final {batch.final[row].item()}, seed {batch.seed}"
    )


def _integers(values: Any, name: str) -> IntArray:
    try:
        if hasattr(values, "detach"):  # a tensor, on whatever device
            values = values.detach().cpu().numpy()
        array = np.asarray(values)
    except Exception as error:
        raise SubjectError(f"{name} cannot be read as an array: {type(error).__name__}: {error}") from error
    if array.dtype.kind not in "iu":
        raise SubjectError(f"{name} holds {array.dtype}, not integers")
    return array.astype(np.int64)  # a copy: the subject may use its buffer again


def _refuse(wrong: npt.NDArray[np.bool_], tokens: IntArray, batch: Batch, what: str) -> None:
    if wrong.any():
        row, place = map(int, np.argwhere(wrong)[0])
        raise SubjectError(f"emitted[{row}, {place}] = {tokens[row, place]} {what}", row)
