"""MUL in portable C, with any broadcasting."""

from __future__ import annotations

import math
from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import Expression, activated, lower_elements, shared_bytes
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import (
    broadcast_strides,
    headers,
    index_expression,
    loop_nest,
    plus,
    row_major_strides,
)
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.numerics.fixed_point import activation_range
from uhost.ops.mul import WHOLE, MulAttributes, mul_scaling


def _lower(bound: BoundOperator[MulAttributes]) -> KernelCall:
    first, second, output = bound.input(0), bound.input(1), bound.output
    if output.dtype in WHOLE:
        c_type, activation = output.dtype.c_type, bound.attributes.activation
        # Unsigned, so that an overflow wraps.
        product = f"{c_type} product = ({c_type})((u{c_type})a * (u{c_type})b);"
        lines = (product, *activated(activation, output, "product"))
        return lower_elements(bound, Expression("product", lines))
    loops = loop_nest(
        output.shape,
        broadcast_strides(first.shape, output.shape),
        broadcast_strides(second.shape, output.shape),
        row_major_strides(output.shape),
    )
    values: dict[str, Any] = {
        "loops": headers(loops),
        "first_index": index_expression(loops, 0),
        "second_index": index_expression(loops, 1),
        "output_index": index_expression(loops, 2),
    }
    parameters = (
        input_parameter(first, "first", 0),
        input_parameter(second, "second", 1),
        output_parameter(output),
    )
    bounds = bound.attributes.activation.bounds
    if output.dtype is DType.FLOAT32:
        low, high = (f"{limit}f" if math.isfinite(limit) else "" for limit in bounds)
        values |= {"lowest": low, "highest": high}
        return KernelCall(
            "reference", "mul_float32", values, parameters, overlaps=shared_bytes(bound)
        )
    lowest, highest = activation_range(bounds, output)
    values |= {
        "element": output.dtype.c_type,
        "first_offset": plus(-first.zero_point),
        "second_offset": plus(-second.zero_point),
        "output_offset": plus(output.zero_point),
        "scale": mul_scaling(bound),
        "lowest": lowest,
        "highest": highest,
    }
    return KernelCall(
        "reference",
        "mul_integer",
        values,
        parameters,
        includes=("requantize",),
        overlaps=shared_bytes(bound),
    )


KERNEL = Kernel(
    operator="mul", supports=takes_anything, lower=_lower, cost=stated_cost, is_fallback=True
)
