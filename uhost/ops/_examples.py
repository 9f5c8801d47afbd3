"""Tensors for operators' examples."""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ir.tensor import Array, Quantization, Tensor


def quantized(
    name: str,
    shape: tuple[int, ...],
    scale: float,
    zero_point: int,
    dtype: DType = DType.INT8,
    values: Array | None = None,
) -> Tensor:
    """Returns a per-tensor quantised tensor; `scale` is rounded to float32 as in model files."""
    quantization = Quantization((float(np.float32(scale)),), (zero_point,))
    return Tensor(name, shape, dtype, quantization, values)


def real(name: str, shape: tuple[int, ...], values: Array | None = None) -> Tensor:
    """Returns a float32 tensor."""
    return Tensor(name, shape, DType.FLOAT32, None, values)
