"""ABS in portable C."""

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
from uhost.kernels.reference._lookup import lower_lookup
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._elementwise import NoAttributes
from uhost.ops.abs import abs_scaling


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    output = bound.output
    if output.dtype is DType.INT8:
        return lower_lookup(bound)
    if output.dtype is DType.INT32:
        # Unsigned, as the lowest integer has no opposite.
        return lower_elements(bound, Expression("x < 0 ? (int32_t)(0u - (uint32_t)x) : x"))
    if output.dtype is DType.FLOAT32:
        # Not a comparison with 0, after which -0 would stay.
        return lower_elements(bound, Expression("__builtin_fabsf(x)"))
    scaling = abs_scaling(bound)
    size = "(x < 0 ? -x : x)"
    value = scaled(size, scaling) if scaling else size
    return lower_elements(bound, Expression(quantized_result(value, output), (), ("requantize",)))


KERNEL = Kernel("abs", takes_anything, _lower, cost=stated_cost)
