"""STRIDED_SLICE in portable C: one nest of loops that copies."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import row_major_strides
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.strided_slice import StridedSliceAttributes


def _lower(bound: BoundOperator[StridedSliceAttributes]) -> KernelCall:
    at, strides = bound.attributes, row_major_strides(bound.input(0).shape)
    piece = Piece(
        shape=at.count,
        source_strides=tuple(s * step for s, step in zip(strides, at.step, strict=True)),
        target_strides=row_major_strides(at.count),
        source_start=sum(s * first for s, first in zip(strides, at.start, strict=True)),
    )
    return lower_copies(bound, [piece])


KERNEL = Kernel(operator="strided_slice", supports=takes_anything, lower=_lower, cost=stated_cost)
