"""The test of two samples against each other, neither law being known.

Take the tokens after one context in the order in which they came, from sample 1 or 2, and let P be
their law, the same in both under the null hypothesis. For numbers θ(v) in (0, 1), one for every token,
and θ̄ = Σ P(v) θ(v), the product of θ(v)/θ̄ over the tokens v of sample 1 and (1 − θ(v))/(1 − θ̄) over
those of sample 2 is a martingale: each factor has conditional mean Σ P θ / θ̄ = 1 or
Σ P (1 − θ) / (1 − θ̄) = 1. Nobody knows θ̄, but with N₁ and N₂ tokens θ̄^N₁ (1 − θ̄)^N₂ is at most its
maximum over θ̄, which is at N₁/N. Hence

    E  =  Π θ(v)^n₁(v) (1 − θ(v))^n₂(v)  /  ((N₁/N)^N₁ (N₂/N)^N₂)

is below the martingale at all times, whatever P, and so is its mean over θ: an e-process. This is the
e-variable of Turner, Ly and Grünwald ("Generic E-variables for exact sequential k-sample tests that
allow for optional stopping", arXiv 2106.02693) where N₁ : N₂ is the same in every block, there with the
two laws estimated from the blocks before; divided by a maximum over the one nuisance parameter that is
left, as in universal inference (Wasserman, Ramdas and Balakrishnan 2020), it needs no blocks. Nothing
is supposed of N₁ and N₂: how often each sample reached the context may be random, and may depend on the
tokens before.

The mean over θ is over independent priors: θ(v) = c, the planned share of sample 1, except for a
fraction f of the tokens, for which θ(v) has the law Beta(a c, a (1 − c)). It has a closed form: that of
a Dirichlet mixture over two labels, of which every token is one trial. f = 1 suits a bias of all tokens,
f = 1/(V + 1) one of few, which would drown in what the mixture costs at all the others. As for known
laws, the mean over the concentrations a, and that over f, is taken last.

Where both samples have N tokens the test is about as powerful as that against a known law with N/2
(N₁ N₂ / N in general): in this sense nothing is lost but what not knowing the law must cost.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import xlog1py

from losslesscheck.errors import InputError
from losslesscheck.statistics.arguments import check_open_unit, checked_counts
from losslesscheck.statistics.bounds import anytime_two_sample_tv_bound
from losslesscheck.statistics.e_process import CONCENTRATIONS, log_e_values
from losslesscheck.statistics.evidence import Evidence, Look

FloatArray = npt.NDArray[np.float64]

_BLOCK = 2**12
"""Tokens whose e-values [tokens, K] are in memory at once."""


def two_sample_log_e_values(first: npt.ArrayLike, second: npt.ArrayLike, share: float = 0.5) -> FloatArray:
    """Natural logarithms of the e-values of two samples for every prior, shape [..., 2K].

    Args:
        first, second: how often every token was seen, shape [..., V].
        share: what share of all tokens is planned to be in the first sample. The e-values are valid
            whatever it is, but have little power if the samples turn out otherwise: it costs
            N · KL(share found ‖ share) nats, half a nat on average if only chance moves the share.

    Returns:
        For every concentration with all tokens biased, then for every concentration with few.

    Raises:
        InputError: for shapes that differ, negative counts, and a ``share`` outside (0, 1).
    """
    check_open_unit(share=share)
    n, m = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if n.shape != m.shape or n.ndim == 0:
        raise InputError(f"first: shape {n.shape} is not that of second, {m.shape}")
    vocabulary = n.shape[-1]
    labels = np.stack([n.reshape(-1, vocabulary), m.reshape(-1, vocabulary)], axis=-1)
    shares, few = np.array([share, 1 - share]), 1 / (vocabulary + 1)
    priors = 2 * len(CONCENTRATIONS)
    values: FloatArray = np.zeros((len(labels), priors))
    row, token = np.nonzero(labels.any(axis=-1))
    for start in range(0, len(row), _BLOCK):
        block = row[start : start + _BLOCK]
        slab = log_e_values(labels[block, token[start : start + _BLOCK]], shares)
        spike_and_slab = np.logaddexp(math.log(1 - few), math.log(few) + slab)
        places = np.flatnonzero(np.diff(block, prepend=-1))
        values[block[places]] += np.add.reduceat(np.hstack([slab, spike_and_slab]), places, axis=0)
    # The trials were judged against c, and not against the share found, at which the null law is largest.
    values -= _divergence(labels.sum(axis=1), shares)
    return values.reshape(*n.shape[:-1], priors)


def _divergence(sizes: FloatArray, shares: FloatArray) -> FloatArray:
    """N · KL(shares found ‖ shares planned), shape [R, 1], of sample sizes [R, 2]."""
    planned = sizes.sum(axis=1, keepdims=True) * shares
    off = sizes - planned
    terms = xlog1py(sizes, off / np.maximum(planned, 1e-300)) - off
    divergence: FloatArray = terms.sum(axis=1, keepdims=True)
    return divergence


class TwoSampleTest:
    """Tests whether the next tokens of two samples have the same law after every context.

    For instance speculative decoding against plain decoding. It may be looked at as often as one likes.
    What a run states, and how sure that is, is as in ``SequentialTest``, of which the arguments carry
    over with the e-process of this module and ``anytime_two_sample_tv_bound``: false alarms and names
    of contexts at which the laws are equal have probability at most alpha, and so has a bound on the TV
    between the two laws that is too small anywhere at any look.

    It supposes that all samples are independent, also those of the first and those of the second (no
    common random numbers), and that either sample comes from one implementation.

    Args:
        vocabulary: V.
        contexts: C, how many contexts are tested together.
        lengths: the number of tokens of every context, shape [C]; zeros by default.
        alpha: bound on the probability of a false alarm.
        share: what share of all tokens is planned to be in the first sample; it matters for the power
            alone, see ``two_sample_log_e_values``.
        pooled: some of the contexts are pools of contexts with different laws. A pool that is named then
            says only that the two laws differ there or before.

    Attributes:
        first, second: the counts of all batches so far, shape [C, V].

    Raises:
        InputError: for sizes below 1, lengths that do not fit, ``alpha`` or ``share`` outside (0, 1).

    >>> test = TwoSampleTest(vocabulary=3)
    >>> test.add([510, 290, 200], [490, 310, 200]).rejected
    False
    >>> test.add([9_600, 5_100, 4_300], [9_300, 6_000, 3_700]).rejected
    True
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        contexts: int = 1,
        lengths: npt.ArrayLike | None = None,
        alpha: float = 1e-9,
        share: float = 0.5,
        pooled: bool = False,
    ) -> None:
        for name, value in (("vocabulary", vocabulary), ("contexts", contexts)):
            if value < 1:
                raise InputError(f"{name}: {value} is less than 1")
        check_open_unit(share=share)
        self.share = share
        self.first = np.zeros((contexts, vocabulary), dtype=np.int64)
        self.second = np.zeros((contexts, vocabulary), dtype=np.int64)
        self._evidence = Evidence(contexts, lengths, alpha, across=not pooled)

    def add(self, first: npt.ArrayLike, second: npt.ArrayLike) -> Look:
        """Adds a batch, and says what all samples so far say.

        Args:
            first, second: how often every token followed every context in the new batch, shape [C, V],
                or [V] if there is one context.

        Raises:
            InputError: for another shape, and entries that are no whole numbers from 0 up; the batch
                then does not count.
        """
        shape = self.first.shape
        batch = []
        for name, counts in (("first", first), ("second", second)):
            flat = shape[0] == 1 and np.ndim(counts) == 1
            batch.append(checked_counts(counts, shape[1:] if flat else shape, name).reshape(shape))
        self.first = self.first + batch[0]
        self.second = self.second + batch[1]
        return self._evidence.look(
            two_sample_log_e_values(self.first, self.second, self.share),
            anytime_two_sample_tv_bound(self.first, self.second, self._evidence.levels),
            int(self.first.sum() + self.second.sum()),
        )
