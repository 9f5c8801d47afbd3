"""CONCATENATION in portable C: one copy per input."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._nest import headers, index_expression, loop_nest
from uhost.kernels.reference._parameters import input_parameter, output_parameter, takes_anything
from uhost.ops.concatenation import ConcatenationAttributes


def _lower(bound: BoundOperator[ConcatenationAttributes]) -> KernelCall:
    axis, output = bound.attributes.axis, bound.output
    blocks = math.prod(output.shape[:axis])
    block = math.prod(output.shape[axis:])
    parts = []
    parameters = []
    start = 0
    for number in range(len(bound.inputs)):
        tensor = bound.input(number)
        piece = math.prod(tensor.shape[axis:])
        loops = loop_nest((blocks, piece), (piece, 1), (block, 1))
        name = f"input{number}"
        parts.append(
            (name, headers(loops), index_expression(loops, 0), index_expression(loops, 1, start))
        )
        parameters.append(input_parameter(tensor, name, number))
        start += piece
    parameters.append(output_parameter(output))
    return KernelCall("reference", "concatenation", {"parts": tuple(parts)}, tuple(parameters))


KERNEL = Kernel(operator="concatenation", supports=takes_anything, lower=_lower)
