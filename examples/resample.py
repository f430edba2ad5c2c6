"""A faulty verify function, and what the testing kit says of it."""

import numpy as np

from losslesscheck.testing import assert_lossless


def verify(target, draft, tokens, coins, final):  # [B, γ+1, V], [B, γ, V], [B, γ], [B, γ], [B]
    row = np.arange(len(tokens))
    p, q = target[row, 0, tokens[:, 0]], draft[row, 0, tokens[:, 0]]
    accepted = (coins[:, 0] * q < p).astype(int)
    weights = target[row, accepted]  # after a rejection it should be (p − q)₊
    sums = weights.cumsum(axis=1)
    last = (sums > (final * sums[:, -1])[:, None]).argmax(axis=1)
    return np.where(accepted[:, None], np.stack([tokens[:, 0], last], 1), last[:, None]), accepted


try:
    assert_lossless(verify, rule="chain", tree=(1,))
except AssertionError as failure:
    print(failure)
