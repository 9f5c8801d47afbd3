"""NEG in portable C."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import Expression, lower_elements
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._elementwise import NoAttributes


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    dtype = bound.output.dtype
    if dtype is DType.FLOAT32:
        return lower_elements(bound, Expression("-x"))
    # Unsigned, as the lowest integer has no opposite.
    c_type = dtype.c_type
    return lower_elements(bound, Expression(f"({c_type})(0u - (u{c_type})x)"))


KERNEL = Kernel("neg", takes_anything, _lower, cost=stated_cost)
