"""CONV_2D of groups of channels: every group is a convolution of its own.

A pixel's inputs of one group lie between those of the others, so that a column is made of runs of
one tap. One requantisation shift over all groups, so that they share the routine.
"""

from __future__ import annotations

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels.dsp._channels import Channels, fold, why_not_int8
from uhost.kernels.dsp._grouped_cost import grouped_cost
from uhost.kernels.dsp._lift import lifted
from uhost.kernels.dsp._parts import part_of, stacked
from uhost.kernels.dsp._product import (
    column_bytes,
    column_pairs,
    ends_of,
    pack,
    tiled_call,
    why_inexact,
)
from uhost.ops.conv_2d import Conv2DAttributes, window_axes


def _groups(bound: BoundOperator[Conv2DAttributes]) -> list[Channels]:
    """Returns the channels of each group, completed to a multiple of four."""
    channels = fold(bound)
    groups = bound.input(0).shape[3] // bound.input(1).shape[3]
    each = len(channels.bias) // groups
    return [part_of(channels, slice(i * each, (i + 1) * each)) for i in range(groups)]


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    reason = why_not_int8(bound)
    if reason:
        return reason
    x = bound.input(0)
    if bound.input(1).shape[3] == x.shape[3]:
        return "a single group"
    if x.shape[0] != 1:
        return f"batch of {x.shape[0]}"
    reasons = (why_inexact(group) for group in _groups(bound))
    return next((reason for reason in reasons if reason), "")


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    rows, columns = window_axes(bound)
    x, depth, count = bound.input(0), bound.input(1).shape[3], bound.output.shape[3]
    pixels, groups = rows.output * columns.output, _groups(bound)
    even = pixels % 2 == 1
    pairs = column_pairs(depth, rows.window * columns.window, even=even)
    channels, pairs, summed = lifted(stacked(groups), pairs, even=even)
    ends = ends_of(channels)
    weights = pack(channels, pairs, ends)
    padded = any(axis.starts_outside or axis.ends_outside for axis in (rows, columns))
    padding_bytes = -(-depth // 8) * 8
    return tiled_call(
        "conv_2d_grouped",
        {
            "size": (rows.size, columns.size),
            "depth": depth,
            "groups": len(groups),
            "channels": count // len(groups),
            "window": (rows.window, columns.window),
            "stride": (rows.stride, columns.stride),
            "dilation": (rows.dilation, columns.dilation),
            "before": (rows.before, columns.before),
            "outputs": (rows.output, columns.output),
            "pairs": len(pairs),
            "group_words": 4 + 2 * len(pairs) + 4 * ends.words.shape[1],
            "stream_words": len(weights) // len(groups),
            "padded": padded,
            "padding_bytes": padding_bytes,
            "column_words": column_bytes(pairs, pixels) // 4,
            "zero_point": x.zero_point,
            "aligned": x.shape[3] % 4 == 0 and depth % 8 == 0,
        },
        weights,
        clamp=channels.clamp,
        shift=ends.shift,
        summed=summed,
        scratch_bytes=column_bytes(pairs, pixels) + padding_bytes * padded,
        includes=("dsp_inside",) if padded else (),
    )


KERNEL = Kernel("conv_2d", _supports, _lower, features=("dsp",), cost=grouped_cost)
