"""CONCATENATION in portable C: one copy per input."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.ops.concatenation import ConcatenationAttributes, is_rescaled


def _supports(bound: BoundOperator[ConcatenationAttributes]) -> str:
    if any(is_rescaled(bound, index) for index in range(len(bound.inputs))):
        return "an input is quantised otherwise than the output"
    return ""


def _lower(bound: BoundOperator[ConcatenationAttributes]) -> KernelCall:
    axis, output = bound.attributes.axis, bound.output
    blocks, block = math.prod(output.shape[:axis]), math.prod(output.shape[axis:])
    pieces = []
    start = 0
    for number in range(len(bound.inputs)):
        size = math.prod(bound.input(number).shape[axis:])
        pieces.append(
            Piece((blocks, size), (size, 1), (block, 1), target_start=start, source=number)
        )
        start += size
    return lower_copies(bound, pieces)


KERNEL = Kernel(
    operator="concatenation", supports=_supports, lower=_lower, cost=stated_cost, is_fallback=True
)
