"""DEPTHWISE_CONV_2D that reads its windows where they lie: no scratch memory to speak of.

Per pair of taps, four channels of both are widened and joined to pairs of halfwords, which the
other kernels do once for a line of outputs and keep. So it pays where memory is short, and for
single rows of outputs, whose lines nothing else reads. Windows at the border are copied first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._overlap import over_windows
from uhost.kernels.dsp._channels import Channels, clamp_range, fold, why_not_int8
from uhost.kernels.dsp._product_cost import CALL
from uhost.kernels.dsp._window import window_values
from uhost.kernels.dsp._window_cost import places
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes, window_axes
from uhost.targets._work import Work

_BORDER_BYTES = 130
"""Code of `uhost_dsp_copy_border`."""

_MOST_TAPS = 25
"""Taps of a window, which are written out one by one."""

Bound = BoundOperator[DepthwiseConv2DAttributes]


def _supports(bound: Bound) -> str:
    if reason := why_not_int8(bound):
        return reason
    rows, columns = window_axes(bound)
    x = bound.input(0)
    if x.shape[0] != 1:
        return "several images"
    if bound.input(1).shape[3] != x.shape[3] or x.shape[3] % 4:
        return "not one output of each of a multiple of four channels"
    if (rows.dilation, columns.dilation) != (1, 1):
        return "a dilated window"
    if not 1 < rows.window * columns.window <= _MOST_TAPS:
        return f"a window of one tap or more than {_MOST_TAPS}"
    if rows.window > rows.size or columns.window > columns.size:
        return "a window larger than the image"
    if clamp_range(bound) != (-128, 127):
        return "outputs that are clamped within int8"
    return fold(bound).why_inexact()


def _records(channels: Channels) -> NDArray[np.uint32]:
    """Returns per four channels biases, weights of each by pairs of taps, and factors."""
    weights = np.pad(channels.weights, ((0, 0), (0, channels.weights.shape[1] % 2)))
    pairs = (weights[:, 0::2] & 0xFFFF) | (weights[:, 1::2] & 0xFFFF) << 16
    factors = np.stack([channels.multipliers, channels.addends, channels.shifts], axis=1)
    records = [
        np.concatenate(
            [
                channels.bias[first : first + 4],
                pairs[first : first + 4].T.reshape(-1),
                factors[first : first + 4].reshape(-1),
            ]
        )
        for first in range(0, len(weights), 4)
    ]
    return (np.concatenate(records) & 0xFFFFFFFF).astype(np.uint32)


def _lower(bound: Bound) -> KernelCall:
    rows, columns = window_axes(bound)
    x = bound.input(0)
    channels = x.shape[3]
    padded = any(axis.starts_outside or axis.ends_outside for axis in (rows, columns))
    patch_bytes = rows.window * columns.window * channels if padded else 0
    parameters = [
        Parameter("input", "const int8_t *", "input"),
        Parameter("records", "const uint32_t *", "constant"),
        Parameter("output", "int8_t *", "output"),
    ]
    if padded:
        parameters.append(Parameter("patch", "int8_t *", "scratch"))
    values = {
        **window_values(bound, rows, columns),
        "padded": padded,
        "padding_word": f"0x{(x.zero_point & 0xFF) * 0x01010101:08x}u",
    }
    return KernelCall(
        "dsp",
        "depthwise_conv_2d_direct",
        values,
        tuple(parameters),
        constants=(Constant("records", _records(fold(bound))),),
        scratch_bytes=patch_bytes,
        includes=("dsp", "dsp_border") if padded else ("dsp",),
        overlaps=(over_windows(rows, columns, channels, channels, reads_first=False),),
    )


def _cost(bound: Bound, call: KernelCall) -> Cost:
    """Returns the cost to within 7 %: what GCC keeps in registers depends on the window."""
    rows, columns = window_axes(bound)
    taps, channels = rows.window * columns.window, bound.output.shape[3]
    pixels, groups = rows.output * columns.output, channels // 4
    pairs = (taps + 1) // 2
    group = Work(alu=8 * pairs + 24, multiply=4 * pairs + 4, load=pairs * 6 + 8, store=4, branch=1)
    work = pixels * groups * group + rows.output * Work(alu=12, load=3, branch=2)
    shared = {}
    if call.scratch_bytes:
        shared["dsp_border"] = _BORDER_BYTES
        tap = Work(alu=16, load=4, branch=4) + (channels // 4) * Work(
            alu=5, load=2, store=1, branch=1
        )
        for y, x in places(call):
            inside = 0 <= y <= rows.size - rows.window and 0 <= x <= columns.size - columns.window
            work += Work(alu=12, load=3, store=1, branch=2, untaken=4)
            if not inside:
                work += taps * tap + Work(alu=20, load_many=1, store_many=1, words=18) + CALL
    return Cost(work, 190 + 60 * pairs + 80 * bool(shared), shared)


KERNEL = Kernel("depthwise_conv_2d", _supports, _lower, features=("dsp",), cost=_cost)
