"""What the arguments of tests and bounds must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError

FloatArray = npt.NDArray[np.float64]
CountArray = npt.NDArray[np.int64]


def check_open_unit(**values: float) -> None:
    """Raises InputError for the first that is not strictly between 0 and 1."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise InputError(f"{name}: {value} is not between 0 and 1")


def checked_lengths(lengths: npt.ArrayLike | None, contexts: int) -> npt.NDArray[np.int64]:
    """The number of tokens of every context, shape [C]; zeros by default."""
    if lengths is None:
        return np.zeros(contexts, dtype=np.int64)
    return checked_counts(lengths, (contexts,), "lengths")


def checked_counts(counts: npt.ArrayLike, shape: tuple[int, ...], name: str) -> CountArray:
    """Whole numbers from 0 to 2⁶² of a given shape, as int64.

    Raises:
        InputError: naming the shape, or the first entry that is no such number.
    """
    try:
        array: npt.NDArray[Any] = np.asarray(counts)
    except ValueError as error:
        raise InputError(f"{name}: {error}") from None
    if array.shape != shape:
        raise InputError(f"{name}: shape {array.shape} is not {shape}")
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name}: dtype {array.dtype} does not count")
    sound = (array >= 0) & (array <= 2**62)
    if array.dtype.kind == "f":
        sound &= np.floor(array) == array
    if not sound.all():
        index = tuple(map(int, np.argwhere(~sound)[0]))
        raise InputError(
            f"{name}[{', '.join(map(str, index))}] = {array[index]} is not a whole number from 0 up"
        )
    return array.astype(np.int64)
