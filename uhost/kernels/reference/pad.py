"""PAD in portable C: fill everything, then copy the input into place."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import Piece, lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._nest import row_major_strides
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops.pad import PadAttributes


def _lower(bound: BoundOperator[PadAttributes]) -> KernelCall:
    source, output, at = bound.input(0), bound.output, bound.attributes
    strides = row_major_strides(output.shape)
    start = sum(before * stride for before, stride in zip(at.before, strides, strict=True))
    piece = Piece(source.shape, row_major_strides(source.shape), strides, target_start=start)
    return lower_copies(
        bound, [piece], fill=at.value if output.elements != source.elements else None
    )


KERNEL = Kernel(operator="pad", supports=takes_anything, lower=_lower, cost=stated_cost)
