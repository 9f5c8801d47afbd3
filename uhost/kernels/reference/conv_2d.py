"""CONV_2D in portable C: a general window, and the pointwise one as a matrix product."""

from __future__ import annotations

import math

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.reference._kinds import stated_cost
from uhost.kernels.reference._layer import layer_call, row_overlaps, supports_layer
from uhost.kernels.reference._window import leaves_image, window_overlaps, window_values
from uhost.ops.conv_2d import Conv2DAttributes, groups, window_axes


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    x, weights, activation = bound.input(0), bound.input(1), bound.attributes.activation
    rows, columns = window_axes(bound)
    pads = leaves_image(rows, columns)
    channels_in, channels_out, count = x.shape[3], weights.shape[0], groups(bound)
    if weights.shape[1:3] == bound.attributes.stride == (1, 1) and not pads and count == 1:
        pixels = math.prod(x.shape[:3])
        geometry = {"rows": pixels, "channels_in": channels_in, "channels_out": channels_out}
        overlaps = row_overlaps(bound, channels_in, channels_out)
        return layer_call(
            bound, "conv_2d_pointwise", activation, geometry, pads=False, overlaps=overlaps
        )
    geometry = window_values(x.shape[0], channels_in, channels_out, rows, columns)
    geometry |= {"groups": count, "filter_channels": weights.shape[3]}
    overlaps = window_overlaps(bound, rows, columns)
    return layer_call(bound, "conv_2d", activation, geometry, pads, overlaps)


KERNEL = Kernel("conv_2d", supports_layer, _lower, cost=stated_cost, is_fallback=True)
