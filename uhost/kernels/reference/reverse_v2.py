"""REVERSE_V2 in portable C: a nest of loops that reads backwards along the reversed axes."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import row_major_strides
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.reverse_v2 import ReverseAttributes


def _lower(bound: BoundOperator[ReverseAttributes]) -> KernelCall:
    shape, axes = bound.input(0).shape, bound.attributes.axes
    strides = row_major_strides(shape)
    piece = Piece(
        shape=shape,
        source_strides=tuple(-s if axis in axes else s for axis, s in enumerate(strides)),
        target_strides=strides,
        source_start=sum((shape[axis] - 1) * strides[axis] for axis in axes),
    )
    return lower_copies(bound, [piece])


KERNEL = Kernel(operator="reverse_v2", supports=takes_anything, lower=_lower, cost=stated_cost)
