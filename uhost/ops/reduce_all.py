"""Whether all elements are true over constant axes."""

from __future__ import annotations

import numpy as np

from uhost.ir.dtype import DType
from uhost.ops._reduce import reduction

OPERATOR = reduction(
    "reduce_all",
    lambda rows: np.all(rows, axis=-1),
    DType.BOOL,
)
