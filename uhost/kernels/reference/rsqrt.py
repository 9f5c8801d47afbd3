"""RSQRT in portable C: a table for int8, Newton steps for int16."""

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
from uhost.ops.rsqrt import FRACTION_BITS, rsqrt_scaling


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    output = bound.output
    if output.dtype is DType.INT8:
        return lower_lookup(bound)
    if output.dtype is DType.FLOAT32:
        return lower_elements(bound, Expression("1.0f / uhost_sqrt(x)", (), ("float_sqrt",)))
    lines = (
        "int32_t multiplier;",
        "int32_t shift;",
        "int32_t root;",
        "",
        "uhost_inverse_square_root(x, &multiplier, &shift);",
        f"/* In units of 2^-{FRACTION_BITS}. */",
        f"root = uhost_multiply_by_quantized_multiplier(1, multiplier, shift + {FRACTION_BITS});",
        f"root = {scaled('root', rsqrt_scaling(bound))};",
    )
    highest = output.dtype.limits[1]
    result = f"x <= 0 ? {highest} : {quantized_result('root', output)}"
    return lower_elements(bound, Expression(result, lines, ("requantize", "root_inverse")))


KERNEL = Kernel("rsqrt", takes_anything, _lower, cost=stated_cost)
