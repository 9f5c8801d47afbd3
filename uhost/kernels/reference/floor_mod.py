"""FLOOR_MOD in portable C, with any broadcasting."""

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
        float_lines = ("const float rest = uhost_remainder(a, b);",)
        result = "rest != 0.0f && (rest < 0.0f) != (b < 0.0f) ? rest + b : rest"
        return lower_elements(bound, Expression(result, float_lines, ("float_remainder",)))
    c_type = bound.output.dtype.c_type
    lines = (
        "/* By -1 nothing is left, and the quotient of the lowest number would overflow. */",
        f"const {c_type} rest = b == 0 || b == -1 ? 0 : a % b;",
    )
    result = "rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest"
    return lower_elements(bound, Expression(result, lines))


KERNEL = Kernel("floor_mod", takes_anything, _lower, cost=stated_cost)
