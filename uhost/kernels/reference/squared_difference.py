"""SQUARED_DIFFERENCE in portable C, with any broadcasting."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import (
    Expression,
    lower_elements,
    quantized_result,
    scaled,
)
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._scaled import common_scale_lines
from uhost.ops._elementwise import NoAttributes
from uhost.ops.squared_difference import difference_scaling


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    output = bound.output
    if output.dtype is DType.FLOAT32:
        return lower_elements(bound, Expression("(a - b) * (a - b)"))
    if output.dtype is DType.INT32:
        lines = (
            "/* Unsigned, so that an overflow wraps. */",
            "const uint32_t difference = (uint32_t)a - (uint32_t)b;",
        )
        return lower_elements(bound, Expression("(int32_t)(difference * difference)", lines))
    scaling = difference_scaling(bound)
    result = quantized_result(scaled("(p - q) * (p - q)", scaling.output), output)
    return lower_elements(
        bound, Expression(result, common_scale_lines(bound, scaling), ("requantize",))
    )


KERNEL = Kernel("squared_difference", takes_anything, _lower, cost=stated_cost)
