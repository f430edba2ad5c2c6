"""Reading arrays from an ``.npz`` file, with one clear line for everything that can be wrong with it."""

from __future__ import annotations

import zipfile
from math import fsum
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from losslesscheck.errors import InputError

Arrays = dict[str, npt.NDArray[Any]]

TOLERANCE = 1e-5
"""How far from one a row may sum."""

LARGEST = 1 << 30
"""Bytes of one array; a small file can unpack to any size."""


def read(path: Path, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Arrays:
    """The named arrays of the file; nothing in it is unpickled.

    Raises:
        InputError: if there is no such file, or it is no ``.npz`` file, or an array is missing,
            damaged, larger than ``LARGEST`` or holds Python objects.
    """
    if not path.is_file():
        raise InputError(f"distributions: there is no file {str(path)!r}")
    try:
        with path.open("rb") as file:
            return _read(file, path, required, optional)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"distributions: {str(path)!r} is no .npz file") from None


def _read(file: BinaryIO, path: Path, required: tuple[str, ...], optional: tuple[str, ...]) -> Arrays:
    loaded = np.load(file, allow_pickle=False)
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        raise InputError(f"distributions: {str(path)!r} holds a single array; expected an .npz file")
    for name in required:
        if name not in loaded.files:
            found = ", ".join(loaded.files) or "none"
            raise InputError(f"{name}: there is no such array in {str(path)!r} (it has: {found})")
    sizes = {member.filename: member.file_size for member in zipfile.ZipFile(file).infolist()}
    arrays: Arrays = {}
    for name in (*required, *optional):
        if name not in loaded.files:
            continue
        size = sizes.get(f"{name}.npy", 0)
        if size > LARGEST:
            raise InputError(f"{name}: {size / 2**30:.3g} GiB are more than {LARGEST / 2**30:g} GiB")
        try:
            arrays[name] = loaded[name]
        except MemoryError:
            raise InputError(f"{name}: the array does not fit into memory") from None
        except Exception as error:  # a damaged archive fails in many ways
            reason = "it holds Python objects" if "pickle" in str(error) else str(error)
            raise InputError(f"{name}: the array cannot be read: {reason}") from None
    return arrays


def array(arrays: Arrays, name: str, shape: str, dimensions: int, kinds: str) -> npt.NDArray[Any]:
    """The array, if it is one of numbers (``kinds`` begins with f), integers (i) or text (U).

    Args:
        shape: how the error describes the shape that is expected.

    Raises:
        InputError: if it has another type or number of dimensions, or is empty.
    """
    found = arrays[name]
    if found.dtype.kind not in kinds or (found.dtype.kind == "f" and found.dtype.itemsize > 8):
        wanted = {"f": "floats of at most 64 bits or integers", "i": "integers", "U": "text"}[kinds[0]]
        raise InputError(f"{name}: expected {wanted}, got {found.dtype}")
    if found.ndim != dimensions or found.size == 0:
        raise InputError(f"{name}: expected a non-empty array of shape {shape}, got {list(found.shape)}")
    return found


def deviations(rows: npt.NDArray[Any], name: str) -> list[float]:
    """How far every row of an array [cases, positions, V] sums from one, the sums rounded once.

    Raises:
        InputError: naming the first entry that is NaN, infinite or negative, or the first row whose
            sum is off by more than ``TOLERANCE``.
    """
    found = []
    for case, position in np.ndindex(rows.shape[:2]):
        row = rows[case, position]
        for what, bad in (
            ("not a number", np.isnan(row)),
            ("infinite", np.isinf(row)),
            ("negative", row < 0),
        ):
            if bad.any():
                token = int(np.argmax(bad))
                raise InputError(f"{name}[{case}, {position}, {token}] = {row[token]} is {what}")
        total = fsum(row.tolist())
        if abs(total - 1) > TOLERANCE:
            raise InputError(f"{name}[{case}, {position}] sums to {total:.6g}, not to 1")
        found.append(abs(total - 1))
    return found
