"""DEPTHWISE_CONV_2D of any window with int16 activations: two channels of a pixel at a time.

Two neighbouring channels are one word of the image as it is, so that nothing is split or widened.
Padding is zero: int16 tensors have no zero point.
"""

from __future__ import annotations

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import Overlap, forward, over_windows
from uhost.kernels._quantize import (
    channel_weights,
)
from uhost.kernels.dsp._channels import Integers
from uhost.kernels.dsp._int16 import layer_call, why_not_int16
from uhost.kernels.dsp._int16_cost import depthwise_int16_cost
from uhost.ops._window import Axis
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes, window_axes

_MOST_TAPS_UNROLLED = 25


def _supports(bound: BoundOperator[DepthwiseConv2DAttributes]) -> str:
    reason = why_not_int16(bound)
    if reason:
        return reason
    if bound.input(0).shape[0] != 1:
        return f"batch of {bound.input(0).shape[0]}"
    if bound.input(0).shape[3] != bound.output.shape[3]:
        return "several outputs per channel"
    return ""


def _pairs(weights: Integers) -> Integers:
    """Returns for every two channels a word of each tap: the first one's weight is the low half."""
    padded = np.pad(weights, ((0, len(weights) % 2), (0, 0))) & 0xFFFF
    words: Integers = padded[0::2] | padded[1::2] << 16
    return words.reshape(-1)


def _overlap(rows: Axis, columns: Axis, pixel_bytes: int, *, banded: bool) -> Overlap:
    if not banded:
        return over_windows(rows, columns, pixel_bytes, pixel_bytes, reads_first=False)
    # The band is filled before the row of outputs is written.
    tops = np.maximum(np.arange(rows.output) * rows.stride - rows.before, 0)
    ends = np.arange(1, rows.output + 1) * (columns.output * pixel_bytes)
    return forward(0, tops * (columns.size * pixel_bytes), ends)


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    rows, columns = window_axes(bound)
    channels = bound.input(0).shape[3]
    banded = any(axis.starts_outside or axis.ends_outside for axis in (rows, columns))
    width = (columns.output - 1) * columns.stride + columns.span
    on_image = max(min(columns.size, width - columns.before), 0)
    return layer_call(
        "depthwise_conv_2d_int16",
        bound,
        _pairs(channel_weights(bound)),
        {
            "size": (rows.size, columns.size),
            "channels": channels,
            "window": (rows.window, columns.window),
            "stride": (rows.stride, columns.stride),
            "dilation": (rows.dilation, columns.dilation),
            "before": (rows.before, columns.before),
            "outputs": (rows.output, columns.output),
            "banded": banded,
            "band_columns": width,
            "line_elements": on_image * channels,
            "margins": banded and on_image < width,
            "rows_outside": rows.starts_outside or rows.ends_outside,
            "unrolled": rows.window * columns.window <= _MOST_TAPS_UNROLLED,
            "unrolled_line": columns.window <= _MOST_TAPS_UNROLLED,
        },
        scratch=("band", 2 * rows.window * width * channels if banded else 0),
        includes=("dsp_halves",),
        overlaps=(_overlap(rows, columns, 2 * channels, banded=banded),),
    )


KERNEL = Kernel(
    "depthwise_conv_2d", _supports, _lower, features=("dsp",), cost=depthwise_int16_cost
)
