"""Depthwise windows as lines: which way they run, and the ring of halfword lines they need.

A line runs along one axis of the image; the window moves across lines along the other.
The generated code is described in `templates/kernels/dsp/_lines.c.j2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._kernel import Constant, KernelCall, Parameter
from uhost.kernels._overlap import in_place
from uhost.kernels.dsp._channels import Channels, Integers, clamp_range, fold, why_not_int8
from uhost.ops._window import Axis
from uhost.ops.depthwise_conv_2d import DepthwiseConv2DAttributes, window_axes


@dataclass(frozen=True, slots=True)
class Lines:
    """The axis across lines, the one along them, and whether lines are image columns."""

    across: Axis
    along: Axis
    are_columns: bool

    @property
    def keep_shape(self) -> bool:
        """True if the output is as large as the input, and line i of it needs lines up to i."""
        return self.across.window > self.across.before and all(
            axis.stride == 1 and axis.output == axis.size for axis in (self.across, self.along)
        )

    def row_steps(
        self, channels: int, multiplier: int = 1
    ) -> tuple[tuple[int, int], tuple[int, int]]:
        """Returns the bytes from line to line and along a line, of input and of output."""
        outputs = channels * multiplier
        if not self.are_columns:
            return (
                (channels * self.along.size, channels),
                (outputs * self.along.output, outputs),
            )
        return (channels, channels * self.across.size), (outputs, outputs * self.across.output)


def image_lines(bound: BoundOperator[DepthwiseConv2DAttributes]) -> list[Lines]:
    """Returns both ways to cut the image into lines, the one with fewer lines first."""
    rows, columns = window_axes(bound)
    ways = [Lines(rows, columns, are_columns=False), Lines(columns, rows, are_columns=True)]
    return sorted(ways, key=lambda lines: lines.across.output)


def why_not_lines(
    bound: BoundOperator[DepthwiseConv2DAttributes],
    *,
    several: bool = False,
    dilated: bool = False,
) -> str:
    """Returns "" if the depthwise kernels can take the layer, or the reason.

    `several`: also if it has several outputs per channel; `dilated`: also if it has a dilation.
    """
    reason = why_not_int8(bound)
    if reason:
        return reason
    if not several and bound.input(0).shape[3] != bound.output.shape[3]:
        return "several outputs per channel"
    if not dilated and bound.attributes.dilation != (1, 1):
        return "dilation"
    if bound.input(0).shape[0] != 1:
        return f"batch of {bound.input(0).shape[0]}"
    if any(needed_elements(axis) <= axis.before for axis in window_axes(bound)):
        return "no window reaches the image"
    return fold(bound).why_inexact()


def needed_elements(axis: Axis) -> int:
    """Returns the elements of the padded axis from its first to the last that is read."""
    return (axis.output - 1) * axis.stride + axis.span


def line_weights(channels: Channels, lines: Lines) -> Integers:
    """Returns the weights as (channel, line of the window, element of the line)."""
    across, along = lines.across.window, lines.along.window
    if lines.are_columns:
        return channels.weights.reshape(-1, along, across).transpose(0, 2, 1)
    return channels.weights.reshape(-1, across, along)


def lines_call(
    template: str,
    bound: BoundOperator[DepthwiseConv2DAttributes],
    lines: Lines,
    records: Constant,
    *,
    interleaved: bool,
    includes: tuple[str, ...],
    values: Mapping[str, Any] | None = None,
) -> KernelCall:
    """Returns the call of a kernel that keeps the window's lines in a ring.

    The ring has one plane per channel of a group of four. In a plane the lines follow one
    another, or with `interleaved` their first words do, then their second words.
    """
    across, along = lines.across, lines.along
    channels = bound.input(0).shape[3]
    multiplier = bound.output.shape[3] // channels
    needed = needed_elements(along)
    # One element more than needed: windows are read in whole words.
    line_words = needed // 2 + 1
    plane_words = line_words * across.window
    window_words = plane_words * min(channels, 4)
    input_steps, output_steps = lines.row_steps(channels, multiplier)
    lowest, highest = clamp_range(bound)
    clamped = (lowest, highest) != (-128, 127)
    printed: dict[str, Any] = {
        **(values or {}),
        "channels": channels,
        "multiplier": multiplier,
        "lines": across.size,
        "length": min(along.size, needed - along.before),
        "outputs": (across.output, along.output),
        "window": (across.window, along.window),
        "stride": (across.stride, along.stride),
        "before": (across.before, along.before),
        "input_steps": input_steps,
        "output_steps": output_steps,
        "line_words": line_words,
        "pitch_words": across.window if interleaved else 1,
        "slot_words": 1 if interleaved else line_words,
        "plane_words": plane_words,
        "window_words": window_words,
        "padding_pair": f"0x{(bound.input(0).zero_point & 0xFFFF) * 0x10001:08X}u",
        "clamped": clamped,
        "lowest": lowest,
        "highest": highest,
    }
    return KernelCall(
        library="dsp",
        template=template,
        values=printed,
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("records", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
            Parameter("window", "uint32_t *", "scratch"),
        ),
        constants=(records,),
        scratch_bytes=4 * window_words,
        includes=("dsp", "dsp_lines", *(("dsp_clamp",) if clamped else ()), *includes),
        # Where no line is written before it lies in the ring.
        overlaps=(in_place(),) if lines.keep_shape and multiplier == 1 else (),
    )
