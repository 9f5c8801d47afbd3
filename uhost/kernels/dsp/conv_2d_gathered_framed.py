"""CONV_2D of a small padded image whose window has few bytes: the image is framed once.

A copy of the image with its padding around it, in scratch, leaves no window that is partly
beside it. Of narrow images, whose windows nearly all are, that is most of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Kernel, KernelCall
from uhost.kernels._overlap import Overlap
from uhost.kernels.dsp import conv_2d
from uhost.kernels.dsp._channels import fold
from uhost.kernels.dsp._lift import lifted
from uhost.kernels.dsp._product import product_call
from uhost.kernels.dsp._window import window_values
from uhost.kernels.dsp._window_cost import framed_cost
from uhost.kernels.dsp.conv_2d_gathered import MOST_WORDS, gathered_pairs
from uhost.ops._window import Axis
from uhost.ops.conv_2d import Conv2DAttributes, window_axes

_MOST_FRAME_BYTES = 1024
"""Larger frames cost RAM where images and outputs are largest."""


@dataclass(frozen=True, slots=True)
class _Framed:
    """One axis of the frame: its size, and how much of the image is copied into it."""

    size: int
    copied: int


def _framed(axis: Axis) -> _Framed:
    size = (axis.output - 1) * axis.stride + axis.window
    return _Framed(size, min(axis.size, size - axis.before))


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    reason = conv_2d.KERNEL.supports(bound)
    if reason:
        return reason
    if bound.attributes.dilation != (1, 1):
        return "dilation"
    rows, columns = window_axes(bound)
    if not any(axis.starts_outside or axis.ends_outside for axis in (rows, columns)):
        return "no padding"
    depth = bound.input(0).shape[3]
    height, width = _framed(rows), _framed(columns)
    if height.copied < 1 or width.copied < 1:
        return "windows that are all beside the image"
    if height.size * width.size * depth > _MOST_FRAME_BYTES:
        return f"more than {_MOST_FRAME_BYTES:,} bytes with the padding"
    run = columns.window * depth
    if max(run // 4, rows.window * (run // 4), rows.window * (run % 4)) > MOST_WORDS:
        return f"a window of more than {MOST_WORDS} words"
    return "a single output" if rows.output * columns.output < 2 else ""


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    rows, columns = window_axes(bound)
    x = bound.input(0)
    depth = x.shape[3]
    run = columns.window * depth
    channels, pairs, summed = lifted(fold(bound), gathered_pairs(rows.window, run), even=False)
    height, width = _framed(rows), _framed(columns)
    frame_bytes = height.size * width.size * depth
    return product_call(
        "conv_2d_gathered_framed",
        bound,
        channels,
        pairs,
        values={
            **window_values(bound, rows, columns),
            "frame": (height.size, width.size),
            "copied": (height.copied, width.copied),
            "padded": False,
        },
        scratch_bytes=8 * len(pairs) + -(-frame_bytes // 4) * 4,
        # The whole input is read before the first output is written.
        overlap=Overlap(0),
        summed=summed,
        includes=(f"dsp_gather:rows={rows.window},run={run}", "dsp_rows"),
    )


KERNEL = Kernel("conv_2d", _supports, _lower, features=("dsp",), cost=framed_cost)
