"""FULLY_CONNECTED with int16 activations: vectors are pixels of a 1x1 window."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.mve._int16 import int16_call, int16_cost, why_not_int16
from uhost.ops._window import Axis
from uhost.ops.fully_connected import FullyConnectedAttributes


def _lower(bound: BoundOperator[FullyConnectedAttributes]) -> KernelCall:
    vectors = bound.output.elements // bound.input(1).shape[0]
    return int16_call(bound, Axis(1, 1, 1, 1, 0, 0), Axis(vectors, 1, 1, 1, 0, 0))


KERNEL = Kernel("fully_connected", why_not_int16, _lower, features=("mve",), cost=int16_cost)
