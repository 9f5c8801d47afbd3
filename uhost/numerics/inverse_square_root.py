"""The inverse square root of an integer in fixed point, as TFLite Micro computes it.

Five Newton steps from 1, in Q3.28, on the number shifted into [1/4, 1). Source: TFLite,
`GetInvSqrtQuantizedMultiplierExp`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import INT32_MAX, INT32_MIN, wrap_int32
from uhost.numerics.fixed_point import (
    saturating_rounding_doubling_high_multiply as _multiply,
)

_HALF_THREE = (1 << 28) + (1 << 27)
_HALF_SQRT_TWO = 1518500250  # in Q0.31


def inverse_square_root(x: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns (multiplier, shift) of 1 / sqrt(x), as `multiply_by_quantized_multiplier` takes it.

    `x` holds int32 values; 1 and what is below it give INT32_MAX and 0.
    """
    value = np.maximum(np.asarray(x, np.int64), 2)
    right = np.full_like(value, 11)
    for _ in range(2):
        large = value >= 1 << 29
        value, right = np.where(large, value >> 2, value), right + large
    # The exponent of a double is the bit length of the integer it holds.
    length = np.frexp(value.astype(np.float64))[1].astype(np.int64)
    pairs = (31 - length) // 2 - 1
    right = right - pairs
    half = value << (2 * pairs) >> 1
    half_input = (half + 1) >> 1
    root = np.full_like(value, 1 << 28)
    for _ in range(5):
        cube = _saturated(_multiply(_multiply(root, root), root) << 6)
        step = _multiply(np.full_like(root, _HALF_THREE), root) - _multiply(half_input, cube)
        root = _saturated(wrap_int32(step) << 3)
    root = _multiply(root, _HALF_SQRT_TWO)
    root = wrap_int32(root << np.maximum(-right, 0))
    one = np.asarray(x) <= 1
    return np.where(one, INT32_MAX, root), np.where(one, 0, -np.maximum(right, 0))


def _saturated(x: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.clip(x, INT32_MIN, INT32_MAX)
