"""A batch in as many calls as a subject needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from losslesscheck.testing.batch import Batch, Emitted
from losslesscheck.testing.subject import Subject


def emit(subject: Subject, batch: Batch) -> Emitted:
    """What a subject emits in a batch, in as many calls as it needs; it is handed a copy.

    Raises:
        SubjectError: if the subject fails.
    """
    most = subject.batch or max(batch.size, 1)
    parts = [
        subject(replace(batch.rows(np.arange(start, min(start + most, batch.size))), seed=batch.seed ^ start))
        for start in range(0, max(batch.size, 1), most)
    ]
    width = batch.tokens.shape[1] + 1
    return Emitted(
        np.concatenate([_widened(part.tokens, width) for part in parts]),
        np.concatenate([part.accepted for part in parts]),
    )


def _widened(tokens: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    missing = np.full((len(tokens), width - tokens.shape[1]), -1, dtype=np.int64)
    return np.concatenate([tokens, missing], axis=1)
