"""Softmax of int16 by two tables of 513 points, as TensorFlow Lite Micro computes it.

A table holds a function at 513 equidistant points, each moved by half of the error that
straight lines make in the middle of its interval; between points it is read along the line.
Source of the algorithm: TFLite, "reference/softmax.h" and "internal/common.h".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)

_POINTS = 512
_LEAST, _MOST = -(2**15), 2**15 - 1
_EXP_REACH = 10.0
"""exp is tabulated on [-10, 0]."""

WHOLE = 2**15 + 2**16
"""What is taken off a sum between 1 and 2 in Q1.16: it becomes a place in the table."""


def _table(function: Callable[[Array], Array], low: float, high: float) -> NDArray[np.int16]:
    """Returns the points as TFLite Micro makes them, every step rounded to float32."""
    step, scale = np.float32((high - low) / _POINTS), np.float32(2.0**15)
    start = np.float32(low) + np.arange(_POINTS + 1, dtype=np.float32) * step
    points = function(start).astype(np.float32) * scale
    middles = function(start[:-1] + step / np.float32(2)).astype(np.float32) * scale
    samples = _whole(points)
    lines = _whole((points[1:] + samples[:-1]) / np.float32(2))
    errors = lines - _whole(middles)
    samples[:-1] -= _whole(errors / np.float32(2))
    return np.clip(samples, _LEAST, _MOST).astype(np.int16)


def _whole(values: Array) -> NDArray[np.float32]:
    """Returns float32 `values` rounded to nearest, ties away from zero."""
    exact = values.astype(np.float64)
    whole: NDArray[np.float32] = np.trunc(exact + np.copysign(0.5, exact)).astype(np.float32)
    return whole


def exponential_table() -> NDArray[np.int16]:
    """Returns exp on [-10, 0] in Q0.15."""
    # Through double, as numpy's own float32 may be off in the last place.
    return _table(lambda x: np.exp(x.astype(np.float64)), -_EXP_REACH, 0.0)


def reciprocal_table() -> NDArray[np.int16]:
    """Returns 1 / (1 + x) on [0, 1] in Q0.15; LiteRT has two of the points otherwise, by 1."""
    return _table(lambda x: np.float32(1) / (np.float32(1) + x), 0.0, 1.0)


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
