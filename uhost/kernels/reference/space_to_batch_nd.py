"""SPACE_TO_BATCH_ND in portable C: one copy per place in the block, after filling the padding."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._block import block_pieces
from uhost.kernels.reference._copy import lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._block import BlockAttributes
from uhost.ops.space_to_batch_nd import padding_value


def _lower(bound: BoundOperator[BlockAttributes]) -> KernelCall:
    source, output = bound.input(0), bound.output
    pieces = list(block_pieces(bound.attributes, source.shape, output.shape))
    is_padded = source.elements != output.elements
    return lower_copies(bound, pieces, fill=padding_value(output) if is_padded else None)


KERNEL = Kernel(
    operator="space_to_batch_nd", supports=takes_anything, lower=_lower, cost=stated_cost
)
