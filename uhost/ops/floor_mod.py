"""The remainder of a division rounded down: it has the divisor's sign; numpy broadcasting."""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.tensor import Array
from uhost.ops._floor import floor_operator


def _floor_mod(first: Array, second: Array) -> Array:
    if first.dtype != np.float64:
        return np.mod(first, second)
    # The remainder is exact, and a sum that moves it to the other sign rounds to float32.
    rest = np.fmod(first, second)
    moved = (rest.astype(np.float32) + second.astype(np.float32)).astype(np.float64)
    return np.where((rest != 0) & ((rest < 0) != (second < 0)), moved, rest)


OPERATOR = floor_operator("floor_mod", _floor_mod, DType.FLOAT32, DType.INT32, DType.INT64)
