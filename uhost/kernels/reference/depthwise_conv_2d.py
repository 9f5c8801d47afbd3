"""DEPTHWISE_CONV_2D in portable C."""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._layer import layer_call, supports_layer
from uhost.kernels.reference._window import leaves_image, window_overlaps, window_values
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes, window_axes


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    x, channels_out = bound.input(0), bound.input(1).shape[3]
    rows, columns = window_axes(bound)
    geometry = window_values(x.shape[0], x.shape[3], channels_out, rows, columns)
    return layer_call(
        bound,
        "depthwise_conv_2d",
        bound.attributes.activation,
        geometry,
        leaves_image(rows, columns),
        window_overlaps(bound, rows, columns),
    )


KERNEL = Kernel("depthwise_conv_2d", supports_layer, _lower, cost=stated_cost, is_fallback=True)
