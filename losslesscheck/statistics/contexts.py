"""Many contexts together: one e-value for all, and what share of it each context has."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from losslesscheck.statistics.e_process import log_mean

FloatArray = npt.NDArray[np.float64]


def combined_log_e_values(
    values: FloatArray, lengths: npt.NDArray[np.int_], *, across: bool = True
) -> FloatArray:
    """One e-value for the next tokens after many contexts, shape [...].

    Why products are allowed: put the tokens of all samples in one sequence. Under the null hypothesis
    the next token, given everything before it and that the sample goes on after context w, has law
    p(· | w). Every token thus multiplies the e-value of its own context, for a fixed concentration,
    by a factor with conditional mean 1, and the product over any fixed set of contexts is again a
    martingale. Contexts may be pooled if their law is the same. Averages of e-processes with fixed
    weights are e-processes; the contexts are fixed by a pilot run whose samples do not count.

    A product over many contexts finds a bias that all of them have, an average one that few have. The
    result is the average of three e-values: the product over all contexts; the average over the
    lengths of the product over the contexts of that length; the average over the lengths of the
    average over its contexts. Products share one concentration, averaged over last: a context without
    bias then costs nothing.

    Args:
        values: ``log_e_values`` of every context, shape [..., C, K]; zeros for one that was not
            reached, which must not be left out, or the weights would depend on the samples.
        lengths: the number of tokens of every context, shape [C].
        across: whether contexts of different lengths may be multiplied. They may not where contexts of
            different laws are pooled: given what came before, the next token then does not have the
            law of its pool. Within a length the product stands, as a sample has one token there.

    Returns:
        +inf where any value is.
    """
    levels = [values[..., lengths == length, :] for length in np.unique(lengths)]
    by_length = log_mean(np.stack([log_mean(level.sum(axis=-2)) for level in levels], axis=-1))
    alone = log_mean(np.stack([log_mean(log_mean(level)) for level in levels], axis=-1))
    parts = [by_length, alone]
    if across:
        parts.append(log_mean(values.sum(axis=-2)))
    return log_mean(np.stack(parts, axis=-1))


def combined_log_e_value(values: FloatArray, lengths: npt.NDArray[np.int_], *, across: bool = True) -> float:
    """``combined_log_e_values`` of values of shape [C, K]."""
    return float(combined_log_e_values(values, lengths, across=across))


def context_weights(lengths: npt.NDArray[np.int_]) -> FloatArray:
    """The weight that the e-value of each context alone has in the combined one, shape [C].

    The combined e-value is at least the sum of the e-values of the contexts times these weights,
    which add up to at most 1.

    >>> context_weights(np.array([0]))
    array([1.])
    >>> context_weights(np.array([0, 1, 1])).tolist() == [1 / 3, 1 / 12, 1 / 12]
    True
    """
    _, level, sizes = np.unique(lengths, return_inverse=True, return_counts=True)
    size = sizes[level]
    weights: FloatArray = (1 / size + (size == 1)) / len(sizes)
    return (weights + (len(lengths) == 1)) / 3


def combination_handicap(lengths: int) -> float:
    """What ``combined_log_e_value`` costs a bias at one length: its weight is 1 / (3 · lengths)."""
    return math.log(3 * lengths)
