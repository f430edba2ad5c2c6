"""Closed forms for chains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from operator import mul

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import rows
from losslesscheck.sim.acceptance.base import check_count, probability, vector
from losslesscheck.sim.acceptance.rows import Row, Rows
from losslesscheck.sim.tokens.closed_forms.numbers import MOST_PATHS, Number, number, one_plus, pair


def chain(alpha: Number, *, draft_length: int) -> Number:
    """Tokens of a chain whose draft tokens are accepted with α each, independently:
    (1 − α^(γ+1)) / (1 − α), and γ + 1 for α = 1 (Leviathan et al. 2023, arXiv 2211.17192, Eq. 1).

    Raises:
        InputError: if ``alpha`` is not in [0, 1] or the draft length is negative.

    >>> chain(Fraction(4, 5), draft_length=4)
    Fraction(2101, 625)
    """
    probability("alpha", alpha)
    check_count("draft_length", draft_length)
    if alpha == 1:
        return alpha * (draft_length + 1)
    if isinstance(alpha, Fraction):
        return (1 - alpha ** (draft_length + 1)) / (1 - alpha)
    if alpha == 0:
        return 1.0
    return -math.expm1((draft_length + 1) * math.log(alpha)) / (1 - alpha)  # exact near α = 1 too


def oracle(alpha: Number) -> Number:
    """Tokens if drafting always stops right before the token that would be rejected: 1 / (1 − α)
    (Leviathan et al. 2023, Sec. 3.5).

    Raises:
        InputError: if ``alpha`` is not in [0, 1); at 1 drafting never stops.
    """
    probability("alpha", alpha)
    if alpha == 1:
        raise InputError("alpha: 1 has no finite number of tokens")
    return 1 / (1 - alpha)


def by_position(alphas: Sequence[Number]) -> Number:
    """Tokens of a chain from the conditional acceptance of every position: 1 + Σᵢ Πⱼ≤ᵢ αⱼ.

    For equal αⱼ this is Eq. 1 of Leviathan et al. 2023. With αⱼ the probability that some sibling is accepted
    at depth j it holds for a token tree whose nodes at one depth are alike. It is also Stern et al. 2018
    (arXiv 1811.03115), Sec. 3, with αⱼ the probability that the j-th head agrees with greedy decoding given
    that the heads before did.

    Raises:
        InputError: if there are no positions, or a number is not in [0, 1].

    >>> by_position([Fraction(3, 4), Fraction(1, 2)])
    Fraction(17, 8)
    """
    for place, alpha in enumerate(vector("alphas", alphas)):
        probability(f"alphas[{place}]", alpha)
    return one_plus(accumulate(alphas, mul))


def overlap(target: Row, draft: Row) -> Number:
    """β = Σ min(p, q) = 1 − TV(p, q), the acceptance of one draft token (Leviathan et al. 2023, Thm 3.5)."""
    p, q = pair(target, draft)
    return number(np.minimum(p, q).sum())


def block_verification(target: Rows, draft: Rows, *, draft_length: int) -> tuple[Fraction, ...]:
    """P(at least i draft tokens are accepted) = E[pᵢ], i = 1 … γ, under block verification, with p₀ = 1 and
    pᵢ = min(1, pᵢ₋₁ p(xᵢ)/q(xᵢ)) along a path x drawn from the draft (Sun et al. 2024, arXiv 2403.10444,
    Alg. 2); tokens are 1 + Σᵢ E[pᵢ].

    The expectation runs over all draft paths, exactly (floats are taken as the fractions that they are).

    Raises:
        InputError: if rows or vocabularies do not fit, or there are more than 200,000 paths to follow.
    """
    check_count("draft_length", draft_length)
    p, q = rows.pair(target, draft)
    assert q is not None
    anonymous = rows.by_position(target) and rows.by_position(draft)
    too_many = InputError(f"draft_length: {draft_length} makes more than {MOST_PATHS} draft paths")
    if not anonymous and p.vocabulary**draft_length > MOST_PATHS:
        raise too_many
    expected = []
    start: tuple[int, ...] = ()
    states = {(start, Fraction(1)): Fraction(1)}  # (context, pᵢ) → probability
    for position in range(draft_length):
        if len(states) * p.vocabulary > MOST_PATHS:
            raise too_many
        longer: dict[tuple[tuple[int, ...], Fraction], Fraction] = {}
        for (context, weight), chance in states.items():
            here = (0,) * position if anonymous else context
            pairs = zip(p.exact(here), q.exact(here), strict=True)
            for token, (a, b) in enumerate(pairs):
                if b:
                    state = () if anonymous else (*context, token), min(Fraction(1), weight * a / b)
                    longer[state] = longer.get(state, Fraction(0)) + chance * b
        states = longer
        expected.append(sum((weight * chance for (_, weight), chance in states.items()), Fraction(0)))
    return tuple(expected)


def greedy(target: Rows, draft: Rows, *, draft_length: int) -> int:
    """Tokens of greedy verification of the draft's own greedy path: one more than the number of leading
    places at which the two likeliest tokens agree (Stern et al. 2018, arXiv 1811.03115, Sec. 3; ties go to
    the lower token).

    Raises:
        InputError: if rows or vocabularies do not fit.
    """
    check_count("draft_length", draft_length)
    p, q = rows.pair(target, draft)
    assert q is not None
    context: tuple[int, ...] = ()
    while len(context) < draft_length:
        best = [max(range(p.vocabulary), key=m.exact(context).__getitem__) for m in (p, q)]
        if best[0] != best[1]:
            break
        context = (*context, best[0])
    return len(context) + 1
