"""CUMSUM in portable C."""

from __future__ import annotations

import math
from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import plus
from uhost.kernels.reference._parameters import (
    input_parameter,
    output_parameter,
    takes_anything,
)
from uhost.numerics.exact_sum import sum_scaling
from uhost.ops.cumsum import CumsumAttributes

_SUMS = {DType.INT8: "int32_t", DType.INT32: "uint32_t", DType.INT64: "uint64_t"}
"""The C types of sums; those of wide integers wrap."""


def _lower(bound: BoundOperator[CumsumAttributes]) -> KernelCall:
    source, output, at = bound.input(0), bound.output, bound.attributes
    shape, axis = source.shape, at.axis
    values: dict[str, Any] = {
        "outer": math.prod(shape[:axis]),
        "size": shape[axis],
        "inner": math.prod(shape[axis + 1 :]),
        "c_type": output.dtype.c_type,
        "sum_type": _SUMS.get(output.dtype, "float"),
        "exclusive": at.exclusive,
        "reverse": at.reverse,
        "is_quantized": output.dtype is DType.INT8,
    }
    includes: tuple[str, ...] = ()
    if output.dtype is DType.INT8:
        multiplier, right_shift = sum_scaling(source.scale, output.scale)
        values |= {
            "offset": plus(-source.zero_point),
            "multiplier": multiplier,
            "shift": right_shift,
            "output_offset": output.zero_point,
        }
        includes = ("requantize", "scale_sum")
    parameters = input_parameter(source), output_parameter(output)
    return KernelCall("reference", "cumsum", values, parameters, includes=includes)


KERNEL = Kernel("cumsum", takes_anything, _lower, cost=stated_cost)
