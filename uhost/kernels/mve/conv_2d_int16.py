"""CONV_2D of any window with int16 activations: a column of halfwords times four channels."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.mve._int16 import int16_call, int16_cost, why_not_int16
from uhost.ops.conv_2d import Conv2DAttributes, groups, window_axes


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    if groups(bound) > 1:
        return "grouped"
    if bound.input(0).shape[0] != 1:
        return f"batch of {bound.input(0).shape[0]}"
    if bound.attributes.dilation[1] > 1:
        return "dilation of columns"
    return why_not_int16(bound)


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    return int16_call(bound, *window_axes(bound))


KERNEL = Kernel("conv_2d", _supports, _lower, features=("mve",), cost=int16_cost)
