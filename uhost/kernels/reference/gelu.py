"""GELU in portable C: a table for int8."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import Expression, lower_elements
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._lookup import lower_lookup
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.gelu import GeluAttributes


def _lower(bound: BoundOperator[GeluAttributes]) -> KernelCall:
    if bound.output.dtype is DType.INT8:
        return lower_lookup(bound)
    if bound.attributes.approximate:
        lines = ("const float inner = 0.7978846f * (x + 0.044715f * x * x * x);",)
        result = "0.5f * x * (1.0f + uhost_float_tanh(inner))"
        return lower_elements(bound, Expression(result, lines, ("float_exp", "float_tanh")))
    result = "0.5f * x * uhost_error_complement(x * -0.70710678f)"
    return lower_elements(bound, Expression(result, (), ("float_exp", "float_gaussian")))


KERNEL = Kernel("gelu", takes_anything, _lower, cost=stated_cost)
