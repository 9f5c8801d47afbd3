"""DEPTHWISE_CONV_2D with a 3x3 window and stride 1 or 2 along lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels.dsp._channels import Channels, fold, why_not_bytes
from uhost.kernels.dsp._lines import (
    Lines,
    image_lines,
    line_weights,
    lines_call,
    why_not_lines,
)
from uhost.kernels.dsp._lines_cost import ring_3x3_cost
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes


def _lines(bound: BoundOperator[DepthwiseConv2DAttributes]) -> Lines | None:
    return next((lines for lines in image_lines(bound) if lines.along.stride in (1, 2)), None)


def _records(channels: Channels, lines: Lines) -> NDArray[np.uint32]:
    """Returns per channel three rows (w0, w1, w1, w2), twice the bias, and requantisation.

    A row is four bytes, or four halfwords of twice the weights.
    """
    rows = line_weights(channels, lines)[:, :, [0, 1, 1, 2]]
    if why_not_bytes(channels):
        halves = 2 * rows & 0xFFFF
        words = (halves[:, :, 0::2] | halves[:, :, 1::2] << 16).reshape(len(rows), -1)
    else:
        words = ((rows & 0xFF) << np.array([0, 8, 16, 24])).sum(axis=2)
    ends = [2 * channels.bias, channels.multipliers, channels.addends, channels.shifts]
    records = np.concatenate([words, np.stack(ends, axis=1)], axis=1)
    return (records.reshape(-1) & 0xFFFFFFFF).astype(np.uint32)


def _supports(bound: BoundOperator[DepthwiseConv2DAttributes]) -> str:
    if bound.input(1).shape[1:3] != (3, 3):
        return "not 3x3"
    if _lines(bound) is None:
        return "stride above 2"
    return why_not_lines(bound)


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    lines = _lines(bound)
    assert lines is not None
    channels = fold(bound)
    records = Constant("records", _records(channels, lines))
    return lines_call(
        "depthwise_conv_2d_3x3",
        bound,
        lines,
        records,
        interleaved=True,
        values={"row_bytes": 8 if why_not_bytes(channels) else 4},
        includes=("dsp_depthwise_3x3",),
    )


KERNEL = Kernel("depthwise_conv_2d", _supports, _lower, features=("dsp",), cost=ring_3x3_cost)
