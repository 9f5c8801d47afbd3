"""The product of all elements over constant axes."""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ops._reduce import reduction

OPERATOR = reduction(
    "reduce_prod",
    lambda rows: np.cumprod(rows, axis=-1, dtype=rows.dtype)[..., -1],
    DType.FLOAT32,
    DType.INT32,
    DType.INT64,
    by_litert=lambda bound: True,
)
