"""Between real and quantised numbers: real = scale · (q - zero_point)."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from uhost.ir.tensor import Array


def quantize(values: Array, scale: float, zero_point: int, dtype: DTypeLike) -> Array:
    """Returns float32 `values` as TFLite's QUANTIZE makes them: half away from zero, saturated.

    A division in float32, as TFLite has it: a product with 1/scale differs at ties. NaN
    gives the lowest number and infinities saturate; TFLite leaves them undefined.
    """
    limits = np.iinfo(np.dtype(dtype))
    with np.errstate(over="ignore"):
        scaled = values / np.float32(scale)
    scaled = np.where(np.isnan(scaled), -np.inf, scaled)
    low, high = limits.min - zero_point, limits.max - zero_point
    clipped = np.clip(scaled, low, high).astype(np.float64)
    result = np.where(clipped < 0, np.ceil(clipped - 0.5), np.floor(clipped + 0.5))
    quantized: Array = np.clip(result + zero_point, limits.min, limits.max).astype(limits.dtype)
    return quantized


def dequantize(values: Array, scale: float, zero_point: int) -> Array:
    """Returns quantised `values` as float32.

    In double the product of a float32 and 17 bits is exact; it is rounded once, to float32.
    """
    product = np.float64(scale) * (values.astype(np.int64) - zero_point)
    return np.asarray(product, np.float32)
