"""DEPTHWISE_CONV_2D of int8 over a band of rows, so that no window leaves what it reads.

The rows under the window are copied to a band that is as wide as the padded image. Where
nothing is padded, the image itself is the band. Every tap is then at a constant distance.
"""

from __future__ import annotations

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import Overlap, forward, over_windows
from uhost.kernels.reference._blocks import short_call, why_not_short
from uhost.kernels.reference._window import leaves_image, window_values
from uhost.kernels.reference._work import band_bytes, band_work
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes, window_axes

_MOST_TAPS = 16
"""That are spelled out one by one."""


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    x, channels_out = bound.input(0), bound.input(1).shape[3]
    rows, columns = window_axes(bound)
    channels_in = x.shape[3]
    padded = leaves_image(rows, columns)
    width = (columns.output - 1) * columns.stride + columns.span
    on_image = min(columns.size, width - columns.before)
    geometry = window_values(x.shape[0], channels_in, channels_out, rows, columns) | {
        "padded": padded,
        "band_columns": width,
        "row_elements": on_image * channels_in,
        "margins": padded and on_image < width,
        "unrolled_x": columns.window <= _MOST_TAPS,
        "unrolled_y": rows.window * columns.window <= _MOST_TAPS,
    }
    band_bytes = rows.window * width * channels_in if padded else 0
    activation = bound.attributes.activation
    overlaps: tuple[Overlap, ...] = ()
    if x.shape[0] == 1 and padded:
        # The band is filled before the row of outputs is written.
        tops = np.maximum(np.arange(rows.output) * rows.stride - rows.before, 0)
        ends = np.arange(1, rows.output + 1) * (columns.output * channels_out)
        overlaps = (forward(0, tops * (columns.size * channels_in), ends),)
    elif x.shape[0] == 1:
        overlaps = (over_windows(rows, columns, channels_in, channels_out, reads_first=False),)
    band = ("band", band_bytes)
    return short_call(bound, "depthwise_conv_2d_band", activation, geometry, overlaps, band)


def _cost(bound: BoundOperator[DepthwiseConv2DAttributes], call: KernelCall) -> Cost:
    return Cost(band_work(call.values, *window_axes(bound)), band_bytes(call.values))


KERNEL = Kernel("depthwise_conv_2d", why_not_short, _lower, cost=_cost)
