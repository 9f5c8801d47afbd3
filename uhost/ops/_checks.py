"""Checks that operators' `infer` functions share.

Each raises `UnsupportedNodeError` with a reason that names the tensor.
"""

from __future__ import annotations

import math

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.tensor import Tensor
from uhost.ops._op import UnsupportedNodeError


def require(condition: bool, reason: str) -> None:
    """Raises `UnsupportedNodeError(reason)` unless `condition` holds."""
    if not condition:
        raise UnsupportedNodeError(reason)


def require_dtype(tensor: Tensor, *allowed: DType) -> None:
    """Requires the tensor's type to be one of `allowed` and the tensor to have elements."""
    names = " or ".join(str(dtype) for dtype in allowed)
    require(tensor.dtype in allowed, f"'{tensor.name}' is {tensor.dtype}, not {names}")
    require(all(size > 0 for size in tensor.shape), f"'{tensor.name}' has no elements")


def require_same_dtype(first: Tensor, *others: Tensor) -> None:
    """Requires every tensor to have the type of `first`."""
    for other in others:
        require(
            other.dtype is first.dtype,
            f"'{other.name}' is {other.dtype} but '{first.name}' is {first.dtype}",
        )


def require_quantized(*tensors: Tensor) -> None:
    """Requires one scale, positive and finite, and one zero point within the type."""
    for tensor in tensors:
        quantization = tensor.quantization
        require(quantization is not None, f"'{tensor.name}' has no quantisation")
        assert quantization is not None
        require(
            len(quantization.scale) == 1 and len(quantization.zero_point) == 1,
            f"'{tensor.name}' is quantised per channel",
        )
        scale, zero_point = quantization.per_tensor
        require(math.isfinite(scale) and scale > 0.0, f"'{tensor.name}' has the scale {scale:.9g}")
        limits = np.iinfo(tensor.dtype.value)
        require(
            limits.min <= zero_point <= limits.max,
            f"'{tensor.name}' has the zero point {zero_point}, which {tensor.dtype} cannot hold",
        )


def require_symmetric(*tensors: Tensor) -> None:
    """Requires the zero point 0 of every int16 tensor, as the format's specification does."""
    for tensor in tensors:
        require(
            tensor.dtype is not DType.INT16 or tensor.zero_point == 0,
            f"'{tensor.name}' is int16 with a zero point",
        )


def require_same_quantization(first: Tensor, *others: Tensor) -> None:
    """Requires every tensor to have the per-tensor scale and zero point of `first`."""
    require_quantized(first, *others)
    for other in others:
        require(
            (other.scale, other.zero_point) == (first.scale, first.zero_point),
            f"'{other.name}' (scale {other.scale:.9g}, zero point {other.zero_point}) and "
            f"'{first.name}' (scale {first.scale:.9g}, zero point {first.zero_point}) "
            f"are quantised differently",
        )
