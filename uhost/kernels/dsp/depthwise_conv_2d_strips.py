"""DEPTHWISE_CONV_2D of any window, stride 1 or 2 along lines: four outputs of a line at once.

A routine that is made for the window, the line and the form of requantisation goes through the
lines of a window once for four neighbouring outputs, so that each pair of weights is loaded once
for four products of two, and each pair of elements as well. A dilated window is one with taps of
zero weight in its lines, and lines that lie apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels.dsp._channels import Channels, fold, why_not_bytes
from uhost.kernels.dsp._lines import Lines, image_lines, line_weights, why_not_lines
from uhost.kernels.dsp._strips import (
    even_strips,
    pitch_bytes,
    strip_overlaps,
    strip_values,
)
from uhost.kernels.dsp._strips_cost import strips_cost
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes

_LARGEST_PITCH_BYTES = 1020
"""LDRD reaches the next line."""

_LARGEST_STEP_BYTES = 4095
"""ADD and SUB take offsets up to here, and the routine goes back a window's lines."""

_LARGEST_WINDOW = 128
"""Taps, of which the routine spells out every one."""

_FOLDS = {True: 256, False: 2}


def _window_lines(bound: BoundOperator[DepthwiseConv2DAttributes]) -> Lines | None:
    """Returns the first way to cut the image into lines that the routine can take."""

    def fits(lines: Lines) -> bool:
        pitch, across = pitch_bytes(lines), lines.across
        return (
            lines.along.stride in (1, 2)
            and across.dilation * pitch <= _LARGEST_PITCH_BYTES
            and pitch * (across.dilation * across.window + across.stride) <= _LARGEST_STEP_BYTES
        )

    return next((lines for lines in image_lines(bound) if fits(lines)), None)


def _pairs(weights: NDArray[np.int64], stride: int) -> NDArray[np.int64]:
    """Returns (channel, pair, 2): the pairs of weights of every line that words of elements meet.

    With stride 1 a pair begins at every tap but the last, with stride 2 at every second.
    """
    taps = weights.shape[2]
    padded = np.pad(weights, ((0, 0), (0, 0), (0, 1)))
    firsts = np.arange(max(taps - 1, 1)) if stride == 1 else np.arange(0, taps, 2)
    pairs = np.stack([padded[:, :, firsts], padded[:, :, firsts + 1]], axis=3)
    return pairs.reshape(len(weights), -1, 2)


def _records(channels: Channels, lines: Lines) -> tuple[NDArray[np.uint32], int]:
    """Returns per channel bias, requantisation, and two pairs of weights per word; and the shift.

    The shift is 0 for the general form.
    """
    form = channels.rectified(np.full(len(channels.bias), 8))
    if form is None:
        ends = [2 * channels.bias, channels.multipliers, channels.addends, channels.shifts]
    else:
        ends = [256 * (channels.bias + form.bias_changes), form.multipliers, form.addends]
    taps = line_weights(channels, lines)
    spread = np.zeros((*taps.shape[:2], lines.along.span), np.int64)
    spread[:, :, :: lines.along.dilation] = taps
    pairs = _pairs(spread, lines.along.stride)
    pairs = np.pad(pairs, ((0, 0), (0, pairs.shape[1] % 2), (0, 0))) & 0xFF
    first, second = pairs[:, 0::2], pairs[:, 1::2]
    words = first[..., 0] | second[..., 0] << 8 | first[..., 1] << 16 | second[..., 1] << 24
    records = np.concatenate([np.stack(ends, axis=1), words], axis=1)
    return (records & 0xFFFFFFFF).astype(np.uint32), 0 if form is None else form.shift


def _supports(bound: BoundOperator[DepthwiseConv2DAttributes]) -> str:
    reason = why_not_lines(bound, dilated=True)
    if reason:
        return reason
    if bound.output.shape[3] < 4:
        return "fewer than four channels"
    lines = _window_lines(bound)
    if lines is None:
        return "stride above 2, or lines too long"
    if lines.across.window * lines.along.span > _LARGEST_WINDOW:
        return f"a window of more than {_LARGEST_WINDOW} taps"
    return why_not_bytes(fold(bound))


def _lower(bound: BoundOperator[DepthwiseConv2DAttributes]) -> KernelCall:
    lines = _window_lines(bound)
    assert lines is not None
    strips = even_strips(bound, lines)
    records, shift = _records(fold(bound), lines)
    across, along, pitch = lines.across, lines.along, strips.pitch_bytes
    values = strip_values(bound, lines, strips)
    row = across.dilation * pitch
    shape = f"{along.output}_pitch_{pitch}_stride_{across.stride}{along.stride}"
    shape += f"_apart_{row}" if row > pitch else ""
    record_words = records.shape[1]
    ends = 3 if shift else 4
    return KernelCall(
        library="dsp",
        template="depthwise_conv_2d_strips",
        values={
            **values,
            "window": (across.window, along.window),
            "dilation": (across.dilation, along.dilation),
            "spans": (across.span, along.span),
            "record_words": record_words,
            "ends_words": ends,
            "expand": f"uhost_dsp_depthwise_numbers_{_FOLDS[shift > 0]}",
            "routine": f"uhost_dsp_depthwise_{across.window}x{along.span}_{shape}"
            + (f"_shift_{shift}" if shift else ""),
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("records", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
            Parameter("planes", "uint32_t *", "scratch"),
        ),
        constants=(Constant("records", records.reshape(-1)),),
        scratch_bytes=4 * (pitch * strips.slots + ends + 2 * (record_words - ends)),
        includes=(
            "dsp",
            "dsp_depthwise",
            f"dsp_depthwise_numbers:fold={_FOLDS[shift > 0]},ends={ends}",
            f"dsp_depthwise_window:rows={across.window},taps={along.span},"
            f"outputs={along.output},pitch={pitch},row={row},across={across.stride},"
            f"along={along.stride},shift={shift}",
            "dsp_lines",
            "dsp_split",
            *(("dsp_clamp",) if values["clamped"] else ()),
        ),
        overlaps=strip_overlaps(lines, strips, bound.output.shape[3]),
    )


KERNEL = Kernel("depthwise_conv_2d", _supports, _lower, features=("dsp",), cost=strips_cost)
