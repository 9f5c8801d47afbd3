"""DEPTHWISE_CONV_2D of any window and stride, one output per channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels.dsp._channels import Channels, fold
from uhost.kernels.dsp._lines import (
    Lines,
    image_lines,
    line_weights,
    lines_call,
    why_not_lines,
)
from uhost.kernels.dsp._lines_cost import ring_cost
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes

_WIDEST_WINDOW = 32
"""Elements of a window line; its taps are written out one by one."""


def _lines(bound: BoundOperator[DepthwiseConv2DAttributes]) -> Lines | None:
    ways = image_lines(bound)
    return next((lines for lines in ways if lines.along.window <= _WIDEST_WINDOW), None)


def _records(channels: Channels, lines: Lines) -> NDArray[np.uint32]:
    """Returns per channel bias and requantisation, then each line's weights in pairs."""
    weights = line_weights(channels, lines)
    weights = np.pad(weights, ((0, 0), (0, 0), (0, weights.shape[2] % 2)))
    pairs = (weights[:, :, 0::2] & 0xFFFF) | (weights[:, :, 1::2] & 0xFFFF) << 16
    starts = [channels.bias, channels.multipliers, channels.addends, channels.shifts]
    records = np.concatenate([np.stack(starts, axis=1), pairs.reshape(len(pairs), -1)], axis=1)
    return (records.reshape(-1) & 0xFFFFFFFF).astype(np.uint32)


def _supports(bound: BoundOperator[DepthwiseConv2DAttributes]) -> str:
    if _lines(bound) is None:
        return f"a window of more than {_WIDEST_WINDOW} rows and columns"
    return why_not_lines(bound)


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    lines = _lines(bound)
    assert lines is not None
    records = Constant("records", _records(fold(bound), lines))
    return lines_call("depthwise_conv_2d", bound, lines, records, interleaved=False, includes=())


KERNEL = Kernel("depthwise_conv_2d", _supports, _lower, features=("dsp",), cost=ring_cost)
