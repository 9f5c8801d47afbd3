"""CONV_2D of any window: columns of two output pixels times half-widened weights."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._channels import fold, why_not_int8
from uhost.kernels.dsp._product import why_inexact
from uhost.kernels.dsp._window import window_call
from uhost.kernels.dsp._window_cost import window_cost
from uhost.ops.conv_2d import Conv2DAttributes, window_axes


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    reason = why_not_int8(bound)
    if reason:
        return reason
    x = bound.input(0)
    if bound.input(1).shape[3] != x.shape[3]:
        return "grouped"
    if x.shape[0] != 1:
        return f"batch of {x.shape[0]}"
    return why_inexact(fold(bound))


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    return window_call(bound, *window_axes(bound))


KERNEL = Kernel("conv_2d", _supports, _lower, features=("dsp",), cost=window_cost)
