"""LEAKY_RELU in portable C: a table for int8."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import (
    Expression,
    lower_elements,
    quantized_result,
)
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._lookup import lower_lookup
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.leaky_relu import LeakyReluAttributes, leaky_scaling


def _lower(bound: BoundOperator[LeakyReluAttributes]) -> KernelCall:
    output = bound.output
    if output.dtype is DType.INT8:
        return lower_lookup(bound)
    if output.dtype is DType.FLOAT32:
        alpha = bound.attributes.alpha
        return lower_elements(bound, Expression(f"x > 0.0f ? x : x * {alpha!r}f"))
    above, below = leaky_scaling(bound)
    lines = (
        f"const int32_t multiplier = x < 0 ? {below[0]} : {above[0]};",
        f"const int32_t shift = x < 0 ? {below[1]} : {above[1]};",
        "const int32_t scaled = uhost_multiply_by_quantized_multiplier(x, multiplier, shift);",
    )
    result = quantized_result("scaled", output)
    return lower_elements(bound, Expression(result, lines, ("requantize",)))


KERNEL = Kernel("leaky_relu", takes_anything, _lower, cost=stated_cost)
