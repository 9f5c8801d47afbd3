"""PACK in portable C: one copy per input."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.pack import PackAttributes


def _lower(bound: BoundOperator[PackAttributes]) -> KernelCall:
    shape, axis, number = bound.input(0).shape, bound.attributes.axis, len(bound.inputs)
    blocks, block = math.prod(shape[:axis]), math.prod(shape[axis:])
    steps = (block, 1), (block * number, 1)
    pieces = [
        Piece((blocks, block), *steps, target_start=block * n, source=n) for n in range(number)
    ]
    return lower_copies(bound, pieces)


KERNEL = Kernel(operator="pack", supports=takes_anything, lower=_lower, cost=stated_cost)
