"""DIV in portable C, with any broadcasting."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import (
    Expression,
    activated,
    centred,
    lower_elements,
    quantized_result,
)
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.numerics.fixed_point import activation_range
from uhost.ops.div import DivAttributes, div_scaling


def _lower(bound: BoundOperator[DivAttributes]) -> KernelCall:
    output, activation = bound.output, bound.attributes.activation
    if output.dtype is DType.INT8:
        a, b = (centred(name, bound.input(i)) for i, name in enumerate("ab"))
        multiplier, shift = div_scaling(bound)
        quotient = (f"const int32_t quotient = uhost_divide({a}, {b}, {multiplier}, {shift});",)
        limits = activation_range(activation.bounds, output)
        result = quantized_result("quotient", output, limits)
        return lower_elements(
            bound, Expression(result, quotient, ("requantize", "softmax", "softmax_division"))
        )
    ends = activated(activation, output, "quotient")
    is_float = output.dtype is DType.FLOAT32
    value = "a / b" if is_float else "uhost_divide_int32(a, b)"
    includes = () if is_float else ("divide_int32",)
    if not ends:
        return lower_elements(bound, Expression(value, (), includes))
    lines = (f"{output.dtype.c_type} quotient = {value};", "", *ends)
    return lower_elements(bound, Expression("quotient", lines, includes))


KERNEL = Kernel("div", takes_anything, _lower, cost=stated_cost)
