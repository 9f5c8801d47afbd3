"""ZEROS_LIKE in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import output_parameter, takes_anything
from uhost.ops._elementwise import NoAttributes
from uhost.ops.zeros_like import zero_of


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    output = bound.output
    values = {
        "elements": output.elements,
        "c_type": output.dtype.c_type,
        "value": str(zero_of(bound)),
    }
    return KernelCall("reference", "fill", values, (output_parameter(output),))


KERNEL = Kernel("zeros_like", takes_anything, _lower, cost=stated_cost)
