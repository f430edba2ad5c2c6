"""NumPy's floating-point errors: the library handles them its own way, an implementation its caller's.

A test suite that calls ``np.seterr(all="raise")`` means its own code. The statistics underflow and
overflow on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

_callers: ContextVar[dict[str, Any] | None] = ContextVar("callers", default=None)


@contextmanager
def ours() -> Iterator[None]:
    """NumPy's defaults, and what was set before for whatever is called in ``callers``."""
    token = _callers.set(dict(np.geterr()))
    try:
        with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            yield
    finally:
        _callers.reset(token)


@contextmanager
def callers() -> Iterator[None]:
    """What was set before the innermost ``ours``; what is set, where there is none."""
    with np.errstate(**(_callers.get() or {})):
        yield
