"""FULLY_CONNECTED with int16 activations: vectors are pixels of a 1x1 window."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._int16 import int16_call, why_not_int16
from uhost.kernels.dsp._int16_cost import int16_cost
from uhost.ops._weighted import weight_zero_point
from uhost.ops._window import Axis
from uhost.ops.fully_connected import FullyConnectedAttributes


def _supports(bound: BoundOperator[FullyConnectedAttributes]) -> str:
    if weight_zero_point(bound):
        return "weights with a zero point"
    return why_not_int16(bound)


def _lower(bound: BoundOperator[FullyConnectedAttributes]) -> KernelCall:
    vectors = bound.output.elements // bound.input(1).shape[0]
    return int16_call(bound, Axis(1, 1, 1, 1, 0, 0), Axis(vectors, 1, 1, 1, 0, 0))


KERNEL = Kernel("fully_connected", _supports, _lower, features=("dsp",), cost=int16_cost)
