"""x · relu6(x + 3) / 6 in 16-bit fixed point, as TFLite computes it for int8.

Source: TFLite, "reference/hard_swish.h".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import quantize_multiplier, rounding_divide_by_power_of_two

_INPUT_BITS = 7


def hard_swish_factors(
    scale: float, output_scale: float
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns (16-bit multiplier, exponent) of x to the output, and of x to units of 3 / 2^15.

    The factors are formed in float32.
    """
    fine = np.float32(1.0 / 128.0) * np.float32(scale)
    factors = fine / np.float32(output_scale), fine / np.float32(3.0 / 32768.0)
    output, relu = (quantize_multiplier(float(factor)) for factor in factors)
    return (_cut(output[0]), output[1]), (_cut(relu[0]), relu[1])


def _cut(multiplier: int) -> int:
    return min((multiplier + (1 << 15)) >> 16, 32767)


def hard_swish_int8(
    x: Array, output: tuple[int, int], relu: tuple[int, int], zero_point: int
) -> NDArray[np.int64]:
    """Returns the function of int8 values without their zero point, and two factors."""
    fine = np.asarray(x, np.int64) << _INPUT_BITS
    scaled = _multiply(fine, output[0])
    part = fine
    if relu[1] > 0:
        part = _saturated(part << min(relu[1] - 1, 16))
    part = _multiply(part, relu[0])
    if relu[1] > 0:
        part = _saturated(part << 1)
    elif relu[1] < 0:
        part = rounding_divide_by_power_of_two(part, -relu[1])
    # From [-1, 1] to [0, 1].
    part = (part + (1 << 15)) >> 1
    product = part * scaled
    # This product alone is cut toward zero.
    cut = np.where(product < 0, -(-product >> 15), product >> 15)
    result = rounding_divide_by_power_of_two(cut, -output[1]) + zero_point
    return np.clip(result, -128, 127)


def _multiply(a: NDArray[np.int64], b: int) -> NDArray[np.int64]:
    """Returns 2 a b / 2^16, rounded to nearest, ties upward."""
    return (a * b + (1 << 14)) >> 15


def _saturated(x: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.clip(x, -(1 << 15), (1 << 15) - 1)
