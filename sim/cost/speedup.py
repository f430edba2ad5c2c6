"""Speedup and operations from c and ĉ alone (Leviathan, Kalman and Matias 2023, arXiv 2211.17192).

c is the time of a draft pass over the time of a target pass, ĉ the same ratio for arithmetic operations.
Numbers or arrays that broadcast; ``exact`` has the same formulas in fractions.
"""

from __future__ import annotations

import numpy.typing as npt

from losslesscheck.sim.cost.checks import Figures, figures, plain


def speedup(
    tokens_per_step: npt.ArrayLike,
    *,
    draft_length: npt.ArrayLike,
    c: npt.ArrayLike,
    verify: npt.ArrayLike = 1.0,
) -> Figures:
    """Wall-clock speedup over decoding one token at a time: tokens / (γ c + t).

    Theorem 3.8 for a chain (t = 1); Sequoia's G(n, d) / (t(n) + d c) for a tree (arXiv 2402.12374).

    Args:
        tokens_per_step: accepted draft tokens + 1, at least 1.
        draft_length: γ, the draft passes that follow one another: on a tree its depth, with parallel heads
            1 whatever they draft.
        c: time of a draft pass, in target passes over one token.
        verify: time t of the target pass that verifies, in target passes over one token.

    Raises:
        InputError: naming what is negative, not finite or no number.

    >>> round(speedup(3.3616, draft_length=4, c=0.05), 4)
    2.8013
    """
    tokens = figures("tokens_per_step", tokens_per_step, least=1.0)
    passes = figures("draft_length", draft_length, least=0.0)
    time = passes * figures("c", c, least=0.0) + figures("verify", verify, least=0.0)
    return plain(tokens / figures("time of a step", time, least=1e-300))


def operations_factor(
    tokens_per_step: npt.ArrayLike, *, draft_length: npt.ArrayLike, c_hat: npt.ArrayLike
) -> Figures:
    """How many times the arithmetic of decoding one token at a time: (γ ĉ + γ + 1) / tokens (Theorem 3.11).

    Args:
        tokens_per_step: accepted draft tokens + 1, at least 1.
        draft_length: γ; on a tree the number of its draft tokens.
        c_hat: operations for a draft token over operations for a target token.

    Raises:
        InputError: naming what is negative, not finite or no number.

    >>> round(operations_factor(2.44, draft_length=2, c_hat=0.0), 2)
    1.23
    """
    tokens = figures("tokens_per_step", tokens_per_step, least=1.0)
    drafted = figures("draft_length", draft_length, least=0.0)
    return plain((drafted * figures("c_hat", c_hat, least=0.0) + drafted + 1.0) / tokens)


def implied_c(
    tokens_per_step: npt.ArrayLike, *, draft_length: npt.ArrayLike, speedup: npt.ArrayLike
) -> Figures:
    """The c at which Theorem 3.8 gives that speedup: (tokens / speedup − 1) / γ.

    Negative where the speedup exceeds the tokens per step, which no cost can explain.
    """
    tokens = figures("tokens_per_step", tokens_per_step, least=1.0)
    passes = figures("draft_length", draft_length, least=1.0)
    return plain((tokens / figures("speedup", speedup, least=1e-9) - 1.0) / passes)
