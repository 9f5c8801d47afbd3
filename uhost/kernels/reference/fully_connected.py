"""FULLY_CONNECTED in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._layer import layer_call, row_overlaps, supports_layer
from uhost.ops.fully_connected import FullyConnectedAttributes


def _lower(bound: BoundOperator[FullyConnectedAttributes]) -> KernelCall:
    outputs, inputs = bound.input(1).shape
    rows = bound.input(0).elements // inputs
    geometry = {"rows": rows, "channels_in": inputs, "channels_out": outputs}
    return layer_call(
        bound,
        "fully_connected",
        bound.attributes.activation,
        geometry,
        pads=False,
        overlaps=row_overlaps(bound, inputs, outputs),
    )


KERNEL = Kernel("fully_connected", supports_layer, _lower, cost=stated_cost, is_fallback=True)
