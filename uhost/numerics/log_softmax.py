"""The logarithm of softmax in fixed point, as TFLite Micro computes it for int8.

Output scale 1/16, zero point 127. The logarithm of the sum of exponentials is a power of two,
of two candidates the one that leaves the smaller rest, and a rational function of that rest.
Sources: TFLite, "reference/integer_ops/log_softmax.h", "internal/common.h"; gemmlowp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import (
    INT32_MAX,
    INT32_MIN,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_power_of_two,
    wrap_int32,
)
from uhost.numerics.fixed_point import (
    saturating_rounding_doubling_high_multiply as _multiply,
)
from uhost.numerics.softmax import exp_on_negative_values, reciprocal_of_one_plus

_INTEGER_BITS = 5
_SUM_BITS = 12
_ACCUMULATOR_BITS = _INTEGER_BITS + 1
Integers = NDArray[np.int64]

# In Q0.31.
_LOG_2 = 1488522236
_SQRT_SQRT_HALF = 1805811301
_SQRT_HALF = 1518500250
_QUARTER = 536870912
_ALPHA_N = 117049297
_ALPHA_D = 127690142
_ALPHA_I = 1057819769
_ALPHA_F = 638450708


@dataclass(frozen=True, slots=True)
class LogSoftmaxScaling:
    """How distances to a row's maximum are scaled to Q5.26, and the way back.

    Distances below `least` do not count.
    """

    multiplier: int
    shift: int
    back_multiplier: int
    back_shift: int
    least: int

    def scaled(self) -> Integers:
        """Returns the distances 0, -1, … -255 in Q5.26, those below `least` as it."""
        distances = np.maximum(-np.arange(256), self.least)
        return multiply_by_quantized_multiplier(distances, self.multiplier, self.shift)

    def exponentials(self) -> NDArray[np.int32]:
        """Returns the exponentials of the distances 0, -1, … -255 in Q12.19."""
        values = rounding_divide_by_power_of_two(exp_on_negative_values(self.scaled()), _SUM_BITS)
        return np.where(-np.arange(256) >= self.least, values, 0).astype(np.int32)


def log_softmax_scaling(scale: float) -> LogSoftmaxScaling:
    """Returns the scaling of inputs of one scale. Source: `PreprocessLogSoftmaxScalingExp`."""
    factor = min(scale * 2.0 ** (31 - _INTEGER_BITS), 2.0**31 - 1.0)
    if not factor > 1.0:
        raise ValueError("the scale is too small")
    multiplier, shift = quantize_multiplier(factor)
    back = quantize_multiplier(float(1 << (31 - shift)) / multiplier)
    radius = math.floor(31.0 * 2.0 ** (31 - _INTEGER_BITS) / 2.0**shift)
    return LogSoftmaxScaling(multiplier, shift, back[0], back[1], -radius)


def log_softmax_int8(x: Array, scaling: LogSoftmaxScaling) -> NDArray[np.int8]:
    """Returns the logarithm of softmax over the last axis of int8 values."""
    value = x.astype(np.int64)
    distance = value - value.max(axis=-1, keepdims=True)
    exponentials = scaling.exponentials().astype(np.int64)
    total = exponentials[-distance].sum(axis=-1, keepdims=True)
    log = log_of_sum(total)
    shifted = wrap_int32(log + INT32_MIN)
    back = multiply_by_quantized_multiplier(shifted, scaling.back_multiplier, scaling.back_shift)
    least = np.maximum(scaling.least - 1, back)
    within = scaling.scaled()[-distance]
    result = rounding_divide_by_power_of_two(within - log, 31 - _INTEGER_BITS - 4) + 127
    return np.where(distance > least, np.clip(result, -128, 127), -128).astype(np.int8)


def log_of_sum(total: Array) -> Integers:
    """Returns the logarithm in Q5.26 of numbers of 1 and more in Q12.19."""
    z = np.asarray(total, np.int64)
    zeros = 32 - _length(z)
    a = _multiply(z << (zeros - 1), np.full_like(z, _SQRT_HALF)) << 1
    b_zeros = 32 - _length(_multiply(z, np.full_like(z, _SQRT_HALF))) - 1
    b = z << b_zeros
    fraction = 31 - _ACCUMULATOR_BITS
    quarter = rounding_divide_by_power_of_two(np.array(_QUARTER), _ACCUMULATOR_BITS)
    power = np.maximum(
        ((_SUM_BITS - zeros) << fraction) + quarter, ((_SUM_BITS - b_zeros) << fraction) - quarter
    )
    r = np.minimum(_saturated(a), _saturated(b))
    p = _half_sum(r, _SQRT_SQRT_HALF)
    q = (r - _SQRT_SQRT_HALF) * 2
    square = _multiply(q, q)
    numerator = _multiply(q, r) + _multiply(_multiply(q, square), _ALPHA_N)
    denominator = _multiply(p, _ALPHA_I + q + _multiply(square, _ALPHA_D)) + _multiply(q, _ALPHA_F)
    inverse = reciprocal_of_one_plus(denominator)
    scaled = rounding_divide_by_power_of_two(numerator, _ACCUMULATOR_BITS)
    return _saturated((_multiply(power, np.full_like(z, _LOG_2)) + _multiply(scaled, inverse)) << 1)


def _length(x: Integers) -> Integers:
    """Returns the bits that numbers take: the exponent of the double that holds each."""
    return np.frexp(x.astype(np.float64))[1].astype(np.int64)


def _half_sum(a: Integers, b: int) -> Integers:
    """Returns (a + b) / 2 rounded to nearest, ties away from zero."""
    total = a + b
    sign = np.where(total >= 0, 1, -1)
    half: Integers = sign * ((np.abs(total) + 1) >> 1)
    return half


def _saturated(x: Integers) -> Integers:
    return np.clip(x, INT32_MIN, INT32_MAX)
