"""HARD_SWISH in portable C: a table for int8."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import Expression, lower_elements
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._lookup import lower_lookup
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._elementwise import NoAttributes


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    if bound.output.dtype is DType.INT8:
        return lower_lookup(bound)
    lines = (
        "float gate = x + 3.0f;",
        "",
        "gate = gate < 0.0f ? 0.0f : gate;",
        "gate = gate > 6.0f ? 6.0f : gate;",
    )
    return lower_elements(bound, Expression("x * gate / 6.0f", lines))


KERNEL = Kernel("hard_swish", takes_anything, _lower, cost=stated_cost)
