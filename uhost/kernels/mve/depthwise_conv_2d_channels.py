"""DEPTHWISE_CONV_2D of any window, dilation and multiplier: eight output channels at a time.

Taps in the padding are left out. Where there are any, the input's zero point is taken from
each input, else it is folded into the biases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._quantize import channel_bias
from uhost.kernels.mve import _work as work
from uhost.kernels.mve._channels import Channels, fold, why_not_int8
from uhost.kernels.mve._overlaps import window_overlap
from uhost.ops._window import Axis
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes, window_axes
from uhost.targets._work import Work

_LANES = 8
_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
"""Long products of halfwords are those of even lanes and those of odd ones."""
_POST_INDEX_LIMIT = 127
_OFFSET_LIMIT = 1 << 16
_SUM_LIMIT = 1 << 31


def _leaves(rows: Axis, columns: Axis) -> bool:
    return any(axis.starts_outside or axis.ends_outside for axis in (rows, columns))


def _centred_reach(bound: BoundOperator[Any], channels: Channels) -> bool:
    """True if sums of inputs less their zero point stay within 32 bits."""
    taps = 255 * np.abs(channels.weights).sum(1)
    return bool((np.abs(channel_bias(bound)) + taps < _SUM_LIMIT).all())


def _supports(bound: BoundOperator[DepthwiseConv2DAttributes]) -> str:
    reason = why_not_int8(bound)
    if reason:
        return reason
    rows, columns = window_axes(bound)
    if not (rows.valid_taps().all() and columns.valid_taps().all()):
        return "a window off the image"
    if bound.output.shape[3] >= _OFFSET_LIMIT:
        return "65,536 channels or more"
    channels = fold(bound)
    if not _centred_reach(bound, channels):
        return "sums that reach 2^31"
    return channels.why_inexact()


def _records(bound: BoundOperator[Any], channels: Channels, leaves: bool) -> NDArray[np.uint32]:
    """Returns per eight channels where their inputs are, weights, biases, factors and shifts."""
    count, taps = channels.weights.shape
    inputs = bound.input(0).shape[3]
    missing = -count % _LANES
    weights = np.pad(channels.weights, ((0, missing), (0, 0))).astype(np.int8)
    groups = len(weights) // _LANES
    parts = [weights.reshape(groups, _LANES, taps).transpose(0, 2, 1).reshape(groups, -1)]
    bias = channel_bias(bound) if leaves else channels.bias
    for values in (bias, channels.multipliers, channels.shifts):
        words = np.pad(values, (0, missing)).reshape(groups, _LANES)[:, _ORDER]
        parts.append(np.ascontiguousarray(words.astype(np.int32)).view(np.int8))
    if count != inputs:
        lanes = np.minimum(np.arange(len(weights)), count - 1) // (count // inputs)
        offsets = lanes.astype(np.uint16).reshape(groups, _LANES)
        parts.insert(0, np.ascontiguousarray(offsets).view(np.int8))
    return np.ascontiguousarray(np.concatenate(parts, axis=1)).reshape(-1).view(np.uint32)


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    rows, columns = window_axes(bound)
    x, count = bound.input(0), bound.output.shape[3]
    channels = fold(bound)
    leaves = _leaves(rows, columns)
    inputs = x.shape[3]
    pitch = columns.dilation * inputs
    return KernelCall(
        library="mve",
        template="depthwise_conv_2d_channels",
        values={
            "images": x.shape[0],
            "image_bytes": x.shape[1] * x.shape[2] * inputs,
            "inputs": inputs,
            "channels": count,
            "gathers": count != inputs,
            "size": (rows.size, columns.size),
            "window": (rows.window, columns.window),
            "stride": (rows.stride, columns.stride),
            "dilation": (rows.dilation, columns.dilation),
            "before": (rows.before, columns.before),
            "outputs": (rows.output, columns.output),
            "starts_outside": (rows.starts_outside, columns.starts_outside),
            "ends_outside": (rows.ends_outside, columns.ends_outside),
            "leaves": leaves,
            "pitch": pitch,
            "row_bytes": rows.dilation * columns.size * inputs,
            "steps_itself": count == inputs and pitch <= _POST_INDEX_LIMIT,
            "input_zero_point": x.zero_point,
            "zero_point": channels.zero_point,
            "positive": channels.positive,
            "clamped": channels.clamped,
            "lowest": channels.lowest,
            "highest": channels.highest,
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("records", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
        ),
        constants=(Constant("records", _records(bound, channels, leaves)),),
        overlaps=(window_overlap(rows, columns, inputs, count, _LANES, x.shape[0]),),
    )


def _cost(bound: BoundOperator[DepthwiseConv2DAttributes], call: KernelCall) -> Cost:
    rows, columns = window_axes(bound)
    p = call.values
    groups = -(-p["channels"] // _LANES)
    ragged = 1 if p["channels"] % _LANES else 0
    pixels = p["images"] * rows.output * columns.output
    tap_rows = p["images"] * int(rows.valid_taps().sum()) * columns.output
    taps = p["images"] * int(rows.valid_taps().sum()) * int(columns.valid_taps().sum())
    step = 0 if p["steps_itself"] else work.adds(p["pitch"])
    tap = Work(vector_load=2, vector_multiply=2, alu=step, branch=1)
    tap += Work(vector_alu=2 + ragged + (1 if p["leaves"] else 0))
    row = Work(alu=2 + work.adds(p["row_bytes"]), branch=2)
    if p["leaves"]:
        row += Work(alu=1, load=2)
    group = work.requantized(2, positive=p["positive"])
    group += Work(vector_load=6, vector_store=1, branch=1)
    group += Work(vector_alu=5 + 2 * ragged + (4 if p["clamped"] else 0))
    group += Work(load=2, alu=6) if p["leaves"] else Work(alu=7)
    group += Work(alu=work.adds(8 * p["window"][0] * p["window"][1]))
    group += Work(vector_load=1) if p["gathers"] else Work(alu=1)
    total = groups * (taps * tap + tap_rows * row + pixels * group)
    if p["leaves"]:
        total += pixels * Work(store_many=2, words=4, alu=6)
    around = Work(alu=9 + 7 * (p["starts_outside"][1] + p["ends_outside"][1]), branch=1)
    total += pixels * around + work.INLINE_LOOP
    leaves = sum((*p["starts_outside"], *p["ends_outside"]))
    return Cost(total, 230 + 16 * leaves)


KERNEL = Kernel("depthwise_conv_2d", _supports, _lower, features=("mve",), cost=_cost)
