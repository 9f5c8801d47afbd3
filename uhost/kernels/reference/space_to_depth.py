"""SPACE_TO_DEPTH in portable C: one copy."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._copy import lower_copies
from uhost.kernels.reference._depth import depth_piece
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._parameters import takes_anything
from uhost.ops._depth import DepthAttributes


def _lower(bound: BoundOperator[DepthAttributes]) -> KernelCall:
    return lower_copies(bound, [depth_piece(bound.input(0).shape, bound.attributes.block)])


KERNEL = Kernel(operator="space_to_depth", supports=takes_anything, lower=_lower, cost=stated_cost)
