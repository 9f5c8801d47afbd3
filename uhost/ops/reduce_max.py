"""The largest element over constant axes."""

from __future__ import annotations

from uhost.ops._extremes import TYPES, extreme
from uhost.ops._reduce import reduction

OPERATOR = reduction(
    "reduce_max",
    lambda rows: extreme(rows, "max"),
    *TYPES,
)
