"""The smallest element over constant axes."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ops._extremes import TYPES, extreme
from uhost.ops._op import reads
from uhost.ops._reduce import reduction

OPERATOR = reduction(
    "reduce_min",
    lambda rows: extreme(rows, "min"),
    *TYPES,
    by_litert=reads(DType.INT16, DType.INT32, DType.INT64),
)
