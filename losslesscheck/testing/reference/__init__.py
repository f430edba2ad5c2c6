"""Reference subjects: every rule of the library, in NumPy and in torch.

They are written from the papers and the kernels, not from the rules' texts, vectorised over the batch.
Acceptance and draws are the same everywhere:

- a draft token x is accepted iff coin · q(x) < p(x): a token of probability 0 never is;
- a token is drawn by inverse transform in index order: the first one up to which the weights sum to
  more than coin · total, and the last one of positive weight if rounding leaves none;
- weights that are all zero give way to the target's own; rounding makes them, or a draft token that q
  does not have;
- draft tokens beyond a row's length are not looked at;
- the outcome of a row does not depend, to the last bit, on the rows beside it or on the library.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from losslesscheck.errors import InputError
from losslesscheck.rule import Rule
from losslesscheck.testing.reference import paths, trees
from losslesscheck.testing.subject import Library, Subject

VERIFIERS: dict[str, Callable[..., Any]] = {
    "blockwise": paths.blockwise,
    "chain": paths.chain,
    "chain_kernel": paths.chain_kernel,
    "block_verification": paths.block_verification,
    "specinfer": trees.specinfer,
    "without_replacement": trees.without_replacement,
    "point_mass": trees.point_mass,
    "target_only": trees.target_only,
    "standalone": trees.target_only,
    "naive_sampling": trees.naive_sampling,
    "tree_greedy": trees.tree_greedy,
}
"""What verifies the drafts of each rule; its keyword-only arguments are parameters of the rule."""

COINS = ("coins", "final")


class Reference:
    """The function of a reference subject.

    Args:
        verify: one of ``VERIFIERS``.
        settings: its keyword-only arguments.
        source: the argument that coins are drawn from, ``rng`` or ``generator``; ``None`` if they are
            handed in.
    """

    def __init__(
        self, name: str, verify: Callable[..., Any], settings: dict[str, Any], source: str | None
    ) -> None:
        self.verify, self.settings, self.source = verify, settings, source
        self.__qualname__ = f"reference.{name}"
        arguments = [p for p in inspect.signature(verify).parameters.values() if p.kind is not p.KEYWORD_ONLY]
        if not any(p.name in COINS for p in arguments):
            self.source = None
        if self.source is not None:
            arguments = [p for p in arguments if p.name not in COINS]
            arguments.append(inspect.Parameter(self.source, inspect.Parameter.POSITIONAL_OR_KEYWORD))
        self.__signature__ = inspect.Signature(arguments)

    def __call__(self, **arguments: Any) -> Any:
        if self.source is not None:
            source, target, tokens = arguments.pop(self.source), arguments["target"], arguments["tokens"]
            arguments["coins"] = uniform(source, tokens.shape, target)
            arguments["final"] = uniform(source, tokens.shape[:1], target)
        return self.verify(**arguments, **self.settings)


def uniform(source: Any, shape: tuple[int, ...], like: Any) -> Any:
    """Numbers in [0, 1) from a ``numpy.random.Generator`` or a ``torch.Generator``."""
    if hasattr(source, "random"):
        return source.random(shape, dtype=like.dtype)
    import torch

    return torch.rand(shape, generator=source, dtype=like.dtype, device=like.device)


def subject(
    rule: Rule | str,
    *,
    array: Library = "numpy",
    dtype: str = "float32",
    device: str = "cpu",
    seeded: bool = False,
) -> Subject:
    """The reference subject of a rule.

    Args:
        rule: a rule of the library or its name; parameters are those that it is bound to.
        array: ``"numpy"`` or ``"torch"``.
        dtype: ``"float32"`` or ``"float64"``.
        seeded: it draws its coins itself, from ``rng`` (NumPy) or ``generator`` (torch), instead of
            being handed ``coins`` and ``final``. Greedy rules have none either way.

    Raises:
        InputError: for a rule that is not the library's, another dtype, or what ``Subject`` refuses.

    >>> chain = subject("chain", dtype="float64")
    >>> sorted(chain.takes), chain.injected
    (['coins', 'draft', 'final', 'lengths', 'target', 'tokens'], True)
    """
    from losslesscheck import rules

    rule = rules.resolve(rule)
    if rule.name not in VERIFIERS or rules.get(rule.name).function is not rule.function:
        raise InputError(f"rule: there is no reference for {rule.name} (there are: {', '.join(VERIFIERS)})")
    if dtype not in ("float32", "float64"):
        raise InputError(f"dtype: {dtype!r}, but references compute in float32 and float64")
    verify = VERIFIERS[rule.name]
    settings = {
        name: float(value) if isinstance(value, Fraction) else value
        for name, value in rule.settings.items()
        if name in inspect.signature(verify).parameters
    }
    source = {"numpy": "rng", "torch": "generator"}.get(array) if seeded else None
    return Subject(Reference(rule.name, verify, settings, source), rule, array, dtype, device)
