"""FILL in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import (
    input_parameter,
    output_parameter,
    takes_anything,
)
from uhost.ops.fill import FillAttributes


def _lower(bound: BoundOperator[FillAttributes]) -> KernelCall:
    value, output = bound.input(0), bound.output
    values = {
        "elements": output.elements,
        "c_type": output.dtype.c_type,
        "value": "value[0]",
    }
    parameters = input_parameter(value, "value"), output_parameter(output)
    return KernelCall("reference", "fill", values, parameters)


KERNEL = Kernel("fill", takes_anything, _lower, cost=stated_cost)
