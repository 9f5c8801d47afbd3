"""Depthwise windows over strips of lines: of four channels, the inputs of several output lines.

Lines lie in scratch in their order, as halfwords, one plane per channel. So a channel's weights are
loaded once for several lines, and lines that two strips share are split twice. The generated code
is described in `templates/kernels/dsp/_strips.c.j2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._overlap import Overlap, forward, in_place
from uhost.kernels.dsp._channels import clamp_range
from uhost.kernels.dsp._lines import Lines, needed_elements
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes


@dataclass(frozen=True, slots=True)
class Strips:
    """Lines of halfwords in scratch: their pitch, and the output lines made at once."""

    pitch_bytes: int
    lines: int
    slots: int


def pitch_bytes(lines: Lines) -> int:
    """Returns the bytes from one line in scratch to the next."""
    # One element more than needed: lines are read in whole words.
    return 4 * (needed_elements(lines.along) // 2 + 1)


def strips_of(lines: Lines, each: int) -> Strips:
    """Returns strips of `each` output lines."""
    slots = (each - 1) * lines.across.stride + lines.across.span
    return Strips(pitch_bytes(lines), each, slots)


def even_strips(bound: BoundOperator[DepthwiseConv2DAttributes], lines: Lines) -> Strips:
    """Returns strips of about equal size, as few as 2 KiB and a part of the tensors allow."""
    pitch, stride, total = pitch_bytes(lines), lines.across.stride, lines.across.output
    allowed = 2048 + (bound.input(0).size_bytes + bound.output.size_bytes) // 16
    most = max((allowed // (4 * pitch) - lines.across.span) // stride + 1, 1)
    count = -(-total // most)
    return strips_of(lines, -(-total // count))


def strip_overlaps(lines: Lines, strips: Strips, channels: int) -> tuple[Overlap, ...]:
    """Returns the overlap: each group of channels at once, or all of a strip after another."""
    across = lines.across
    if strips.lines == across.output:
        # The last of an uneven number of groups splits channels that were written before.
        return (in_place(),) if lines.keep_shape and channels % 4 == 0 else ()
    if lines.are_columns:
        return ()
    firsts = np.arange(0, across.output, strips.lines)
    reads = np.maximum(firsts * across.stride - across.before, 0)
    ends = np.minimum(firsts + strips.lines, across.output)
    (row, _), (output_row, _) = lines.row_steps(channels)
    return (forward(0, reads * row, ends * output_row, reads_first=False),)


def strip_values(
    bound: BoundOperator[DepthwiseConv2DAttributes], lines: Lines, strips: Strips
) -> dict[str, Any]:
    """Returns what `_strips.c.j2` prints."""
    across, along = lines.across, lines.along
    pitch, row_steps = strips.pitch_bytes, lines.row_steps(bound.output.shape[3])
    length = min(along.size, needed_elements(along) - along.before)
    odd = along.before % 2
    lowest, highest = clamp_range(bound)
    return {
        "channels": bound.output.shape[3],
        "lines": across.size,
        "used_lines": min(across.size, strips.slots - across.before),
        "length": length,
        "outputs": (across.output, along.output),
        "stride": (across.stride, along.stride),
        "before": (across.before, along.before),
        "input_steps": row_steps[0],
        "output_steps": row_steps[1],
        "line_gap": row_steps[1][0] - along.output * row_steps[1][1],
        "strip_lines": strips.lines,
        "slots": strips.slots,
        "pitch_words": pitch // 4,
        "plane_bytes": pitch * strips.slots,
        "first_word": along.before // 2,
        "pair_bytes": (length - odd) // 2 * 4,
        "ends": odd + (length - odd) % 2 * 2,
        "padding_pair": f"0x{(bound.input(0).zero_point & 0xFFFF) * 0x10001:08X}u",
        "clamped": (lowest, highest) != (-128, 127),
        "lowest": lowest,
        "highest": highest,
    }
