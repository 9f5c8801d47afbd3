"""How the Helium kernels' outputs may run into their inputs: their loads and stores by steps.

A step loads all that it reads before it stores. `Steps` are two arrays in the order of the steps:
the lowest byte of the input that a step reads, and the byte behind the last of the output that
it writes. What a kernel keeps in scratch it reads no more from the input.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uhost.kernels._overlap import Overlap, forward
from uhost.ops._window import Axis

Steps = tuple[NDArray[Any], NDArray[Any]]

_STEP = 16


def product_steps(pixels: int, pitch: int, depth: int, channels: int, stride: int) -> Steps:
    """Returns the steps of the dot products over columns that lie in the input.

    Columns are `pitch` bytes apart, outputs `stride`. Four channels of two pixels are a step, or
    eight of a single one; columns of up to 16 bytes stay in registers for all channels of two.
    """
    if pixels == 1:
        ends = _ends(channels, 8)
        return np.zeros(len(ends), np.int64), ends
    ends = _ends(channels, channels if depth <= _STEP else 4)
    pairs = np.arange(0, pixels - 1, 2)
    reads = [np.repeat(pairs * pitch, len(ends))]
    writes = [((pairs + 1)[:, None] * stride + ends).reshape(-1)]
    if pixels % 2:
        reads.append(np.full(len(ends), (pixels - 1) * pitch))
        writes.append((pixels - 1) * stride + ends)
    return np.concatenate(reads), np.concatenate(writes)


def _ends(channels: int, group: int) -> NDArray[np.int64]:
    """Returns the channel behind each group."""
    return np.minimum(np.arange(group, channels + group, group), channels)


def moved(steps: Steps, reads: NDArray[Any], writes: NDArray[Any]) -> Steps:
    """Returns the steps over and over, each time by `reads` and `writes` further on."""
    return (
        (np.asarray(reads)[:, None] + steps[0]).reshape(-1),
        (np.asarray(writes)[:, None] + steps[1]).reshape(-1),
    )


def lowest_lines(axis: Axis, lines: int = 1) -> NDArray[np.int64]:
    """Returns the lowest line on the image of each output's window; `axis.size` if it has none.

    With `lines`, of so many windows below one another, gaps of the dilation included.
    """
    tops = np.arange(0, axis.output, lines) * axis.stride - axis.before
    taps = np.arange(axis.window) * axis.dilation
    if lines > 1:
        taps = np.arange(axis.span + (lines - 1) * axis.stride)
    taken = tops[:, None] + taps
    lowest: NDArray[np.int64] = np.where((taken < 0) | (taken >= axis.size), axis.size, taken).min(
        1
    )
    return lowest


def window_overlap(
    rows: Axis, columns: Axis, inputs: int, channels: int, lanes: int, images: int = 1
) -> Overlap:
    """Returns the overlap of a kernel that reads `lanes` channels of a window, then writes them.

    The channels of a pixel follow one another, and the pixels as they lie in memory.
    """
    groups = np.arange(0, channels, lanes)
    steps = (groups * inputs // channels, np.minimum(groups + lanes, channels))
    corners = lowest_lines(rows)[:, None] * columns.size + lowest_lines(columns)
    image = np.arange(images)[:, None] * rows.size * columns.size
    reads = (image + corners.reshape(-1)).reshape(-1) * inputs
    return forward(0, *moved(steps, reads, np.arange(len(reads)) * channels))


def line_overlap(axis: Axis, input_step: int, output_step: int, output_end: int) -> Overlap:
    """Returns the overlap of a kernel that has all of a line's window in scratch before it writes.

    From line to line it is `input_step` and `output_step` bytes; a line's outputs end
    `output_end` bytes behind its first one.
    """
    writes = np.arange(axis.output) * output_step + output_end
    return forward(0, lowest_lines(axis) * input_step, writes)
