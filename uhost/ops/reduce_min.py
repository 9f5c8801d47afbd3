"""The smallest element over constant axes."""

from __future__ import annotations

from uhost.ops._extremes import TYPES, extreme
from uhost.ops._reduce import reduction

OPERATOR = reduction(
    "reduce_min",
    lambda rows: extreme(rows, "min"),
    *TYPES,
)
