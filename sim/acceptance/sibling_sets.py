"""The law of the set of distinct siblings of a node: all that an optimal rule needs to know of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import rows
from losslesscheck.sim.acceptance.base import check_count, finite
from losslesscheck.sim.acceptance.rows import Row

MOST_SETS = 200_000
"""The largest number of different sets of siblings."""

SiblingSets = Mapping[frozenset[int], Fraction]
"""The law of the set of distinct siblings of a node."""


def independent(draft: Row, *, width: int) -> SiblingSets:
    """The law of the set of ``width`` siblings drawn i.i.d. from the draft.

    Raises:
        InputError: if the row is no distribution, or there are more than 200,000 sets.
    """
    q, width = _drawn(draft, width)
    laws: dict[frozenset[int], Fraction] = {frozenset(): Fraction(1)}
    for _ in range(width):
        laws = _collect((s | {t}, chance * q[t]) for s, chance in laws.items() for t in range(len(q)))
    return laws


def without_replacement(draft: Row, *, width: int) -> SiblingSets:
    """The law of the set of ``width`` siblings drawn without replacement: after each draw q(x) ← 0, and q is
    renormalised (when its support is used up: uniform over the untried).

    Raises:
        InputError: as ``independent`` does; and if there are fewer tokens than siblings.
    """
    q, width = _drawn(draft, width)
    if width > len(q):
        raise InputError(f"width: {width} siblings without replacement, but there are {len(q)} tokens")
    laws: dict[frozenset[int], Fraction] = {frozenset(): Fraction(1)}
    for _ in range(width):
        laws = _collect(
            (s | {t}, chance * weight) for s, chance in laws.items() for t, weight in _untried(q, s)
        )
    return laws


def given(siblings: Mapping[Sequence[int], Fraction | float]) -> SiblingSets:
    """The law of the set of siblings, from any joint law of their tokens.

    Raises:
        InputError: if it is empty, a probability is negative or not finite, or they do not sum to 1 (to
            within 1e-5; they are divided by their sum).
    """
    if not siblings:
        raise InputError("siblings: there are none")
    weighted = []
    for those, chance in siblings.items():
        if finite(f"siblings[{those}]", chance) < 0:
            raise InputError(f"siblings[{those}]: {chance} is negative")
        if not those:
            raise InputError("siblings: a node without siblings accepts nothing")
        weighted.append((frozenset(those), Fraction(chance)))
    total = sum((chance for _, chance in weighted), Fraction(0))
    if abs(total - 1) > Fraction(1, 10**5):
        raise InputError(f"siblings: the probabilities sum to {float(total):.6g}, not to 1")
    return _collect((those, chance / total) for those, chance in weighted)


def _drawn(draft: Row, width: int) -> tuple[list[Fraction], int]:
    check_count("width", width, 1)
    q = rows.exact_row("draft", draft)
    if sum(comb(len(q), k) for k in range(1, min(width, len(q)) + 1)) > MOST_SETS:
        raise InputError(f"width: {width} siblings of {len(q)} tokens make more than {MOST_SETS} sets")
    return q, width


def _untried(q: list[Fraction], tried: frozenset[int]) -> list[tuple[int, Fraction]]:
    rest = [t for t in range(len(q)) if t not in tried]
    mass = sum((q[t] for t in rest), Fraction(0))
    return [(t, q[t] / mass if mass else Fraction(1, len(rest))) for t in rest]


def _collect(weighted: Iterable[tuple[frozenset[int], Fraction]]) -> dict[frozenset[int], Fraction]:
    law: dict[frozenset[int], Fraction] = {}
    for those, chance in weighted:
        if chance:
            law[those] = law.get(those, Fraction(0)) + chance
    return law
