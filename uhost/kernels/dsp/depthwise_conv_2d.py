"""DEPTHWISE_CONV_2D of any window, stride and number of outputs per channel."""

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


_LARGEST_WINDOW = 256
"""Taps of a window, which lie on the stack for a line of outputs."""

_MOST_PAIRS_UNROLLED = 32


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
    window = bound.input(1).shape[1] * bound.input(1).shape[2]
    if window > _LARGEST_WINDOW:
        return f"a window of more than {_LARGEST_WINDOW} taps"
    return why_not_lines(bound, several=True)


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    lines = _lines(bound)
    assert lines is not None
    records = Constant("records", _records(fold(bound), lines))
    pairs = (lines.along.window + 1) // 2
    return lines_call(
        "depthwise_conv_2d",
        bound,
        lines,
        records,
        interleaved=False,
        includes=(),
        values={"unrolled": lines.across.window * pairs <= _MOST_PAIRS_UNROLLED},
    )


KERNEL = Kernel("depthwise_conv_2d", _supports, _lower, features=("dsp",), cost=ring_cost)
