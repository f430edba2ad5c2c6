"""The test of next tokens after many contexts against known laws, looked at after every batch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError
from losslesscheck.model import checked_rows
from losslesscheck.statistics.arguments import checked_counts
from losslesscheck.statistics.bounds import anytime_tv_bound
from losslesscheck.statistics.e_process import log_e_values
from losslesscheck.statistics.evidence import Evidence, Look


class SequentialTest:
    """Tests counts of next tokens against the laws that they should have.

    It may be looked at as often as one likes, at times that depend on what was seen, and stopped at
    any of them. What a run states, and how sure that is:

    - False alarms. If the next token after every context has the expected law, the probability that
      the test ever rejects or ever names a context is at most alpha. Both are one event, since a
      context is named only if its e-value times its weight w in the combined e-value E (see
      ``context_weights``) reaches 1/alpha, and E is at least that product.
    - Names. Whatever happens at the other contexts, the probability that any context whose law is the
      expected one is ever named is at most alpha. The e-value of a context is made of the tokens after
      it alone, each of which has the expected law given all that came before, so it is below a
      martingale however biased the others are; by Ville's inequality it ever reaches 1/(alpha w) with
      probability at most alpha w; and the weights add up to at most 1.
    - Bounds. With probability at least 1 − alpha, TV(true law, expected law) is at most ``tv_bounds``
      at all contexts and at all looks. The context's share of that level is alpha w again, and
      ``anytime_tv_bound`` spends it on all sample sizes. This is a statement of its own: it and the
      one on false alarms hold together with probability at least 1 − 2 alpha.

    All of it supposes that, given all samples before and the context, the next token has the law of
    that context: the samples are independent and come from one implementation. The contexts and their
    expected laws must not depend on the samples that are counted. How many samples a batch has, and how
    often a context is reached, may.

    Args:
        expected: the law after every context, shape [C, V], or the only one, shape [V].
        lengths: the number of tokens of every context, shape [C]; zeros by default. Each length has
            the same share of the evidence and of the levels, and so has each context of a length.
        alpha: bound on the probability of a false alarm.

    Attributes:
        counts: the latest ones, in the shape of ``expected``.

    Raises:
        InputError: for rows that are no distributions (sums may be off by 1e-5, and are divided out),
            lengths that do not fit, and an ``alpha`` outside (0, 1).

    >>> test = SequentialTest([0.5, 0.3, 0.2])
    >>> test.look([510, 290, 200]).rejected
    False
    >>> test.look([10_100, 5_400, 4_500]).rejected
    True
    """

    def __init__(
        self, expected: npt.ArrayLike, lengths: npt.ArrayLike | None = None, *, alpha: float = 1e-9
    ) -> None:
        laws = np.asarray(expected, dtype=np.float64)
        rows = checked_rows(laws[None] if laws.ndim == 1 else laws, "expected")
        self.expected = rows / rows.sum(axis=1, keepdims=True)
        self.counts = np.zeros(laws.shape, dtype=np.int64)
        self._evidence = Evidence(len(rows), lengths, alpha)

    def look(self, counts: npt.ArrayLike) -> Look:
        """What the samples so far say.

        Args:
            counts: how often every token followed every context, in all batches so far, in the shape of
                ``expected``.

        Raises:
            InputError: for another shape, entries that are no whole numbers from 0 up, and entries that
                are smaller than at the look before; the look then does not count.
        """
        counted = checked_counts(counts, self.counts.shape, "counts")
        shrunk = np.argwhere(counted < self.counts)
        if len(shrunk):
            index = tuple(map(int, shrunk[0]))
            where = ", ".join(map(str, index))
            raise InputError(f"counts[{where}] = {counted[index]} is less than before, {self.counts[index]}")
        self.counts = counted
        table = counted.reshape(self.expected.shape)
        return self._evidence.look(
            log_e_values(table, self.expected),
            anytime_tv_bound(table, self.expected, self._evidence.levels),
            int(table.sum()),
        )
