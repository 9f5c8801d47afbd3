"""Whether any element is true over constant axes."""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ops._reduce import reduction

OPERATOR = reduction(
    "reduce_any",
    lambda rows: np.any(rows, axis=-1),
    DType.BOOL,
    by_litert=lambda bound: True,
)
