"""What an outcome says, given its batch: where in the token tree it went, and whether it could."""

from __future__ import annotations

import numpy as np

from losslesscheck.testing.subject import Batch, Emitted, IntArray

NOWHERE = -1
"""The node of a path that is not in the tree, and of all that comes after it."""


def nodes(batch: Batch, emitted: Emitted) -> IntArray:
    """The node of the tree at which every emitted token was drawn, shape [B, L].

    0 is the root, i+1 draft token i: row ``nodes[b, k]`` of ``target[b]`` is the law that token k of
    row b should follow. It is ``NOWHERE`` where the tokens before are no path of draft tokens, and
    after the last token.
    """
    rows, places = emitted.tokens.shape
    found = np.full((rows, places), NOWHERE, dtype=np.int64)
    found[:, 0] = 0
    real = np.arange(batch.tokens.shape[1]) < batch.lengths[:, None]
    # Of duplicate siblings either may have been accepted, and what follows stands below one of them.
    reached = np.zeros((rows, batch.tokens.shape[1] + 1), dtype=bool)
    reached[:, 0] = True
    for place in range(1, places):
        above = np.take_along_axis(reached, batch.parents + 1, axis=1)
        reached[:, 1:] = real & above & (batch.tokens == emitted.tokens[:, place - 1, None])
        reached[:, 0] = False
        found[:, place] = np.where(reached.any(axis=1), reached.argmax(axis=1), NOWHERE)
    found[np.arange(places) > emitted.accepted[:, None]] = NOWHERE
    return found


def strayed(batch: Batch, emitted: Emitted) -> tuple[int, int] | None:
    """The first row and place where a token counts as accepted that is no draft token there."""
    counted = np.arange(emitted.tokens.shape[1]) <= emitted.accepted[:, None]
    wrong = counted & (nodes(batch, emitted) == NOWHERE)
    if not wrong.any():
        return None
    row, place = map(int, np.argwhere(wrong)[0])
    return row, place - 1


def impossible(batch: Batch, emitted: Emitted) -> tuple[int, int] | None:
    """The first row and place where a token was emitted that the target gives probability zero."""
    at = nodes(batch, emitted)
    rows = np.arange(len(at))[:, None]
    tokens = np.maximum(emitted.tokens, 0)
    probability = batch.target[rows, np.maximum(at, 0), tokens]
    wrong = (at != NOWHERE) & (probability == 0)
    if not wrong.any():
        return None
    row, place = map(int, np.argwhere(wrong)[0])
    return row, place
