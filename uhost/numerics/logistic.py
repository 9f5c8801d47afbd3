"""The logistic function in fixed point, as TFLite Micro computes it for int8 and int16.

int8: 1 / (1 + exp(-x)) by the fixed-point exponential and reciprocal of softmax. int16: a
table of 256 values over [0, 10.7), interpolated; below 0 by symmetry. Sources: gemmlowp,
"fixedpoint.h"; TFLite, "reference/integer_ops/logistic.h" and TFLite Micro,
"logistic_common.cc".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import (
    INT32_MAX,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_power_of_two,
)
from uhost.numerics.softmax import exp_on_negative_values, reciprocal_of_one_plus

INTEGER_BITS = 4
_STEPS_PER_UNIT = 24
TABLE_SIZE = 256


def scaled_argument(x: NDArray[np.int64], scale: float) -> tuple[NDArray[np.int64], int]:
    """Returns `scale` · x in Q4.27, and the |x| at which it saturates; x is clipped to that.

    Raises `ValueError` where the scale is too small for the fixed point. Source: TFLite,
    `CalculateInputRadius`.
    """
    factor = scale * 2.0 ** (31 - INTEGER_BITS)
    if not factor > 1.0:
        raise ValueError("the scale is too small")
    multiplier, shift = quantize_multiplier(factor)
    radius = math.floor(15.0 * 2.0 ** (31 - INTEGER_BITS) / 2.0**shift)
    inside = np.clip(x, -radius, radius)
    return multiply_by_quantized_multiplier(inside, multiplier, shift), radius


def logistic_int8(x: Array, scale: float) -> NDArray[np.int64]:
    """Returns the logistic of `scale` · x with scale 1/256 and zero point -128.

    `x` holds int8 values without their zero point. Raises `ValueError` where the scale is
    too small for the fixed point.
    """
    value = np.asarray(x, np.int64)
    scaled, radius = scaled_argument(value, scale)
    positive = reciprocal_of_one_plus(exp_on_negative_values(-np.abs(scaled), INTEGER_BITS))
    result = np.where(scaled >= 0, positive, INT32_MAX - positive)
    result = np.where(scaled == 0, 1 << 30, result)
    rounded = np.clip(rounding_divide_by_power_of_two(result, 23) - 128, -128, 127)
    rounded = np.where(value <= -radius, -128, rounded)
    return np.where(value >= radius, 127, rounded)


def logistic_table() -> NDArray[np.uint16]:
    """Returns the logistic of 0, 1/24, … 255/24 in units of 2^-16, for interpolation.

    Entries are raised by half of what a chord lies below the curve in its middle, which is
    -f'' / 24² / 8: so the error of interpolation is the same at both ends and between. TFLite's
    last entry is 65535, which is one more.
    """
    real = 1.0 / (1.0 + np.exp(-np.arange(TABLE_SIZE) / _STEPS_PER_UNIT))
    curvature = real * (1.0 - real) * (1.0 - 2.0 * real) / _STEPS_PER_UNIT**2
    table = np.floor(65536.0 * (real - curvature / 16.0) + 0.5)
    table[-1] = 65535
    return table.astype(np.uint16)


def logistic_int16_factor(scale: float) -> tuple[int, int]:
    """Returns (multiplier, right shift) that take an int16 to units of 1 / (3 · 4096).

    The multiplier is cut to an integer, not rounded. The scale 2^-12 needs 3 exactly.
    """
    if scale == 2.0**-12:
        return 3, 0
    factor, shift = scale * 4096.0 * 3.0, 0
    while factor <= 32767.0 / 2.0 and shift <= 30:
        factor *= 2.0
        shift += 1
    return int(factor), shift


def logistic_int16(x: Array, multiplier: int, shift: int) -> NDArray[np.int64]:
    """Returns the logistic of x · multiplier / 2^shift / 12288 in units of 2^-15."""
    rounding = 1 << (shift - 1) if shift > 0 else 0
    scaled = (np.asarray(x, np.int64) * multiplier + rounding) >> shift
    distance = np.abs(scaled)
    index = np.minimum(distance >> 9, TABLE_SIZE - 2)
    table = logistic_table().astype(np.int64)
    low, high = table[index], table[index + 1]
    result = (low << 9) + (distance & 0x1FF) * (high - low)
    result = np.where(distance >> 9 >= TABLE_SIZE - 1, 0x7FFF << 10, result)
    result = np.where(scaled >= 0, result + (1 << 9), (1 << 25) - result + (1 << 9) - 1)
    return result >> 10


def tanh_int16(x: Array, multiplier: int, shift: int) -> NDArray[np.int64]:
    """Returns the hyperbolic tangent of x · multiplier / 2^shift / 12288 in units of 2^-15.

    By the table of the logistic function: tanh(x) = 2 · logistic(2x) - 1.
    """
    rounding = 1 << (shift - 1) if shift > 0 else 0
    scaled = (np.asarray(x, np.int64) * multiplier + rounding) >> shift
    distance = np.abs(scaled)
    index = np.minimum(distance >> 8, TABLE_SIZE - 2)
    table = logistic_table().astype(np.int64)
    low, high = table[index], table[index + 1]
    result = (low << 8) + (distance & 0xFF) * (high - low)
    result = np.where(distance >> 8 >= TABLE_SIZE - 1, 0xFFFF << 8, result)
    half = 1 << 23
    result = np.where(scaled >= 0, result - half + (1 << 7), half - result + (1 << 7) - 1)
    return result >> 8
