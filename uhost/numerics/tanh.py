"""The hyperbolic tangent in fixed point, as TFLite Micro computes it for int8.

It is (1 - e) / (1 + e) with e = exp(-2 |x|), by the fixed-point exponential and three Newton
steps. For int16, `uhost.numerics.logistic` has it; here is how its input is scaled. Sources:
gemmlowp, "fixedpoint.h"; TFLite, "reference/integer_ops/tanh.h"; TFLite Micro, "tanh.cc".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    rounding_divide_by_power_of_two,
)
from uhost.numerics.fixed_point import (
    saturating_rounding_doubling_high_multiply as _multiply,
)
from uhost.numerics.logistic import INTEGER_BITS, logistic_int16_factor, scaled_argument
from uhost.numerics.softmax import exp_on_negative_values

_48_OVER_17 = 1515870810  # in Q2.29
_MINUS_32_OVER_17 = -1010580540  # in Q2.29


def tanh_int8(x: Array, scale: float) -> NDArray[np.int64]:
    """Returns the tangent of `scale` · x with scale 1/128 and zero point 0.

    `x` holds int8 values without their zero point. Raises `ValueError` where the scale is
    too small for the fixed point.
    """
    value = np.asarray(x, np.int64)
    scaled, radius = scaled_argument(value, scale)
    # Read with one more integer bit, the number is twice as large.
    small = exp_on_negative_values(-np.abs(scaled), INTEGER_BITS + 1)
    size = _one_minus_over_one_plus(small)
    result = np.where(scaled == 0, 0, np.where(scaled < 0, -size, size))
    rounded = np.clip(rounding_divide_by_power_of_two(result, 24), -128, 127)
    rounded = np.where(value <= -radius, -128, rounded)
    return np.where(value >= radius, 127, rounded)


def _one_minus_over_one_plus(x: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns (1 - x) / (1 + x) in Q0.31 for x in [0, 1) in Q0.31."""
    half_denominator = (x + INT32_MAX + 1) >> 1
    estimate = _48_OVER_17 + _multiply(half_denominator, _MINUS_32_OVER_17)
    for _ in range(3):
        error = (1 << 29) - _multiply(half_denominator, estimate)
        estimate = estimate + _saturated(_multiply(estimate, error) << 2)
    return _saturated((estimate - (1 << 29)) << 2)


def _saturated(x: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.clip(x, INT32_MIN, INT32_MAX)


def tanh_int16_factor(scale: float) -> tuple[int, int]:
    """Returns (multiplier, right shift) that take an int16 to units of 1 / (3 · 4096).

    The scales 2^-12 and 2^-11 need 3 and 6 exactly; other multipliers are cut.
    """
    if scale in (2.0**-12, 2.0**-11):
        return int(3 * scale * 2.0**12), 0
    return logistic_int16_factor(scale)
