"""BATCH_TO_SPACE_ND in portable C: one copy per place in the block, without what is cropped."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._block import block_pieces, reversed_piece
from uhost.kernels.reference._copy import lower_copies
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._block import BlockAttributes


def _lower(bound: BoundOperator[BlockAttributes]) -> KernelCall:
    pieces = block_pieces(bound.attributes, bound.output.shape, bound.input(0).shape)
    return lower_copies(bound, [reversed_piece(piece) for piece in pieces])


KERNEL = Kernel(
    operator="batch_to_space_nd", supports=takes_anything, lower=_lower, cost=stated_cost
)
