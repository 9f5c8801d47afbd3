"""CONV_2D of any window: lines of interleaved rows times the weights, two pixels at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import Overlap, forward
from uhost.kernels.mve import _work as work
from uhost.kernels.mve._channels import Channels, fold, why_not_int8
from uhost.kernels.mve._lines import Lines, image_lines
from uhost.kernels.mve._overlaps import line_overlap, moved, product_steps
from uhost.kernels.mve._product import (
    STEP,
    clamp_work,
    code_bytes,
    product_call,
    product_work,
    why_not_product,
)
from uhost.ops.conv_2d import Conv2DAttributes, window_axes
from uhost.targets._work import Work

_OFFSET_LIMIT = 1 << 16
_BYTE_LIMIT = 1 << 8


def _lines(bound: BoundOperator[Conv2DAttributes]) -> Lines | None:
    """Returns the way with the fewest pairs of pixels; None if neither way will do."""
    _, _, width, channels = bound.output.shape

    def cost(lines: Lines) -> tuple[int, int]:
        return lines.across.output * -(-lines.along.output // 2), lines.across.output

    ways = [
        lines
        for lines in image_lines(*window_axes(bound))
        if lines.along.dilation == 1
        and lines.length > 0
        and lines.steps(width * channels, channels)[1] + 3 < _OFFSET_LIMIT
    ]
    return min(ways, key=cost, default=None)


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    reason = why_not_int8(bound)
    if reason:
        return reason
    x = bound.input(0)
    if bound.input(1).shape[3] != x.shape[3]:
        return "grouped"
    if x.shape[0] != 1:
        return f"batch of {x.shape[0]}"
    if _lines(bound) is None:
        return "dilation of rows and columns, or a window off the image"
    return why_not_product(fold(bound))


def _ordered(channels: Channels, lines: Lines, depth: int) -> Channels:
    """Returns the channels with weights in the order of a line: along it, across, channel."""
    if lines.are_columns:
        return channels
    shape = (-1, lines.across.window, lines.along.window, depth)
    weights = channels.weights.reshape(shape).transpose(0, 2, 1, 3)
    return replace(channels, weights=weights.reshape(len(weights), -1))


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    lines = _lines(bound)
    assert lines is not None
    x, output = bound.input(0), bound.output
    depth = x.shape[3]
    position_bytes = lines.across.window * depth
    # Where a line has one row of the image, the image is the line.
    direct = (
        lines.across.window == 1
        and not lines.are_columns
        and not lines.padded_across
        and not lines.padded_along
    )
    spread = spread_offsets(depth, position_bytes, contiguous=not lines.are_columns)
    line_bytes = lines.positions * position_bytes
    padding_bytes = max(depth, STEP) if lines.padded_across else 0
    values: dict[str, Any] = {
        "lines": lines.across.size,
        "length": lines.length,
        "outputs": lines.across.output,
        "window": (lines.across.window, lines.along.window),
        "stride": lines.across.stride,
        "dilation": lines.across.dilation,
        "before": (lines.across.before, lines.along.before),
        "input_steps": lines.steps(x.shape[2] * depth, depth),
        "output_steps": lines.steps(output.shape[2] * output.shape[3], output.shape[3]),
        "input_depth": depth,
        "position_bytes": position_bytes,
        "line_bytes": line_bytes,
        "padding_bytes": padding_bytes,
        "padded": lines.padded_across or lines.padded_along,
        "padded_across": lines.padded_across,
        "input_zero_point": x.zero_point,
        "spread": spread,
        "direct": direct,
    }
    return product_call(
        "conv_2d",
        bound,
        _ordered(fold(bound), lines, depth),
        pixels=lines.along.output,
        pitch=lines.along.stride * position_bytes,
        values=values,
        stride=values["output_steps"][1],
        scratch_bytes=0 if direct else line_bytes + padding_bytes,
        includes=() if direct else ("mve_lines",),
        overlaps=(_overlap(bound, lines, direct=direct),),
    )


def _overlap(bound: BoundOperator[Conv2DAttributes], lines: Lines, *, direct: bool) -> Overlap:
    """Returns the overlap: a line's window is in scratch before its outputs are written.

    Where the image's rows are the lines, they are read as the outputs are written.
    """
    _, _, width, depth = bound.input(0).shape
    _, _, pixels, channels = bound.output.shape
    input_steps = lines.steps(width * depth, depth)
    output_steps = lines.steps(pixels * channels, channels)
    if not direct:
        end = (lines.along.output - 1) * output_steps[1] + channels
        return line_overlap(lines.across, input_steps[0], output_steps[0], end)
    pitch, column = lines.along.stride * depth, lines.along.window * depth
    steps = product_steps(pixels, pitch, column, channels, channels)
    index = np.arange(lines.across.output)
    reads = index * lines.across.stride * input_steps[0]
    return forward(0, *moved(steps, reads, index * output_steps[0]))


def spread_offsets(depth: int, position_bytes: int, *, contiguous: bool) -> tuple[int, ...]:
    """Returns where 16 bytes of a row go in a line; empty where pixels are copied one by one."""
    if not contiguous or depth > STEP // 2:
        return ()
    offsets = tuple(i // depth * position_bytes + i % depth for i in range(STEP))
    return offsets if offsets[-1] < _BYTE_LIMIT else ()


def _cost(bound: BoundOperator[Conv2DAttributes], call: KernelCall) -> Cost:
    del bound
    p = call.values
    shared = {"mve_product": code_bytes(call), **({"mve_clamp": 40} if p["clamped"] else {})}
    outputs = p["outputs"]
    total = outputs * product_work(call) + clamp_work(call)
    if p["direct"]:
        return Cost(total + outputs * Work(alu=5, load=2, branch=1) + Work(alu=8), 52, shared)
    depth = p["input_depth"]
    if p["spread"]:
        copy = work.spread_pixels(p["length"] * depth, STEP // depth * depth)
    else:
        copy = work.copy_pixels(p["length"], depth)
    total += outputs * p["window"][0] * (copy + Work(alu=8, branch=2, load=1))
    if p["padded"]:
        total += work.fill(p["line_bytes"] + p["padding_bytes"])
    total += outputs * Work(alu=8, load=4, branch=1) + work.INLINE_LOOP
    return Cost(total, 144, {**shared, "mve_lines": 48 if p["spread"] else 106})


KERNEL = Kernel("conv_2d", _supports, _lower, features=("mve",), cost=_cost)
