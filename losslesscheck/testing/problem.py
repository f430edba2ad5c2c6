"""Problems: a rule, models and a token tree, on which a subject is run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.instances import ContextRows, Instance, uses_draft
from losslesscheck.machines.monte_carlo import expected_rows
from losslesscheck.model import Model
from losslesscheck.rule import Rule
from losslesscheck.tree import Tree

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """What a subject is run on.

    Attributes:
        name: how reports call it.
        rule: the rule that the subject is said to implement, which also says how drafts are made.
        target, draft: models over the same vocabulary; ``draft`` is ``None`` where the rule fixes
            the draft tokens.
        tree: the token tree, with its tokens where they are fixed.
        ragged: the rows of a batch have different numbers of draft tokens, from none to all.
    """

    name: str
    rule: Rule
    target: Model
    draft: Model | None
    tree: Tree
    ragged: bool = False

    def __post_init__(self) -> None:
        if self.draft is not None and self.draft.vocabulary != self.target.vocabulary:
            raise InputError(
                f"draft: a vocabulary of {self.draft.vocabulary}, the target has {self.target.vocabulary}"
            )

    @property
    def vocabulary(self) -> int:
        return self.target.vocabulary

    def rounded(self, dtype: str) -> Problem:
        """The problem as a subject sees it whose probabilities are of this dtype.

        Raises:
            InputError: for a row whose rounded sum is off by more than 1e-5: whoever is handed that has
                no distribution to follow.
        """
        draft = None if self.draft is None else _rounded(self.draft, dtype)
        return replace(self, target=_rounded(self.target, dtype), draft=draft)

    @cached_property
    def expected(self) -> FloatArray:
        """The law of the next token, for every row of the target, shape [R, V].

        For a greedy rule the point mass on the first of the likeliest tokens.
        """
        return expected_rows(self.target, self.rule.greedy)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all that the laws of drafts and emitted tokens depend on."""
        models = [self.target] if self.draft is None else [self.target, self.draft]
        text = json.dumps(
            {
                "rule": self.rule.hash,
                "parameters": {name: str(value) for name, value in self.rule.settings.items()},
                "tree": str(self.tree),
                "ragged": self.ragged,
                "rows": [hashlib.sha256(m.floats.tobytes()).hexdigest() for m in models],
                "contexts": [_fingerprint(m, self.tree.depth) for m in models],
            }
        )
        return hashlib.sha256(text.encode()).hexdigest()


def of_instance(rule: Rule, instance: Instance, name: str = "") -> Problem:
    """The problem that an exact instance poses: its rows as float64."""
    return Problem(
        name or f"V = {instance.vocabulary}",
        rule,
        by_context(instance.target, "target"),
        by_context(instance.draft, "draft") if uses_draft(rule) else None,
        instance.tree,
    )


def by_context(rows: ContextRows, name: str = "model") -> Model:
    """The model with these rows by context; the row at () serves every context that is not listed.

    It answers single contexts and lanes of them, see ``Model``.

    Raises:
        InputError: naming the row that is no distribution.
    """
    listed = [(), *(context for context in rows if context)]

    def index(context: tuple[Any, ...]) -> Any:
        number: Any = 0
        for place, tokens in enumerate(listed):
            if tokens and len(tokens) == len(context):
                same: Any = True
                for token, wanted in zip(context, tokens, strict=True):
                    same = same & (token == wanted)
                number = number + place * same  # no two of the listed contexts are the same
        return number

    return Model([list(rows[context]) for context in listed], index, name)


def _fingerprint(model: Model, depth: int) -> str:
    """Which rows apply after a fixed sample of contexts."""
    rng = np.random.default_rng(0)
    found = [int(model.index(()))]
    for length in range(1, depth + 1):
        tokens = rng.integers(model.vocabulary, size=(length, 256))
        rows = np.broadcast_to(model.index(tuple(tokens)), 256)
        found += rows.tolist()
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def _rounded(model: Model, dtype: str) -> Model:
    rows = round_to(model.floats, dtype)
    off = np.abs(rows.sum(axis=1) - 1)
    if off.max() > 1e-5:
        row = int(off.argmax())
        raise InputError(
            f"{model.name}[{row}] sums to {rows[row].sum():.6g} in {dtype}; "
            "take rows that are exact in it, such as multiples of 1/256"
        )
    return Model(rows, model.index, model.name)


def round_to(values: FloatArray, dtype: str) -> FloatArray:
    """The nearest numbers of a dtype, as float64.

    >>> round_to(np.array([1 / 3]), "bfloat16").tolist()
    [0.333984375]
    """
    if dtype != "bfloat16":
        return values.astype(dtype).astype(np.float64)
    bits = values.astype(np.float32).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    kept = (bits + np.uint32(0x7FFF) + odd) & np.uint32(0xFFFF0000)
    return kept.view(np.float32).astype(np.float64)
