"""FLOOR_DIV in portable C, with any broadcasting."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import Expression, lower_elements
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._elementwise import NoAttributes


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    if bound.output.dtype is DType.FLOAT32:
        return lower_elements(
            bound, Expression("uhost_floor_divide(a, b)", (), ("float_floor_divide",))
        )
    lines = (
        "const int32_t quotient = uhost_divide_int32(a, b);",
        "/* The division cuts, which goes up below 0. */",
        "const bool is_cut = b != 0 && b != -1 && a % b != 0;",
    )
    result = "is_cut && (a < 0) != (b < 0) ? quotient - 1 : quotient"
    return lower_elements(bound, Expression(result, lines, ("divide_int32",)))


KERNEL = Kernel("floor_div", takes_anything, _lower, cost=stated_cost)
