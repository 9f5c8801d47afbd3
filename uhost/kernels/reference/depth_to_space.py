"""DEPTH_TO_SPACE in portable C: one copy."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._block import reversed_piece
from uhost.kernels.reference._copy import lower_copies
from uhost.kernels.reference._depth import depth_piece
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._depth import DepthAttributes


def _lower(bound: BoundOperator[DepthAttributes]) -> KernelCall:
    piece = depth_piece(bound.output.shape, bound.attributes.block)
    return lower_copies(bound, [reversed_piece(piece)])


KERNEL = Kernel(operator="depth_to_space", supports=takes_anything, lower=_lower, cost=stated_cost)
