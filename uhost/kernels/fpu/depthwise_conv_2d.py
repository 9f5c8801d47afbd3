"""DEPTHWISE_CONV_2D of float32 by blocks of channels; taps outside of the image are left out."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.fpu._blocks import channel_block, layer_call, why_not_float
from uhost.kernels.fpu._work import taps_cost
from uhost.kernels.reference._window import window_overlaps, window_values
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes, window_axes

MOST_CHANNELS = 8
"""Of a block; the code of a block is spelled out."""


def _supports(bound: BoundOperator[DepthwiseConv2DAttributes]) -> str:
    reason = why_not_float(bound)
    if reason:
        return reason
    inputs, outputs = bound.input(0).shape[3], bound.input(1).shape[3]
    return "" if inputs in (1, outputs) else "several outputs for each of several channels"


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    x, weights = bound.input(0), bound.input(1).constant()
    channels_out = weights.shape[3]
    rows, columns = window_axes(bound)
    values = window_values(x.shape[0], x.shape[3], channels_out, rows, columns) | {
        "operation": "depthwise",
        "channel_block": channel_block(channels_out, MOST_CHANNELS),
    }
    overlaps = window_overlaps(bound, rows, columns)
    activation = bound.attributes.activation
    return layer_call(bound, "depthwise_conv_2d", activation, values, weights, overlaps)


KERNEL = Kernel(
    "depthwise_conv_2d",
    _supports,
    _lower,
    features=("fpu",),
    cost=lambda bound, call: taps_cost(call, *window_axes(bound)),
)
