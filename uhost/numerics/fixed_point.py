"""Fixed-point requantisation with double rounding, as TFLite Micro computes it.

A real factor is a 31-bit integer `multiplier` and a `shift`:
factor = multiplier · 2^(shift - 31). The product is rounded twice: by a saturating
rounding doubling high multiply (ties upward) and by a rounding right shift (ties away
from zero). Source of the algorithm: gemmlowp, "fixedpoint.h"; TFLite, "common.h".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array, Tensor

INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1


def quantize_multiplier(factor: float) -> tuple[int, int]:
    """Returns (multiplier, shift) with factor ≈ multiplier · 2^(shift - 31).

    `multiplier` is 0 or in [2^30, 2^31) in absolute value. A factor below 2^-32
    becomes (0, 0) and one above 2^30 saturates.
    """
    if factor == 0.0:
        return 0, 0
    mantissa, shift = math.frexp(factor)
    scaled = mantissa * 2**31
    multiplier = round_half_away(scaled)
    if abs(multiplier) == 2**31:
        multiplier //= 2
        shift += 1
    if shift < -31:
        return 0, 0
    if shift > 30:
        return INT32_MAX, 30
    return multiplier, shift


def saturating_rounding_doubling_high_multiply(a: Array, b: Array | int) -> NDArray[np.int64]:
    """Returns a·b / 2^31 rounded to nearest, ties upward; INT32_MAX where both are INT32_MIN.

    Both hold int32 values. gemmlowp adds a nudge of the product's sign and divides toward
    zero, which sends ties of either sign upward: one addition and a floor give the same.
    """
    left = np.asarray(a, np.int64)
    right = np.asarray(b, np.int64)
    # Only INT32_MIN · INT32_MIN exceeds INT32_MAX here.
    product: NDArray[np.int64] = np.minimum((left * right + (1 << 30)) >> 31, INT32_MAX)
    return product


def rounding_divide_by_power_of_two(x: Array, exponent: Array | int) -> NDArray[np.int64]:
    """Returns x / 2^exponent rounded half away from zero; exponent ≥ 0."""
    value = np.asarray(x, np.int64)
    # An int32 divided by 2^33 or more is 0 whatever the rounding.
    bits = np.minimum(np.asarray(exponent, np.int64), 33)
    mask = (np.int64(1) << bits) - 1
    remainder = value & mask
    threshold = (mask >> 1) + (value < 0)
    return ((value >> bits) + (remainder > threshold)).astype(np.int64)


def multiply_by_quantized_multiplier(
    x: Array, multiplier: Array | int, shift: Array | int
) -> NDArray[np.int64]:
    """Returns x · multiplier · 2^(shift - 31), rounded twice.

    `x` holds int32 values; `multiplier` and `shift` broadcast against it. The left
    shift wraps as a 32-bit register does.
    """
    shifts = np.asarray(shift, np.int64)
    shifted = wrap_int32(np.asarray(x, np.int64) << np.maximum(shifts, 0))
    high = saturating_rounding_doubling_high_multiply(shifted, multiplier)
    return rounding_divide_by_power_of_two(high, np.maximum(-shifts, 0))


WIDE_SUM_LIMIT = 2**47
"""The size that a sum taken by `multiply_wide` stays below."""


def cut_multiplier(multiplier: Array | int) -> NDArray[np.int64]:
    """Returns a 31-bit multiplier rounded to 16 bits: what 64-bit sums are multiplied by.

    Source of the algorithm: TFLite, `MultiplyByQuantizedMultiplier` of an int64.
    """
    value = np.asarray(multiplier, np.int64)
    return np.where(value < 0x7FFF0000, (value + (1 << 15)) >> 16, 0x7FFF)


def multiply_wide(x: Array, multiplier: Array | int, shift: Array | int) -> NDArray[np.int64]:
    """Returns x · multiplier · 2^(shift - 31) of a 64-bit sum, rounded once, ties upward.

    The multiplier is cut to 16 bits first. |x| is below `WIDE_SUM_LIMIT`; shift is at most 14.
    The result wraps as a 32-bit register does.
    """
    bits = 15 - np.asarray(shift, np.int64)
    product = np.asarray(x, np.int64) * cut_multiplier(multiplier)
    return wrap_int32((product + (np.int64(1) << (bits - 1))) >> bits)


def wrap_int32(x: Array) -> NDArray[np.int64]:
    """Returns x modulo 2^32 as a signed 32-bit value."""
    return np.asarray(x, np.int64).astype(np.int32).astype(np.int64)


def round_half_away(x: float) -> int:
    """Returns x rounded to the nearest integer, ties away from zero (C `round`)."""
    whole = math.floor(abs(x))
    # Not floor(x + 0.5): that addition rounds, and takes the double below 0.5 up to 1.
    nearest = whole + 1 if abs(x) - whole >= 0.5 else whole
    return nearest if x >= 0 else -nearest


def activation_range(bounds: tuple[float, float], output: Tensor) -> tuple[int, int]:
    """Returns the quantised clamp of an activation whose real interval is `bounds`.

    Source: TFLite `CalculateActivationRangeQuantized`.
    """
    info = np.iinfo(output.dtype.value)
    low, high = int(info.min), int(info.max)
    scale, zero_point = output.scale, output.zero_point
    for index, bound in enumerate(bounds):
        if math.isfinite(bound):
            with np.errstate(over="ignore"):
                quotient = float(np.float32(bound) / np.float32(scale))
            # A scale near 0 puts the bound out of any type's reach.
            quotient = min(max(quotient, INT32_MIN), INT32_MAX)
            quantized = zero_point + round_half_away(quotient)
            if index == 0:
                low = max(low, quantized)
            else:
                high = min(high, quantized)
    return low, high
