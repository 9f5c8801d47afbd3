"""LOGISTIC in portable C: a table for int8, interpolation for int16, the exponential for float."""

from __future__ import annotations

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._lookup import lower_lookup
from uhost.kernels.reference._parameters import (
    constant_parameter,
    input_parameter,
    output_parameter,
    takes_anything,
)
from uhost.numerics.logistic import logistic_int16_factor, logistic_table
from uhost.ops.logistic import LogisticAttributes


def _lower(bound: BoundOperator[LogisticAttributes]) -> KernelCall:
    source, output = bound.input(0), bound.output
    if source.dtype is DType.INT8:
        return lower_lookup(bound)
    pointers = input_parameter(source), output_parameter(output)
    if source.dtype is DType.FLOAT32:
        values: dict[str, int] = {"elements": source.elements}
        return KernelCall(
            "reference", "logistic_float32", values, pointers, includes=("float_exp",)
        )
    multiplier, shift = logistic_int16_factor(source.scale)
    return KernelCall(
        "reference",
        "logistic_int16",
        {"elements": source.elements, "multiplier": multiplier, "shift": shift},
        (pointers[0], constant_parameter("table", "uint16_t"), pointers[1]),
        constants=(Constant("table", logistic_table()),),
        includes=("logistic",),
    )


KERNEL = Kernel(operator="logistic", supports=takes_anything, lower=_lower, cost=stated_cost)
