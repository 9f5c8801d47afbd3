"""Fused activations: from the codes of a model file, and as a clamp of float results."""

from __future__ import annotations

import math

import numpy as np

from uhost.ir.tensor import Array
from uhost.ops._op import Activation, UnsupportedNodeError

_TFLITE_CODES = {
    0: Activation.NONE,
    1: Activation.RELU,
    2: Activation.RELU_N1_TO_1,
    3: Activation.RELU6,
}
_TFLITE_UNSUPPORTED = {4: "tanh", 5: "sign_bit"}


def tflite_activation(code: int) -> Activation:
    """Returns the activation of a TFLite `ActivationFunctionType` code.

    Raises `UnsupportedNodeError` for the others, which TFLite's own kernels ignore.
    """
    if code in _TFLITE_CODES:
        return _TFLITE_CODES[code]
    name = _TFLITE_UNSUPPORTED.get(code, f"activation {code}")
    raise UnsupportedNodeError(f"fused {name}")


def clamp_float(values: Array, activation: Activation) -> Array:
    """Returns float32 `values` clamped to the activation's interval; NaN stays NaN."""
    low, high = activation.bounds
    if math.isfinite(low):
        values = np.where(values < np.float32(low), np.float32(low), values)
    if math.isfinite(high):
        values = np.where(values > np.float32(high), np.float32(high), values)
    return values
