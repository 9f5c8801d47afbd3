"""CONV_2D with a 1x1 window and no stride: a matrix product over pixels that follow in memory."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._channels import fold, why_not_int8
from uhost.kernels.dsp._product import pointwise_call, why_inexact
from uhost.kernels.dsp._product_cost import pointwise_cost
from uhost.ops._op import Padding2D
from uhost.ops.conv_2d import Conv2DAttributes


def why_not_pointwise(bound: BoundOperator[Conv2DAttributes]) -> str:
    """Returns "" for an int8 layer whose outputs each read one pixel, in order, or the reason."""
    reason = why_not_int8(bound)
    if reason:
        return reason
    weights, attributes = bound.input(1), bound.attributes
    if weights.shape[1:3] != (1, 1) or attributes.stride != (1, 1):
        return "not 1x1 with stride 1"
    if attributes.padding != Padding2D():
        return "padding"
    if weights.shape[3] != bound.input(0).shape[3]:
        return "grouped"
    return ""


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    return why_not_pointwise(bound) or why_inexact(fold(bound))


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    return pointwise_call("conv_2d_pointwise", bound, fold(bound))


KERNEL = Kernel("conv_2d", _supports, _lower, features=("dsp",), cost=pointwise_cost)
