"""Layers of float32 activations and int8 weights, as LiteRT's reference kernels compute them.

Each sample of the batch is quantised to int8 when the layer runs, with a scale of its own, and
a zero point where the weights have a scale per channel. Source of the algorithm: TFLite,
`SymmetricQuantizeFloats`, `AsymmetricQuantizeFloats`, `HybridConv` and `HybridConvPerChannel`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uhost.ir.tensor import Array
from uhost.numerics.fixed_point import round_half_away

_LOWEST, _HIGHEST = -128, 127


@dataclass(frozen=True, slots=True, eq=False)
class QuantizedSample:
    """A sample as int8: real ≈ scale · (values - zero_point)."""

    values: NDArray[np.int8]
    scale: np.float32
    zero_point: int


def quantize_symmetric(sample: Array) -> QuantizedSample:
    """Returns float32 numbers as int8 from -127 to 127, with the zero point 0."""
    reach = np.float32(max(abs(float(sample.min())), abs(float(sample.max()))))
    if reach == 0:
        return QuantizedSample(np.zeros(sample.shape, np.int8), np.float32(1), 0)
    whole = _rounded(sample * (np.float32(_HIGHEST) / reach))
    values = np.clip(whole, -_HIGHEST, _HIGHEST).astype(np.int8)
    return QuantizedSample(values, reach / np.float32(_HIGHEST), 0)


def _rounded(scaled: Array) -> NDArray[np.float64]:
    """Returns float32 numbers rounded to nearest, ties away from zero."""
    exactly = scaled.astype(np.float64)
    return np.where(exactly < 0, np.ceil(exactly - 0.5), np.floor(exactly + 0.5))


def quantize_asymmetric(sample: Array) -> QuantizedSample:
    """Returns float32 numbers as int8, with 0 among what it can hold."""
    low, high = float(min(sample.min(), 0.0)), float(max(sample.max(), 0.0))
    if low == high:
        return QuantizedSample(np.zeros(sample.shape, np.int8), np.float32(1), 0)
    step = (high - low) / (_HIGHEST - _LOWEST)
    # Of the zero points that either end asks for, the one with the smaller rounding error.
    near_low = abs(_LOWEST) + abs(low / step) < abs(_HIGHEST) + abs(high / step)
    exact = _LOWEST - low / step if near_low else _HIGHEST - high / step
    zero_point = round_half_away(min(max(exact, _LOWEST), _HIGHEST))
    scale = np.float32(step)
    scaled = np.float32(zero_point) + sample * (np.float32(1) / scale)
    whole = _rounded(scaled)
    return QuantizedSample(np.clip(whole, _LOWEST, _HIGHEST).astype(np.int8), scale, zero_point)
