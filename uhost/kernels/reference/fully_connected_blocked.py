"""FULLY_CONNECTED of int8 by blocks of rows and channels."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import over_blocks
from uhost.kernels.reference._blocks import block_values, short_call, why_not_short
from uhost.kernels.reference._work import blocks_cost
from uhost.ops.fully_connected import FullyConnectedAttributes


def _lower(bound: BoundOperator[FullyConnectedAttributes]) -> KernelCall:
    outputs, inputs = bound.input(1).shape
    geometry = block_values(bound.input(0).elements // inputs, inputs, outputs)
    overlap = over_blocks(geometry, 1)
    return short_call(bound, "product_blocked", bound.attributes.activation, geometry, (overlap,))


KERNEL = Kernel(
    "fully_connected", why_not_short, _lower, cost=lambda bound, call: blocks_cost(call)
)
