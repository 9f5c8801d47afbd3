"""FULLY_CONNECTED of float32 rows with int8 weights: each row is made int8 first, in scratch."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._hybrid import (
    finishing,
    finishing_bytes,
    hybrid_call,
    quantizing,
    supports_hybrid,
)
from uhost.ops.fully_connected import FullyConnectedAttributes
from uhost.targets._work import Work


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


def _cost(bound: BoundOperator[FullyConnectedAttributes], call: KernelCall) -> Cost:
    values = call.values
    depth, symmetric = values["sample"], values["symmetric"]
    step = Work(load=2, multiply=1, alu=1 if symmetric else 2, branch=1)
    row = (step * depth + finishing(values)) * values["channels_out"]
    work = (row + quantizing(depth, symmetric=symmetric)) * values["rows"]
    return Cost(work, (304 if symmetric else 672) + finishing_bytes(values))


KERNEL = Kernel("fully_connected", supports_hybrid, _lower, cost=_cost)
