"""MEAN in portable C."""

from __future__ import annotations

from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import (
    headers,
    index_expression,
    loop_nest,
    plus,
    row_major_strides,
)
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.ops.mean import MeanAttributes, mean_count, mean_scaling


def _lower(bound: BoundOperator[MeanAttributes]) -> KernelCall:
    source, output, axes = bound.input(0), bound.output, bound.attributes.axes
    kept = [1 if axis in axes else size for axis, size in enumerate(source.shape)]
    output_strides = [
        0 if axis in axes else stride for axis, stride in enumerate(row_major_strides(kept))
    ]
    loops = loop_nest(source.shape, row_major_strides(source.shape), output_strides)
    # A loop that leaves the output where it is adds up.
    outer = tuple(loop for loop in loops if loop.strides[1])
    inner = tuple(loop for loop in loops if not loop.strides[1])
    values: dict[str, Any] = {
        "outer_loops": headers(outer),
        "inner_loops": headers(inner, len(outer)),
        "input_index": index_expression(outer + inner, 0),
        "output_index": index_expression(outer, 1),
        "count": mean_count(bound),
    }
    parameters = input_parameter(source), output_parameter(output)
    if output.dtype is DType.FLOAT32:
        return KernelCall("reference", "mean_float32", values, parameters)
    multiplier, shift = mean_scaling(bound)
    values |= {
        "sum_offset": plus(-source.zero_point * values["count"]),
        "multiplier": multiplier,
        "shift": shift,
        "output_offset": plus(output.zero_point),
        "c_type": output.dtype.c_type,
        "lowest": output.dtype.limits[0],
        "highest": output.dtype.limits[1],
    }
    return KernelCall("reference", "mean_quantized", values, parameters, includes=("requantize",))


KERNEL = Kernel(operator="mean", supports=takes_anything, lower=_lower, cost=stated_cost)
