"""FULLY_CONNECTED of float32 by blocks of rows and channels."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import over_blocks
from uhost.kernels.fpu._blocks import block_values, layer_call, packed, why_not_float
from uhost.kernels.fpu._work import blocks_cost
from uhost.ops.fully_connected import FullyConnectedAttributes


def _lower(bound: BoundOperator[FullyConnectedAttributes]) -> KernelCall:
    weights = bound.input(1).constant()
    outputs, inputs = weights.shape
    values = block_values(bound.input(0).elements // inputs, inputs, outputs)
    filters = packed(weights, values["channel_block"])
    overlaps = (over_blocks(values, 4),)
    return layer_call(bound, "product", bound.attributes.activation, values, filters, overlaps)


KERNEL = Kernel(
    "fully_connected",
    why_not_float,
    _lower,
    features=("fpu",),
    cost=lambda bound, call: blocks_cost(call),
)
