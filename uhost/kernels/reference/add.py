"""ADD in portable C, with any broadcasting."""

from __future__ import annotations

import math
from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import by_element
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
from uhost.ops.add import AddAttributes, add_scaling, left_shift


def _lower(bound: BoundOperator[AddAttributes]) -> KernelCall:
    first, second, output = bound.input(0), bound.input(1), bound.output
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
    # An input that is broadcast is read again.
    sharing = tuple(
        by_element(bound, index)
        for index in (0, 1)
        if bound.input(index).elements == output.elements
    )
    bounds = bound.attributes.activation.bounds
    if output.dtype is DType.FLOAT32:
        low, high = (f"{limit}f" if math.isfinite(limit) else "" for limit in bounds)
        values |= {"lowest": low, "highest": high}
        return KernelCall("reference", "add_float32", values, parameters, overlaps=sharing)
    if output.dtype in (DType.INT32, DType.INT64):
        limits = output.dtype.limits
        low_end, high_end = bound.attributes.activation.whole(limits)
        values |= {
            "c_type": output.dtype.c_type,
            "lowest": low_end if low_end > limits[0] else None,
            "highest": high_end if high_end < limits[1] else None,
        }
        return KernelCall("reference", "add_integers", values, parameters, overlaps=sharing)
    scaling = add_scaling(bound)
    lowest, highest = activation_range(bounds, output)
    values |= {
        "left_shift": left_shift(bound),
        "first_offset": plus(-first.zero_point),
        "second_offset": plus(-second.zero_point),
        "output_offset": plus(output.zero_point),
        "first_scale": scaling.first,
        "second_scale": scaling.second,
        "output_scale": scaling.output,
        "lowest": lowest,
        "highest": highest,
        "c_type": output.dtype.c_type,
    }
    return KernelCall(
        "reference",
        "add_quantized",
        values,
        parameters,
        includes=("requantize",),
        overlaps=sharing,
    )


KERNEL = Kernel(
    operator="add", supports=takes_anything, lower=_lower, cost=stated_cost, is_fallback=True
)
