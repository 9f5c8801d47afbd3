"""Fixed-point exponential, reciprocal and softmax, as TFLite Micro computes them for int8.

The exponential of a negative number is a polynomial of degree 4 around -1/8 on
[-1/4, 0), times one constant per set bit of the rest; the reciprocal is three Newton
steps. Qm.n numbers have m integer and n fractional bits beside the sign. Sources:
gemmlowp, "fixedpoint.h"; TFLite, "reference/softmax.h" and "quantization_util.cc".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
)

INPUT_INTEGER_BITS = 5
SUM_INTEGER_BITS = 12
MAX_DEPTH = (1 << SUM_INTEGER_BITS) - 1
"""Largest row whose sum of exponentials fits the accumulator whatever the input."""

_EXP_MINUS_EIGHTH = 1895147668  # exp(-1/8) in Q0.31
_ONE_THIRD = 715827883  # 1/3 in Q0.31
# exp(-2^k) in Q0.31 for k = -2 … 4.
_EXP_OF_BITS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
_48_OVER_17 = 1515870810  # in Q2.29
_MINUS_32_OVER_17 = -1010580540  # in Q2.29
_multiply = saturating_rounding_doubling_high_multiply


def _saturating_shift_left(x: Array, bits: int) -> NDArray[np.int64]:
    shifted: NDArray[np.int64] = np.asarray(x, np.int64) << bits
    return np.clip(shifted, INT32_MIN, INT32_MAX)


def exp_on_negative_values(x: Array, integer_bits: int = INPUT_INTEGER_BITS) -> NDArray[np.int64]:
    """Returns exp(x) in Q0.31 for x ≤ 0 with `integer_bits` (0 to 5) integer bits."""
    value = np.asarray(x, np.int64)
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    within = (value & (quarter - 1)) - quarter
    a = _saturating_shift_left(within, integer_bits) + (1 << 28)
    squared = _multiply(a, a)
    cubed = _multiply(squared, a)
    fourth = rounding_divide_by_power_of_two(_multiply(squared, squared), 2)
    series = rounding_divide_by_power_of_two(_multiply(fourth + cubed, _ONE_THIRD) + squared, 1)
    result = _EXP_MINUS_EIGHTH + _multiply(a + series, _EXP_MINUS_EIGHTH)
    rest = within - value
    for position, factor in enumerate(_EXP_OF_BITS[: integer_bits + 2]):
        bit = 1 << (fraction_bits - 2 + position)
        result = np.where(rest & bit, _multiply(result, factor), result)
    return np.where(value == 0, INT32_MAX, result)


def reciprocal_of_one_plus(x: Array) -> NDArray[np.int64]:
    """Returns 1 / (1 + x) in Q0.31 for x in [0, 1) in Q0.31."""
    half_denominator = (np.asarray(x, np.int64) + INT32_MAX + 1) >> 1
    estimate = _48_OVER_17 + _multiply(half_denominator, _MINUS_32_OVER_17)
    for _ in range(3):
        error = (1 << 29) - _multiply(half_denominator, estimate)
        estimate = estimate + _saturating_shift_left(_multiply(estimate, error), 2)
    return _saturating_shift_left(estimate, 1)


def softmax_exponentials(beta: float, scale: float) -> NDArray[np.int32]:
    """Returns exp(-beta · scale · d) in Q0.31 for d = 0 … 255.

    An entry is 0 from the distance on that the fixed-point exponential cannot take.
    Raises `ValueError` where beta · scale is too small for the fixed point (≤ 2^-26).
    """
    factor = min(beta * scale * 2.0 ** (31 - INPUT_INTEGER_BITS), 2.0**31 - 1.0)
    if not factor > 1.0:
        raise ValueError("beta times scale is too small")
    multiplier, shift = quantize_multiplier(factor)
    radius = math.floor(31.0 * 2.0 ** (31 - INPUT_INTEGER_BITS) / 2.0**shift)
    distance = np.arange(256)
    reachable = np.minimum(distance, radius)
    scaled = multiply_by_quantized_multiplier(-reachable, multiplier, shift)
    values = np.where(distance <= radius, exp_on_negative_values(scaled), 0)
    return values.astype(np.int32)


def softmax_int8(
    x: Array, exponentials: NDArray[np.int32], output_bits: int = 8
) -> NDArray[np.signedinteger[Any]]:
    """Returns the softmax over the last axis, 0 as the lowest number and 2^-output_bits a step.

    `x` is int8 with at most `MAX_DEPTH` elements in the last axis; `exponentials` is what
    `softmax_exponentials` returns.
    """
    value = x.astype(np.int64)
    exponential = exponentials.astype(np.int64)[value.max(axis=-1, keepdims=True) - value]
    total = rounding_divide_by_power_of_two(exponential, 31 - 19).sum(axis=-1, keepdims=True)
    # The exponent of a double is the bit length of the integer it holds.
    headroom = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    fraction = (total << headroom) - (1 << 31)
    reciprocal = reciprocal_of_one_plus(fraction)
    exponent = SUM_INTEGER_BITS - headroom + 31 - output_bits
    result = rounding_divide_by_power_of_two(_multiply(reciprocal, exponential), exponent)
    half = 1 << (output_bits - 1)
    return np.clip(result - half, -half, half - 1).astype(f"i{output_bits // 8}")
