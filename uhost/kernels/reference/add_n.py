"""ADD_N in portable C."""

from __future__ import annotations

from typing import Any

from uhost.ir.dtype import DType
from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._elements import shared_bytes
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import plus
from uhost.kernels.reference._parameters import (
    input_parameter,
    output_parameter,
    takes_anything,
)
from uhost.numerics.exact_sum import sum_scaling
from uhost.ops._elementwise import NoAttributes


def _lower(bound: BoundOperator[NoAttributes]) -> KernelCall:
    count, output = len(bound.inputs), bound.output
    parameters = [input_parameter(bound.input(n), f"input{n}", n) for n in range(count)]
    values: dict[str, Any] = {
        "elements": output.elements,
        "inputs": count,
        "kind": str(output.dtype),
    }
    includes: tuple[str, ...] = ()
    if output.dtype is DType.INT8:
        source = bound.input(0)
        multiplier, right_shift = sum_scaling(source.scale, output.scale)
        values |= {
            "offset": plus(-source.zero_point * count),
            "multiplier": multiplier,
            "shift": right_shift,
            "output_offset": output.zero_point,
        }
        includes = ("requantize", "scale_sum")
    return KernelCall(
        "reference",
        "add_n",
        values,
        (*parameters, output_parameter(output)),
        includes=includes,
        overlaps=shared_bytes(bound),
    )


KERNEL = Kernel("add_n", takes_anything, _lower, cost=stated_cost)
