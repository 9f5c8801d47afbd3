"""UNPACK in portable C: one copy per output."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.unpack import UnpackAttributes


def _lower(bound: BoundOperator[UnpackAttributes]) -> KernelCall:
    shape, axis = bound.input(0).shape, bound.attributes.axis
    blocks, size = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    pieces = [
        Piece((blocks, size), (size * shape[axis], 1), (size, 1), source_start=size * n, target=n)
        for n in range(shape[axis])
    ]
    return lower_copies(bound, pieces)


KERNEL = Kernel(operator="unpack", supports=takes_anything, lower=_lower, cost=stated_cost)
