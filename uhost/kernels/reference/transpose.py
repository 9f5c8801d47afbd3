"""TRANSPOSE in portable C: one nest of loops that writes in order."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import row_major_strides
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.transpose import TransposeAttributes


def _lower(bound: BoundOperator[TransposeAttributes]) -> KernelCall:
    strides = row_major_strides(bound.input(0).shape)
    piece = Piece(
        shape=bound.output.shape,
        source_strides=tuple(strides[axis] for axis in bound.attributes.permutation),
        target_strides=row_major_strides(bound.output.shape),
    )
    return lower_copies(bound, [piece])


KERNEL = Kernel(operator="transpose", supports=takes_anything, lower=_lower, cost=stated_cost)
