"""Logistic, hyperbolic tangent and layer normalisation in 16-bit fixed point, as LiteRT's LSTM.

The same series and Newton steps as in `uhost.numerics.softmax`, on 16-bit numbers with the
32-bit constants rounded. Sources: gemmlowp, "fixedpoint.h"; LiteRT,
"portable_tensor_utils.cc" and "quantization_util.h".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import (
    multiply_by_quantized_multiplier,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
)

Integers = NDArray[np.int64]

_ONE = 32767
# exp(-1/8), 1/3 and exp(-2^k) for k = -2 … 4 in Q0.15; 48/17 and -32/17 in Q2.13.
EXP_MINUS_EIGHTH, ONE_THIRD = 28918, 10923
EXP_OF_BITS = (25520, 19875, 12055, 4435, 600, 11, 0)
FORTY_EIGHT_SEVENTEENTHS, MINUS_THIRTY_TWO_SEVENTEENTHS = 23130, -15420


def _multiply(a: Array | int, b: Array | int) -> Integers:
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    rounded: Integers = np.minimum((product + (1 << 14)) >> 15, _ONE)
    return rounded


def _shift_left(x: Array, bits: int) -> Integers:
    shifted: Integers = np.asarray(x, np.int64) << bits
    return np.clip(shifted, -32768, _ONE)


def _exp_on_negative_values(x: Integers, integer_bits: int) -> Integers:
    """Returns exp(x) in Q0.15 for x ≤ 0 with `integer_bits` integer bits."""
    fraction_bits = 15 - integer_bits
    # With all bits before the point a quarter is below one unit of 2^-13.
    quarter = 1 << (fraction_bits - 2)
    within = (x & (quarter - 1)) - quarter
    a = _shift_left(within, integer_bits) + (1 << 12)
    squared = _multiply(a, a)
    cubed, fourth = _multiply(squared, a), _multiply(squared, squared)
    quarter_fourth = rounding_divide_by_power_of_two(fourth, 2)
    series = rounding_divide_by_power_of_two(
        _multiply(quarter_fourth + cubed, ONE_THIRD) + squared, 1
    )
    result = np.minimum(EXP_MINUS_EIGHTH + _multiply(EXP_MINUS_EIGHTH, a + series), _ONE)
    rest = within - x
    for position, factor in enumerate(EXP_OF_BITS[: integer_bits + 2]):
        bit = 1 << (fraction_bits - 2 + position)
        result = np.where(rest & bit, _multiply(result, factor), result)
    if integer_bits > 5:
        result = np.where(x < -(1 << (36 - integer_bits)) >> 16, 0, result)
    return np.where(x == 0, _ONE, result)


def _reciprocal(x: Integers) -> Integers:
    """Returns 2 / (1 + x) in Q2.13 for x in [0, 1] in Q0.15."""
    half = (x + _ONE + 1) >> 1
    estimate = FORTY_EIGHT_SEVENTEENTHS + _multiply(half, MINUS_THIRTY_TWO_SEVENTEENTHS)
    for _ in range(3):
        error = (1 << 13) - _multiply(half, estimate)
        estimate = estimate + _shift_left(_multiply(estimate, error), 2)
    return estimate


def logistic_fixed(x: Array) -> Integers:
    """Returns the logistic of int16 numbers of 3 integer bits, in Q0.15."""
    value = np.asarray(x, np.int64)
    positive = _shift_left(_reciprocal(_exp_on_negative_values(-np.abs(value), 3)), 1)
    result = np.where(value > 0, positive, _ONE - positive)
    return np.where(value == 0, 1 << 14, result)


def tanh_fixed(x: Array, integer_bits: int) -> Integers:
    """Returns the hyperbolic tangent of int16 numbers of `integer_bits` (0 to 6), in Q0.15."""
    value = np.asarray(x, np.int64)
    estimate = _reciprocal(_exp_on_negative_values(-np.abs(value), integer_bits + 1))
    result = _shift_left(estimate - (1 << 13), 2)
    return np.where(value == 0, 0, np.where(value < 0, -result, result))


def _inverse_square_root(x: int) -> tuple[int, int]:
    """Returns (multiplier, shift) of 1 / √x for `multiply_by_quantized_multiplier`, x ≥ 1."""
    if x <= 1:
        return 2**31 - 1, 0
    shift = 11
    while x >= 1 << 29:
        x //= 4
        shift += 1
    pairs = (31 - x.bit_length()) // 2 - 1
    shift -= pairs
    x <<= 2 * pairs
    half = int(rounding_divide_by_power_of_two(np.array(x >> 1), 1))

    def times(a: int, b: int) -> int:
        return int(saturating_rounding_doubling_high_multiply(np.array(a), b))

    def saturate(a: int) -> int:
        return min(max(a, -(2**31)), 2**31 - 1)

    root = 1 << 28
    for _ in range(5):
        cube = saturate(times(times(root, root), root) << 6)
        root = saturate((times((1 << 28) + (1 << 27), root) - times(half, cube)) << 3)
    root = times(root, 1518500250)
    if shift < 0:
        root, shift = root << -shift, 0
    return root, -shift


def _truncated(a: int, b: int) -> int:
    """Returns a / b rounded toward zero, as C divides."""
    return a // b if a >= 0 else -(-a // b)


def layer_norm(
    x: Array, weights: Array, bias: Array, factor: tuple[int, int], variance_guard: int
) -> Integers:
    """Returns each row of int16 `x` normalised, weighted and biased, as int16 values."""
    value = np.asarray(x, np.int64)
    count = value.shape[-1]
    rows = []
    for row in value.reshape(-1, count):
        total, squares = int(row.sum()), int((row * row).sum())
        mean = _truncated(total * 1024, count)
        variance = _truncated(squares * ((1 << 20) // count) - mean * mean, 1 << 20)
        if variance < 1:
            variance = variance_guard
        scaled = multiply_by_quantized_multiplier(
            1024 * row - mean, *_inverse_square_root(variance)
        )
        weighted = scaled * weights.astype(np.int64) + bias.astype(np.int64)
        tens = np.where(weighted > 0, (weighted + 512) // 1024, -((512 - weighted) // 1024))
        rows.append(multiply_by_quantized_multiplier(tens, factor[0], factor[1] + 12))
    return np.clip(np.array(rows), -32768, _ONE).reshape(value.shape)
