"""Fast draws by inverse transform, from many distributions at once.

A guide table (Chen & Asau 1974) maps the leading bits of the uniform number to the first token that
it can mean; what is left, on average a fraction of a comparison, is settled by bisection. Unlike an
alias table this keeps the order of the tokens, so a coin that has been compared before can be spent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

GUIDE_CELLS = 2**20
"""Upper bound on the buckets of one table, over all its rows."""


class Table:
    """The inverse distribution functions of the rows of a matrix.

    Args:
        matrix: shape [R, V]; rows that are no distributions may stand in it as long as no one draws
            from them. Negative entries count as zero.
    """

    def __init__(self, matrix: npt.NDArray[np.float64]) -> None:
        self.rows, self.vocabulary = matrix.shape
        cumulative = np.cumsum(np.maximum(matrix, 0), axis=1)
        # Rounding must not lead to a token of probability 0: from the last positive token on, every
        # cumulative probability exceeds every coin.
        last = self.vocabulary - 1 - np.argmax(matrix[:, ::-1] > 0, axis=1)
        cumulative[np.arange(self.vocabulary) >= last[:, None]] = 2.0
        self._cumulative = cumulative.ravel()

        buckets = 1
        while buckets < 4 * self.vocabulary and 2 * buckets * self.rows <= GUIDE_CELLS:
            buckets *= 2
        self._buckets = buckets
        scaled = np.minimum(cumulative, 1.0) * buckets
        # For u in bucket k the token lies between #{cumulative <= k / buckets} and
        # #{cumulative < (k + 1) / buckets}; buckets is a power of two, so both are exact.
        self._first = self._ranks(np.ceil(scaled), cumulative)
        self._last = self._ranks(np.floor(scaled), cumulative).astype(np.int32)
        self._widest = int((self._last - self._first).max())

    def _ranks(self, scaled: npt.NDArray[np.float64], cumulative: Any) -> npt.NDArray[np.intp]:
        """Flat positions in the table: how many tokens of each row have ``scaled`` at most k."""
        wide = self._buckets + 1
        scaled = np.where(cumulative > 1.5, self._buckets, scaled)
        cells = scaled.astype(np.intp) + wide * np.arange(self.rows)[:, None]
        histogram = np.bincount(cells.ravel(), minlength=wide * self.rows).reshape(self.rows, wide)
        below = np.cumsum(histogram[:, :-1], axis=1)
        below = np.minimum(below, self.vocabulary - 1)
        flat: npt.NDArray[np.intp] = (below + self.vocabulary * np.arange(self.rows)[:, None]).ravel()
        return flat

    def draw(
        self, uniform: npt.NDArray[np.float64], row: npt.NDArray[np.intp] | None = None
    ) -> npt.NDArray[np.intp]:
        """The first token of each lane's row whose cumulative probability exceeds its number.

        Args:
            uniform: shape [n], each in [0, 1).
            row: shape [n], or ``None`` where the matrix has a single row.
        """
        bucket = (uniform * self._buckets).astype(np.intp)
        if row is not None:
            bucket += row * self._buckets
        place = self._first.take(bucket)
        if self._widest > 0:
            (lanes,) = (self._cumulative.take(place) <= uniform).nonzero()
            if lanes.size:
                place[lanes] = self._bisect(
                    uniform.take(lanes), place.take(lanes) + 1, self._last.take(bucket.take(lanes))
                )
        return place if row is None else place - row * self.vocabulary

    def _bisect(self, uniform: Any, low: Any, high: Any) -> Any:
        """The first place in [low, high] whose cumulative probability exceeds ``uniform``."""
        high = np.maximum(high, low)
        for _ in range(int((high - low).max()).bit_length()):
            middle = (low + high) >> 1
            beyond = self._cumulative.take(middle) > uniform
            high = np.where(beyond, middle, high)
            low = np.where(beyond, low, np.minimum(middle + 1, high))
        return low
