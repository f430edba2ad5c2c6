import numpy as np

from losslesscheck.testing import assert_lossless


class TargetOnly:
    """Verifies a tree of fixed draft tokens; its coins come from outside, as a kernel's do."""

    def __call__(self, target, tokens, parents, coins, final):
        rows, count = tokens.shape
        node = np.full(rows, -1)  # the draft token accepted last
        emitted, accepted = np.full((rows, count + 1), -1), np.zeros(rows, dtype=int)
        every = np.arange(rows)
        rest, coin = target[:, 0].copy(), np.full(rows, np.nan)
        for i in range(count):
            x, here = tokens[:, i], parents[:, i] == node
            coin = np.where(here & np.isnan(coin), coins[:, i], coin)  # one for all siblings of a node
            coin = np.where(here, coin - target[every, node + 1, x], coin)
            rest[here, x[here]] = 0
            took = here & (coin < 0)
            emitted[took, accepted[took]] = x[took]
            accepted, node = accepted + took, np.where(took, i, node)
            rest[took], coin[took] = target[took, i + 1], np.nan
        total = np.cumsum(rest, axis=1)
        emitted[every, accepted] = (total > (final * total[:, -1])[:, None]).argmax(axis=1)
        return emitted, accepted


def test_lossless():
    assert_lossless(TargetOnly(), rule="target_only", tree=(2, 1), min_tv=0.005)
