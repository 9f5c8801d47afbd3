"""SUB in portable C, with any broadcasting."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import (
    Expression,
    activated,
    lower_elements,
    quantized_result,
    scaled,
)
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.kernels.reference._scaled import common_scale_lines
from uhost.numerics.fixed_point import activation_range
from uhost.ops._elementwise import QUANTIZED
from uhost.ops.sub import SubAttributes, sub_scaling


def _lower(bound: BoundOperator[SubAttributes]) -> KernelCall:
    output, activation = bound.output, bound.attributes.activation
    if output.dtype in QUANTIZED:
        scaling = sub_scaling(bound)
        limits = activation_range(activation.bounds, output)
        result = quantized_result(scaled("p - q", scaling.output), output, limits)
        lines = common_scale_lines(bound, scaling)
        return lower_elements(bound, Expression(result, lines, ("requantize",)))
    c_type, value = output.dtype.c_type, "a - b"
    lines = ()
    if output.dtype is not DType.FLOAT32:
        lines = ("/* Unsigned, so that an overflow wraps. */",)
        value = f"({c_type})((u{c_type})a - (u{c_type})b)"
    ends = activated(activation, output, "difference")
    if not ends:
        return lower_elements(bound, Expression(value, lines))
    lines = (*lines, f"{c_type} difference = {value};", "", *ends)
    return lower_elements(bound, Expression("difference", lines))


KERNEL = Kernel("sub", takes_anything, _lower, cost=stated_cost)
