"""int8 functions that TFLite computes in float32, one table entry for every number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array


def through_float(
    bound: BoundOperator[Any], values: Array, function: Callable[[Array], Array]
) -> Array:
    """Returns int8 `values` dequantised, through `function`, and quantised as the output is.

    Every step rounds to float32; the result is multiplied by the inverse of the output's scale
    and rounded, exactly, with ties away from zero. Source: TFLite Micro, `PopulateLookupTable`.
    """
    source, output = bound.input(0), bound.output
    offset = (values.astype(np.int32) - source.zero_point).astype(np.float32)
    inverse = np.float32(1.0) / np.float32(output.scale)
    scaled = function(np.float32(source.scale) * offset).astype(np.float32) * inverse
    # In float32 the largest number below a half would become 1.
    exact = scaled.astype(np.float64)
    rounded = np.trunc(exact + np.copysign(0.5, exact))
    low, high = output.dtype.limits
    result = np.clip(rounded + output.zero_point, low, high)
    made: Array = result.astype(output.dtype.numpy)
    return made
