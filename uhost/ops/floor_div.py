"""The quotient of two elements rounded down, with numpy broadcasting.

float32 is divided in double, rounded down and then to float32.
"""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.tensor import Array
from uhost.ops._floor import floor_operator


def _floor_div(first: Array, second: Array) -> Array:
    if first.dtype == np.float64:
        return np.floor(first / second)
    return np.floor_divide(first, second)


OPERATOR = floor_operator("floor_div", _floor_div, DType.FLOAT32, DType.INT32)
