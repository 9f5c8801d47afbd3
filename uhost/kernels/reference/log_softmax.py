"""LOG_SOFTMAX in portable C; in int8 the exponentials of all distances are a table."""

from __future__ import annotations

from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    output_parameter,
    takes_anything,
)
from uhost.numerics.log_softmax import log_softmax_scaling
from uhost.ops._elementwise import NoAttributes


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    source = bound.input(0)
    depth = source.shape[-1]
    values: dict[str, Any] = {"rows": source.elements // depth, "depth": depth}
    pointers = input_parameter(source), output_parameter(bound.output)
    if source.dtype is DType.FLOAT32:
        includes = ("float_exp", "float_log")
        return KernelCall("reference", "log_softmax_float32", values, pointers, includes=includes)
    scaling = log_softmax_scaling(source.scale)
    values |= {
        "multiplier": scaling.multiplier,
        "shift": scaling.shift,
        "back_multiplier": scaling.back_multiplier,
        "back_shift": scaling.back_shift,
        "least": scaling.least,
    }
    return KernelCall(
        "reference",
        "log_softmax_int8",
        values,
        (pointers[0], constant_parameter("exponentials", "int32_t"), pointers[1]),
        constants=(Constant("exponentials", scaling.exponentials()),),
        includes=("requantize", "softmax", "softmax_log"),
    )


KERNEL = Kernel("log_softmax", takes_anything, _lower, cost=stated_cost)
