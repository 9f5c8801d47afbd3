"""DEQUANTIZE in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import by_element
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import plus
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.ops.dequantize import DequantizeAttributes


def _lower(bound: BoundOperator[DequantizeAttributes]) -> KernelCall:
    source = bound.input(0)
    values = {
        "elements": source.elements,
        "scale": source.scale,
        "input_offset": plus(-source.zero_point),
    }
    parameters = input_parameter(source), output_parameter(bound.output)
    # An input of bytes may share with anything: the compiler keeps the order.
    sharing = (by_element(bound),) if source.dtype.size_bytes == 1 else ()
    return KernelCall("reference", "dequantize", values, parameters, overlaps=sharing)


KERNEL = Kernel(operator="dequantize", supports=takes_anything, lower=_lower, cost=stated_cost)
