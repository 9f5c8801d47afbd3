"""EMBEDDING_LOOKUP in portable C: a row per index, scaled where it becomes float32."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._gather import Rows, lower_rows
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.embedding_lookup import EmbeddingLookupAttributes, is_hybrid


def _lower(bound: BoundOperator[EmbeddingLookupAttributes]) -> KernelCall:
    indices, table = bound.input(0), bound.input(1)
    rows = Rows(1, 1, indices.elements, table.shape[0], math.prod(table.shape[1:]))
    return lower_rows(bound, rows, 1, 0, table.scale if is_hybrid(bound) else None)


KERNEL = Kernel(
    operator="embedding_lookup", supports=takes_anything, lower=_lower, cost=stated_cost
)
