import numpy as np

from losslesscheck.testing import assert_lossless


def verify(target, draft, tokens, rng):  # [B, γ+1, V], [B, γ, V], [B, γ]
    emitted = np.full((len(tokens), tokens.shape[1] + 1), -1)
    for row, (p, q, drafts) in enumerate(zip(target, draft, tokens, strict=True)):
        weights = p[-1]
        for i, x in enumerate(drafts):
            if rng.random() * q[i, x] >= p[i, x]:
                weights = np.maximum(p[i] - q[i], 0)
                break
            emitted[row, i] = x
        kept = np.count_nonzero(emitted[row] >= 0)
        emitted[row, kept] = rng.choice(len(weights), p=weights / weights.sum())
    return emitted


def test_lossless():
    assert_lossless(verify, rule="chain", min_tv=0.02)
