"""FULLY_CONNECTED of float32 rows with int8 weights: each row is made int8 first, in scratch."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._hybrid import hybrid_call, supports_hybrid
from uhost.ops.fully_connected import FullyConnectedAttributes


def _lower(bound: BoundOperator[FullyConnectedAttributes]) -> KernelCall:
    outputs, inputs = bound.input(1).shape
    geometry = {"rows": bound.input(0).elements // inputs, "channels_out": outputs}
    return hybrid_call(
        bound,
        "fully_connected_hybrid",
        bound.attributes.activation,
        geometry,
        sample=inputs,
        symmetric=not bound.attributes.asymmetric,
    )


KERNEL = Kernel("fully_connected", supports_hybrid, _lower)
