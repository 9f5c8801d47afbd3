"""DEPTHWISE_CONV_2D of small windows: two output lines at once from interleaved rows.

The window of an output, and that of the output below it, lie in the same 16 bytes. Where it can,
the kernel goes through all lines of eight channels before the next eight. Then an output may lie
on the input of its own pixel and channel: what later lines need of overwritten ones is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._overlap import Overlap, forward, in_place
from uhost.kernels.mve import _work as work
from uhost.kernels.mve._channels import Channels, fold, why_not_int8
from uhost.kernels.mve._lines import Lines, image_lines
from uhost.kernels.mve._overlaps import lowest_lines, moved
from uhost.kernels.mve._product import STEP
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes, window_axes
from uhost.targets._work import Work

_GROUP = 8
"""Channels whose bytes are loaded at once."""
_TILE = 4
"""Positions whose outputs, of two lines, are computed at once."""
_OFFSET_LIMIT = 1 << 16
_LOAD_REACH = 127
_MOST_BYTES = 4
"""How far a vector can be shifted by one instruction."""
_KEPT = 2
"""Rows of four that can be kept for the next two lines: half a word."""


def _rows(lines: Lines) -> int:
    """Returns the rows of a position: those that two windows across lines read."""
    return lines.across.span + lines.across.stride


def _pitch(lines: Lines) -> int:
    """Returns the bytes from one output's window to the next one's."""
    return lines.along.stride * _rows(lines)


def _kept(lines: Lines) -> int:
    """Returns the rows that are kept for the next two output lines; others are read again."""
    shared = lines.across.span - lines.across.stride
    return _KEPT if shared == _KEPT and _rows(lines) == 2 * _KEPT else 0


def _later(lines: Lines) -> NDArray[np.int64]:
    """Returns per two output lines the lowest image line that the planes take after them."""
    across, kept = lines.across, _kept(lines)
    tops = np.arange(2, across.output, 2) * across.stride - across.before + kept
    lowest = np.clip(tops, 0, across.size)
    later: NDArray[np.int64] = np.where(tops + _rows(lines) - kept <= 0, across.size, lowest)
    return np.minimum.accumulate(later[::-1])[::-1]


def _goes_by_channels(lines: Lines, input_width: int, output_width: int) -> bool:
    """True if all lines of eight channels can be written over what they were read from."""
    written = np.arange(2, lines.across.output, 2)
    if lines.are_columns:
        return input_width == output_width and bool((written <= _later(lines)).all())
    return bool((written * output_width <= _later(lines) * input_width).all())


def _plane_bytes(lines: Lines) -> int:
    """Returns the bytes of a channel's line, up to the last that the last tile loads."""
    tiles = -(-lines.along.output // _TILE)
    last = (_TILE * tiles - 1) * _pitch(lines) + STEP
    return max(last, (lines.along.before + lines.length) * _rows(lines))


def _fits(lines: Lines, row: int, pixel: int) -> bool:
    across, along = lines.steps(row, pixel)
    return (
        lines.along.span * _rows(lines) <= STEP
        and lines.length > 0
        and lines.across.stride <= _MOST_BYTES
        and 3 * _pitch(lines) <= _LOAD_REACH
        and 3 * along + across < _OFFSET_LIMIT
        and (_GROUP - 1) * _plane_bytes(lines) < _OFFSET_LIMIT
    )


def _lines(bound: BoundOperator[DepthwiseConv2DAttributes]) -> Lines | None:
    """Returns the way with the fewest tiles; None if neither fits the instructions."""
    _, _, width, channels = bound.output.shape

    def cost(lines: Lines) -> int:
        return -(-lines.across.output // 2) * -(-lines.along.output // _TILE)

    ways = image_lines(*window_axes(bound))
    return min((w for w in ways if _fits(w, width * channels, channels)), key=cost, default=None)


def _supports(bound: BoundOperator[DepthwiseConv2DAttributes]) -> str:
    reason = why_not_int8(bound)
    if reason:
        return reason
    x = bound.input(0)
    if x.shape[3] != bound.output.shape[3]:
        return "several outputs per channel"
    if x.shape[0] != 1:
        return f"batch of {x.shape[0]}"
    if _lines(bound) is None:
        return "a window, with the one below it, of more than 16 bytes, or off the image"
    return fold(bound).why_inexact()


def _records(channels: Channels, lines: Lines) -> NDArray[np.uint32]:
    """Returns per channel the 16 weights of the first line, bias, multiplier and shift."""
    across, along = lines.across, lines.along
    count = len(channels.weights)
    if lines.are_columns:
        taps = channels.weights.reshape(count, along.window, across.window)
    else:
        taps = channels.weights.reshape(count, across.window, along.window).transpose(0, 2, 1)
    window = np.zeros((count, along.span, _rows(lines)), np.int64)
    window[:, :: along.dilation, : across.span : across.dilation] = taps
    weights = np.zeros((count, STEP), np.int8)
    weights[:, : along.span * _rows(lines)] = window.reshape(count, -1)
    ends = np.stack([channels.bias, channels.multipliers, channels.shifts], axis=1)
    words = [weights.view(np.uint32), ends.astype(np.int32).view(np.uint32)]
    return np.concatenate(words, axis=1).reshape(-1)


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    lines = _lines(bound)
    assert lines is not None
    channels = fold(bound)
    x, output = bound.input(0), bound.output
    count = output.shape[3]
    plane_bytes = _plane_bytes(lines)
    scratch_bytes = plane_bytes * min(count, _GROUP)
    by_channels = _goes_by_channels(lines, x.shape[2], output.shape[2])
    values: dict[str, Any] = {
        "channels": count,
        "rows": _rows(lines),
        "channels_outside": by_channels,
        "kept": _kept(lines) if by_channels else 0,
        "pitch": _pitch(lines),
        "plane_bytes": plane_bytes,
        "plane_offsets": tuple(plane_bytes * min(i, count - 1) for i in range(_GROUP)),
        "scratch_bytes": scratch_bytes,
        "lines": lines.across.size,
        "length": lines.length,
        "outputs": (lines.across.output, lines.along.output),
        "window": (lines.across.window, lines.along.window),
        "stride": (lines.across.stride, lines.along.stride),
        "before": (lines.across.before, lines.along.before),
        "input_steps": lines.steps(x.shape[2] * count, count),
        "output_steps": lines.steps(output.shape[2] * count, count),
        "input_zero_point": x.zero_point,
        "zero_point": channels.zero_point,
        "positive": channels.positive,
        "clamped": channels.clamped,
        "lowest": channels.lowest,
        "highest": channels.highest,
        "outputs_in_all": output.elements,
    }
    return KernelCall(
        library="mve",
        template="depthwise_conv_2d",
        values=values,
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("records", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
            Parameter("planes", "int8_t *", "scratch"),
        ),
        constants=(Constant("records", _records(channels, lines)),),
        scratch_bytes=scratch_bytes,
        includes=("mve", "mve_planes", *(("mve_clamp",) if channels.clamped else ())),
        overlaps=(_overlap(lines, count, values),),
    )


def _overlap(lines: Lines, channels: int, values: Mapping[str, Any]) -> Overlap:
    """Returns the overlap: eight channels of two lines' rows are in planes before they are written.

    The rows are those of both windows, also where there is no second line.
    """
    if values["channels_outside"] and channels > _GROUP:
        return in_place()
    across, along = lines.across, lines.along
    input_steps, output_steps = values["input_steps"], values["output_steps"]
    first = np.arange(0, channels, _GROUP)
    end = (along.output - 1) * output_steps[1] + np.minimum(first + _GROUP, channels)
    last = np.minimum(np.arange(1, across.output + 1, 2), across.output - 1)
    reads = lowest_lines(across, lines=2)
    if values["channels_outside"]:
        reads[1:] = _later(lines)
    return forward(0, *moved((first, end), reads * input_steps[0], last * output_steps[0]))


def _lines_work(p: Mapping[str, Any], channels: int, *, has_second: bool) -> Work:
    """Returns one call of the assembler: two lines of `channels` channels."""
    tile = Work(vector_load=4, vector_multiply=8, vector_alu=4 + 3, alu=1, branch=1)
    tile += work.requantized(2, positive=p["positive"]) + work.PREDICATED_STORE
    tile += Work(alu=work.adds(4 * p["pitch"]) + work.adds(4 * p["output_steps"][1]))
    begin = Work(load_many=2, words=4, vector_load=1, load=3, alu=3, store=1, vector_alu=2)
    begin += Work(alu=1, vector_alu=1, untaken=1) if has_second else Work(branch=1)
    end = Work(load=1, store=1, load_many=1, store_many=1, words=4, branch=1)
    end += Work(alu=2 + work.adds(p["plane_bytes"]))
    prologue = Work(store_many=3, words=30, load=1, alu=5, vector_alu=5)
    prologue += Work(vector_multiply=2, multiply=1)
    tiles: int = -(-p["outputs"][1] // _TILE)
    return prologue + channels * (begin + tiles * tile + end) + Work(alu=1, load_many=2, words=25)


def _cost(bound: BoundOperator[DepthwiseConv2DAttributes], call: KernelCall) -> Cost:
    del bound
    p = call.values
    pairs, odd = divmod(p["outputs"][0], 2)
    whole, rest = divmod(p["channels"], _GROUP)
    row = work.split_channels(p["length"]) + Work(alu=8, branch=2, store_many=2, words=4)
    group = p["rows"] * row + Work(alu=12, branch=2, load=2, store=2)
    total = work.fill(p["scratch_bytes"])
    for lanes, groups in ((_GROUP, whole), (rest, 1 if rest else 0)):
        for has_second, times in ((True, pairs), (False, odd)):
            lines = group + _lines_work(p, lanes, has_second=has_second)
            total += groups * times * lines
        if p["kept"]:
            kept = work.drop_rows(lanes * p["plane_bytes"]) + Work(alu=3, branch=1)
            later = groups * (pairs + odd - 1)
            total += later * kept + -p["kept"] * later * row
    total += (pairs + odd) * Work(alu=4, branch=1, load=2) + work.INLINE_LOOP
    if p["clamped"]:
        total += work.clamp(p["outputs_in_all"])
    groups = (1 if whole else 0) + (1 if rest else 0)
    shared = {"mve_planes": 100, **({"mve_clamp": 40} if p["clamped"] else {})}
    return Cost(total, 370 + 120 * groups, shared)


KERNEL = Kernel("depthwise_conv_2d", _supports, _lower, features=("mve",), cost=_cost)
