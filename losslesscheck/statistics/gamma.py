"""Stirling's remainder, through which differences of log Γ keep their digits.

log Γ(10¹²) is 2.7·10¹³, so a float64 of it is off by thousandths, while the e-values that are made of
such numbers may be near one.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

FloatArray = npt.NDArray[np.float64]

_LARGE = 10.0
_HALF_LOG_TAU = math.log(2 * math.pi) / 2


def stirling_remainder(z: FloatArray) -> FloatArray:
    """log Γ(z) − (z − ½) log z + z − ½ log 2π for z > 0, elementwise, to 1e-12."""
    inverse = 1 / np.maximum(z, _LARGE)
    square = inverse * inverse
    series: FloatArray = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    small = z < _LARGE
    if small.any():
        y = z[small]
        # log Γ(y + 1) − log y is log Γ(y), also where Γ(y) is too large for a float64.
        series[small] = gammaln(y + 1) - (y + 0.5) * np.log(y) + y - _HALF_LOG_TAU
    return series
