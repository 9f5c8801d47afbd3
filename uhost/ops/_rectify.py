"""What RELU and RELU6 share: requantisation and a clamp.

The factor s_in / s_out is formed in float32, as TFLite Micro's sources of August 2026 and
LiteRT do; the TFLite Micro wheel of October 2026 forms it in double.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import (
    activation_range,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from uhost.ops._activation import clamp_float
from uhost.ops._checks import require, require_dtype, require_quantized, require_same_dtype
from uhost.ops._op import Activation


def infer_rectifier(bound: BoundOperator[Any]) -> Sequence[tuple[tuple[int, ...], DType]]:
    """Returns the input's shape and type after checking types and quantisation."""
    source, output = bound.input(0), bound.output
    require_dtype(source, DType.INT8, DType.FLOAT32)
    require_same_dtype(source, output)
    if source.dtype is DType.INT8:
        require_quantized(source, output)
        require(
            math.isfinite(_factor(bound)),
            f"the scales {source.scale:.9g} and {output.scale:.9g} are too far apart",
        )
    return [(source.shape, source.dtype)]


def _factor(bound: BoundOperator[Any]) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(bound.input(0).scale) / np.float32(bound.output.scale))


def rectify(bound: BoundOperator[Any], values: Array, activation: Activation) -> Array:
    """Returns `values` in the output's quantisation, clamped to the activation's interval."""
    if values.dtype == np.float32:
        return clamp_float(values, activation)
    source, output = bound.input(0), bound.output
    offset = values.astype(np.int64) - source.zero_point
    scaled = multiply_by_quantized_multiplier(offset, *quantize_multiplier(_factor(bound)))
    low, high = activation_range(activation.bounds, output)
    return np.clip(scaled + output.zero_point, low, high).astype(np.int8)
