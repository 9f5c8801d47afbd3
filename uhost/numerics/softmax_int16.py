"""Softmax of int16 by two tables of 513 points, as TensorFlow Lite Micro computes it.

A table holds a function at 513 equidistant points, each moved by half of the error that
straight lines make in the middle of its interval; between points it is read along the line.
Source of the algorithm: TFLite, "reference/softmax.h" and "internal/common.h".
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_half_away,
)

_POINTS = 512
_LEAST, _MOST = -(2**15), 2**15 - 1
_EXP_REACH = 10.0
"""exp is tabulated on [-10, 0]."""

WHOLE = 2**15 + 2**16
"""What is taken off a sum between 1 and 2 in Q1.16: it becomes a place in the table."""


def _table(function: Callable[[float], float], low: float, high: float) -> NDArray[np.int16]:
    step = (high - low) / _POINTS
    scaled = 2.0**15
    values = []
    for index in range(_POINTS):
        start, end = low + index * step, low + (index + 1) * step
        sample = round_half_away(function(start) * scaled)
        line = round_half_away((function(end) * scaled + sample) / 2)
        middle = round_half_away(function(start + step / 2) * scaled)
        values.append(sample - round_half_away((line - middle) / 2))
    values.append(round_half_away(function(high) * scaled))
    return np.clip(values, _LEAST, _MOST).astype(np.int16)


def exponential_table() -> NDArray[np.int16]:
    """Returns exp on [-10, 0] in Q0.15."""
    return _table(math.exp, -_EXP_REACH, 0.0)


def reciprocal_table() -> NDArray[np.int16]:
    """Returns 1 / (1 + x) on [0, 1] in Q0.15."""
    return _table(lambda x: 1.0 / (1.0 + x), 0.0, 1.0)


def look_up(value: Array, table: NDArray[np.int16]) -> NDArray[np.int64]:
    """Returns the table's function at int16 places: -32768 is its first point."""
    place, points = np.asarray(value, np.int64), table.astype(np.int64)
    index, offset = 256 + (place >> 7), place & 127
    slope = points[index + 1] - points[index]
    result: NDArray[np.int64] = points[index] + ((slope * offset + 64) >> 7)
    return result


def difference_scaling(beta: float, scale: float) -> tuple[int, int]:
    """Returns multiplier and shift that take [-10, 0] to [-65535, 0]."""
    return quantize_multiplier(scale * beta / (_EXP_REACH / 65535.0))


def softmax_int16(x: Array, beta: float, scale: float) -> NDArray[np.int16]:
    """Returns the softmax over the last axis, with scale 1/32768 and zero point 0."""
    value = x.astype(np.int64)
    difference = value - value.max(axis=-1, keepdims=True)
    scaled = multiply_by_quantized_multiplier(difference, *difference_scaling(beta, scale))
    exponential = look_up(np.clip(scaled + _MOST, _LEAST, _MOST), exponential_table())
    total = exponential.sum(axis=-1, keepdims=True)
    # The exponent of a double is the bit length of the integer it holds.
    bits = np.frexp(total.astype(np.float64))[1].astype(np.int64)
    shifted = ((total << (31 - bits)) + (1 << 13)) >> 14
    reciprocal = look_up(np.clip(shifted - WHOLE, _LEAST, _MOST), reciprocal_table())
    shift = bits - 1
    result: NDArray[np.int64] = (exponential * reciprocal + (np.int64(1) << (shift - 1))) >> shift
    output: NDArray[np.int16] = np.clip(result, 0, _MOST).astype(np.int16)
    return output
