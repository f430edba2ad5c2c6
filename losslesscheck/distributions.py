"""Distributions that come from real models: a file of them, and a rule's exact law on them.

A file holds, for a number of prompts (cases), what target and draft said along one drafted path:

- ``target`` [cases, γ+1, V]: the target's next-token distribution after 0, 1, …, γ draft tokens;
- ``draft`` [cases, γ, V]: the draft's, at the same places but the last;
- ``draft_tokens`` [cases, γ]: the tokens of the path;
- ``prompt`` [cases]: text, for a person to read; may be left out.

Floats are taken as the exact numbers that they are. A row whose sum is off by no more than 1e-5 is
divided by its exact sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck import npz
from losslesscheck.errors import InputError
from losslesscheck.machines.wide import IntegerRow, node_law
from losslesscheck.model import Model
from losslesscheck.rule import Rule


@dataclass(frozen=True, slots=True)
class Normalised:
    """What was divided by its sum.

    Attributes:
        rows: how many rows do not sum to one (their exact sum, rounded to a float64).
        largest: the largest deviation of a sum from one.
    """

    rows: int
    largest: float


@dataclass(frozen=True, eq=False)
class Distributions:
    """Target and draft distributions along drafted paths; see the module for what they are.

    Attributes:
        target: shape [cases, γ+1, V], as in the file.
        draft: shape [cases, γ, V].
        draft_tokens: shape [cases, γ], int64.
        prompts: one for each case, or none.
        normalised: which rows did not sum to exactly one.
        warnings: what is odd about the file though it can be analysed, one line each.
    """

    target: npt.NDArray[Any]
    draft: npt.NDArray[Any]
    draft_tokens: npt.NDArray[np.int64]
    prompts: tuple[str, ...] = ()
    normalised: Normalised = field(default_factory=lambda: Normalised(0, 0.0))
    warnings: tuple[str, ...] = ()

    @property
    def cases(self) -> int:
        return int(self.target.shape[0])

    @property
    def length(self) -> int:
        """The draft length γ."""
        return int(self.draft.shape[1])

    @property
    def vocabulary(self) -> int:
        return int(self.target.shape[2])

    def models(self, case: int) -> tuple[Model, Model]:
        """Target and draft of a case as models in which only the position counts."""
        return (
            Model.positions(self.target[case].astype(np.float64), "target"),
            Model.positions(self.draft[case].astype(np.float64), "draft"),
        )

    def target_row(self, case: int, position: int) -> IntegerRow:
        """The target's exact row after ``position`` draft tokens."""
        return IntegerRow.from_floats(self.target[case, position], f"target[{case}, {position}]")

    def draft_row(self, case: int, position: int) -> IntegerRow:
        """The draft's exact row after ``position`` draft tokens."""
        return IntegerRow.from_floats(self.draft[case, position], f"draft[{case}, {position}]")


@dataclass(frozen=True)
class PositionResult:
    """A rule's exact law at one position of a drafted path, given that the path was accepted so far.

    Attributes:
        case: which case of the file.
        position: how many draft tokens come before; at γ the bonus token is drawn.
        token: the draft token there; ``None`` for the bonus token.
        holds: whether the next token follows the target's row exactly.
        tv: total variation between the next token's law and the target's row.
        acceptance: probability that a draft token is accepted here (Σ min(p, q) for ``chain``);
            zero for the bonus token.
        token_acceptance: probability that ``token`` is accepted once it is drafted; ``None`` for the
            bonus token, and for a token that the draft's row says it never drafts.
        differs_at: how many tokens have another probability than the target's.
        undefined: probability of reaching an undefined value.
    """

    case: int
    position: int
    token: int | None
    holds: bool
    tv: Fraction
    acceptance: Fraction
    token_acceptance: Fraction | None
    differs_at: int
    undefined: Fraction

    @cached_property
    def is_bonus(self) -> bool:
        return self.token is None


def load(path: str | Path) -> Distributions:
    """Reads and checks a file of distributions.

    Raises:
        InputError: naming the file, or the array, the index and the value that is bad.
    """
    arrays = npz.read(Path(path), ("target", "draft", "draft_tokens"), ("prompt",))
    target = npz.array(arrays, "target", "[cases, γ+1, V]", 3, "fiu")
    draft = npz.array(arrays, "draft", "[cases, γ, V]", 3, "fiu")
    tokens = npz.array(arrays, "draft_tokens", "[cases, γ]", 2, "iu")
    cases, positions, vocabulary = target.shape
    wanted = (cases, positions - 1, vocabulary)
    if draft.shape != wanted:
        raise InputError(
            f"draft: shape {list(draft.shape)} does not fit target's {list(target.shape)}: "
            f"expected {list(wanted)}"
        )
    if tokens.shape != wanted[:2]:
        raise InputError(
            f"draft_tokens: shape {list(tokens.shape)} does not fit draft's {list(draft.shape)}: "
            f"expected {list(wanted[:2])}"
        )
    prompts: tuple[str, ...] = ()
    if "prompt" in arrays:
        texts = npz.array(arrays, "prompt", "[cases]", 1, "US")
        if len(texts) != cases:
            raise InputError(f"prompt: {len(texts)} entries for {cases} cases")
        prompts = tuple(
            text.decode(errors="replace") if isinstance(text, bytes) else text for text in texts.tolist()
        )
    deviations = [*npz.deviations(target, "target"), *npz.deviations(draft, "draft")]
    outside = (tokens < 0) | (tokens >= vocabulary)
    if outside.any():
        case, position = map(int, np.argwhere(outside)[0])
        raise InputError(
            f"draft_tokens[{case}, {position}] = {tokens[case, position]} is outside a vocabulary of "
            f"{vocabulary}"
        )
    off = [deviation for deviation in deviations if deviation != 0]
    return Distributions(
        target,
        draft,
        tokens.astype(np.int64),
        prompts,
        Normalised(len(off), max(off, default=0.0)),
        tuple(
            f"draft_tokens[{case}, {position}] = {token}: its draft probability is 0, so it was not "
            "drawn from that row"
            for (case, position), token in np.ndenumerate(tokens)
            if draft[case, position, token] == 0
        ),
    )


def analyse(
    rule: Rule, distributions: Distributions, progress: Callable[[int, int], None] = lambda done, total: None
) -> list[PositionResult]:
    """The rule's exact next-token law at every position of every drafted path, bonus tokens included.

    A rule that draws its tokens gets one draft token from the draft's row; a rule for fixed tokens
    gets the drafted token. The list is empty for a rule that decides on a whole path at once, which
    has no law position by position.

    Args:
        progress: called with the number of positions done and the number of all.

    Raises:
        RuleError: if the rule does what no rule may do.
        Undecided: if the rule's law at a position cannot be computed exactly.
    """
    results: list[PositionResult] = []
    if rule.form == "whole":
        return results
    total = distributions.cases * (distributions.length + 1)
    for case in range(distributions.cases):
        for position in range(distributions.length + 1):
            progress(len(results), total)
            results.append(_analyse(rule, distributions, case, position))
    progress(total, total)
    return results


def tokens_per_step(results: list[PositionResult]) -> list[Fraction]:
    """For every case, the expected number of tokens that one draft-and-verify step emits.

    1 + Σᵢ Πⱼ≤ᵢ αⱼ with the acceptance αⱼ of position j, as if the rows of the drafted path held
    whichever tokens are accepted on the way.
    """
    expected: dict[int, Fraction] = {}
    reached: dict[int, Fraction] = {}
    for result in results:
        reached[result.case] = reached.get(result.case, Fraction(1)) * result.acceptance
        expected[result.case] = expected.get(result.case, Fraction(1)) + reached[result.case]
    return list(expected.values())


def _analyse(rule: Rule, distributions: Distributions, case: int, position: int) -> PositionResult:
    target = distributions.target_row(case, position)
    draft, token, chance = None, None, Fraction(1)
    siblings: int | list[int] = [] if rule.fixed_tokens else 0
    if position < distributions.length:
        token = int(distributions.draft_tokens[case, position])
        if rule.fixed_tokens:
            siblings = [token]
        else:
            draft, siblings = distributions.draft_row(case, position), 1
            chance = draft[token]
    law = node_law(rule, target, draft, siblings)
    return PositionResult(
        case=case,
        position=position,
        token=token,
        holds=law.holds,
        tv=law.tv,
        acceptance=law.acceptance,
        token_acceptance=None if token is None or chance == 0 else law.accepted[token] / chance,
        differs_at=len(law.differs_at),
        undefined=law.undefined,
    )
