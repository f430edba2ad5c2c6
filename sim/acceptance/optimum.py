"""The best that any lossless rule can do with the siblings of one node.

Given the law of the drafted siblings, a lossless rule couples them with one emitted token that follows the
target p; a draft is accepted if the token is one of the siblings. The largest probability of that, α*, is
the value of an optimal-transport linear program (Sun et al. 2023, SpecTr, arXiv 2310.15141). By duality
(max-flow = min-cut on siblings → tokens)

    α* = 1 + min over sets H of tokens of [p(H) − P(all siblings lie in H)],

the subset formula (Hu et al. 2025, arXiv 2502.18779). Only the *set* of distinct siblings matters.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from losslesscheck.errors import InputError
from losslesscheck.sim.acceptance import rows
from losslesscheck.sim.acceptance.prefixes import by_prefixes
from losslesscheck.sim.acceptance.rows import Row
from losslesscheck.sim.acceptance.sibling_sets import (
    SiblingSets,
    given,
    independent,
    without_replacement,
)

__all__ = [
    "SiblingSets",
    "by_linear_program",
    "by_prefixes",
    "by_subsets",
    "given",
    "independent",
    "without_replacement",
]

MOST_SUBSETS_OF = 18
"""The largest vocabulary of which all subsets are tried."""


def by_subsets(target: Row, siblings: SiblingSets) -> Fraction:
    """The subset formula for any law of the siblings, trying all subsets; exact.

    Raises:
        InputError: if the vocabulary is larger than 18, or a sibling lies outside it.
    """
    p = rows.exact_row("target", target)
    size = len(p)
    if size > MOST_SUBSETS_OF:
        raise InputError(
            f"target: {size} tokens have too many subsets; at most {MOST_SUBSETS_OF} are possible"
        )
    _check_sets(siblings, size)
    # One common denominator: sums of integers are an order of magnitude faster than sums of fractions.
    unit = lcm(*(x.denominator for x in (*p, *siblings.values())))
    weights = [0] * (1 << size)
    for those, chance in siblings.items():
        weights[sum(1 << t for t in those)] -= int(chance * unit)
    for token in range(size):
        weights[1 << token] += int(p[token] * unit)
    best = np.array(weights, dtype=object)  # p(H) and −P(all in H) are both sums over the subsets of H
    for token in range(size):
        halves = best.reshape(-1, 2, 1 << token)
        halves[:, 1] += halves[:, 0]
    return 1 + Fraction(int(best.min()), unit)


def by_linear_program(target: Row, siblings: SiblingSets) -> float:
    """α* by linear programming (HiGHS), up to its tolerance of about 1e-7.

    Maximise Σ π(S, y) over y in S, where the π(S, y) ≥ 0 of a set S sum to at most P(S), and those of a token
    y to at most p(y). (What is left over can always be coupled, without acceptance.)

    Raises:
        InputError: if a sibling lies outside the vocabulary.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    p = rows.float_row("target", target)
    _check_sets(siblings, len(p))
    pairs = [(number, token) for number, those in enumerate(siblings) for token in sorted(those)]
    sets, tokens = np.array(pairs).T
    columns = np.arange(len(pairs))
    limits = np.concatenate(([float(chance) for chance in siblings.values()], p))
    matrix = coo_array(
        (
            np.ones(2 * len(pairs)),
            (np.concatenate((sets, len(siblings) + tokens)), np.concatenate((columns, columns))),
        ),
        shape=(len(limits), len(pairs)),
    ).tocsr()
    solution = linprog(-np.ones(len(pairs)), A_ub=matrix, b_ub=limits, method="highs")
    if not solution.success:
        raise RuntimeError(f"HiGHS: {solution.message}")
    return -float(solution.fun)


def _check_sets(siblings: SiblingSets, vocabulary: int) -> None:
    for those in siblings:
        for token in those:
            if not 0 <= token < vocabulary:
                raise InputError(f"siblings: token {token} is outside a vocabulary of {vocabulary}")
