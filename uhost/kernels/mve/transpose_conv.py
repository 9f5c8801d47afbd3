"""TRANSPOSE_CONV: every phase of the stride is a plain convolution of some of the taps.

Output o of an axis takes tap k from the input pixel (o + before - k) / stride, where that is
whole: the taps are those of the phase (o + before) mod stride, and from one output of a phase to
the next the pixels move on by one. A line holds the pixels of all input rows that an output row
reads, position by position, so that the pixels of an output are one run of bytes for every
phase of the columns; the weights are put in that order, phase by phase.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall, Parameter
from uhost.kernels._overlap import Overlap, forward
from uhost.kernels._quantize import channel_bias
from uhost.kernels.mve import _work as work
from uhost.kernels.mve._channels import Channels, fold, why_not_int8
from uhost.kernels.mve._product import STEP, clamp_work, first_step, pack, suffix, why_not_product
from uhost.ops._window import Axis
from uhost.ops.transpose_conv import TransposeConvAttributes, window_axes
from uhost.targets._work import Work

_OFFSET_LIMIT = 1 << 16
_PHASED_ROW = Work(alu=14, load=6, branch=1, divide=1, multiply=1)
"""What stands around the line of a row that first has to find its phase, in C."""
_RUN = Work(alu=5, load=2, load_many=1, words=2, branch=2)
"""A call with its arguments from the table."""


@dataclass(frozen=True, slots=True)
class _Phase:
    """Outputs `first`, first + stride, … of an axis, which have the same taps.

    `last_read` is the input pixel of the first tap for the first output; the other taps read
    the pixels before it.
    """

    first: int
    outputs: int
    taps: tuple[int, ...]
    last_read: int

    @property
    def first_read(self) -> int:
        """The lowest input pixel that the first output reads."""
        return self.last_read - len(self.taps) + 1

    @property
    def end(self) -> int:
        """The input pixel behind the highest one that an output reads."""
        return self.last_read + self.outputs


def _phases(axis: Axis) -> list[_Phase]:
    """Returns the phases of an axis in the order of their remainders; some have no output."""
    found = []
    for phase in range(axis.stride):
        first = (phase - axis.before) % axis.stride
        taps = tuple(range(phase, axis.window, axis.stride))
        outputs = max(0, -((first - axis.size) // axis.stride))
        found.append(_Phase(first, outputs, taps, (first + axis.before) // axis.stride))
    return found


@dataclass(frozen=True, slots=True)
class _Line:
    """The positions of a line as input pixels, and which of them lie on the image."""

    start: int
    end: int
    on_image: range

    @property
    def padded(self) -> bool:
        """True if some position lies off the image."""
        return len(self.on_image) < self.end - self.start


def _line(columns: Axis, width: int) -> _Line:
    reading = [p for p in _phases(columns) if p.taps and p.outputs]
    start = min((p.first_read for p in reading), default=0)
    end = max((p.end for p in reading), default=0)
    return _Line(start, end, range(max(start, 0), max(min(end, width), max(start, 0))))


def _phase_channels(
    bound: BoundOperator[TransposeConvAttributes], rows: _Phase, columns: _Phase
) -> Channels:
    """Returns the output channels of one phase, weights by position, row and input channel.

    Positions go on along the line, so their taps go back; the rows of a position go back too.
    """
    whole = fold(bound)
    weights = bound.input(1).constant().astype(np.int64)
    part = weights[:, list(rows.taps)][:, :, list(columns.taps[::-1])].transpose(0, 2, 1, 3)
    taps = np.ascontiguousarray(part).reshape(len(weights), -1)
    bias = channel_bias(bound) - bound.input(0).zero_point * taps.sum(1)
    return replace(whole, weights=taps, bias=bias, reach=np.abs(bias) + 128 * np.abs(taps).sum(1))


def _parts(
    bound: BoundOperator[TransposeConvAttributes],
) -> Iterator[tuple[_Phase, list[tuple[_Phase, Channels]]]]:
    """Yields the phases of rows, each with those phases of columns that have outputs.

    Columns of all phases are long enough for one function, by weights of zero.
    """
    rows, columns = (_phases(axis) for axis in window_axes(bound))
    across = [phase for phase in columns if phase.outputs]
    found = [[(phase, _phase_channels(bound, row, phase)) for phase in across] for row in rows]
    depths = [channels.weights.shape[1] for part in found for _, channels in part]
    least = STEP if max(depths) > STEP else 1
    for row, part in zip(rows, found, strict=True):
        yield row, [(phase, _lengthened(channels, least)) for phase, channels in part]


def _lengthened(channels: Channels, least: int) -> Channels:
    missing = max(least - channels.weights.shape[1], 0)
    return replace(channels, weights=np.pad(channels.weights, ((0, 0), (0, missing))))


def _supports(bound: BoundOperator[TransposeConvAttributes]) -> str:
    reason = why_not_int8(bound)
    if reason:
        return reason
    _, columns = window_axes(bound)
    if columns.stride * bound.output.shape[3] + 3 >= _OFFSET_LIMIT:
        return "outputs of a phase 65,533 bytes apart or more"
    for _, part in _parts(bound):
        for _, channels in part:
            reason = why_not_product(channels)
            if reason:
                return reason
    return ""


def _calls(
    phase: _Phase, channels: Channels, position: int, line: _Line, weights: int, stride: int
) -> Iterator[tuple[int, ...]]:
    """Yields the calls of the product for one phase: what the template's tables hold.

    First column in the line, first word of the weights, first output, then pairs, pitch,
    first step, steps, channels and stride of the product. `stride` is in outputs.
    """
    count, depth = channels.weights.shape
    start = (phase.first_read - line.start) * position if phase.taps else 0
    pitch = position if phase.taps else 0
    first, output = phase.first * count, stride * count
    if phase.outputs > 1:
        shape = (phase.outputs // 2, pitch, *first_step(depth), count, output)
        yield (start, weights, first, *shape)
    if phase.outputs % 2:
        last = phase.outputs - 1
        shape = (1, 0, *first_step(depth), count, 0)
        yield (start + last * pitch, weights, first + last * output, *shape)


def _overlap(bound: BoundOperator[TransposeConvAttributes]) -> Overlap:
    """Returns the overlap: an output row's input rows are in the line before it is written."""
    x, output = bound.input(0), bound.output
    rows, _ = window_axes(bound)
    phases = _phases(rows)
    reads: list[NDArray[np.int64] | list[int]] = []
    for image in range(x.shape[0]):
        for y in range(output.shape[1]):
            last, phase = divmod(y + rows.before, rows.stride)
            lowest = max(last - len(phases[phase].taps) + 1, 0)
            nothing = not phases[phase].taps or lowest > min(last, x.shape[1] - 1)
            reads.append([image * x.shape[1] + (x.shape[1] if nothing else lowest)])
    row_bytes = x.shape[2] * x.shape[3]
    ends = np.arange(1, len(reads) + 1) * output.shape[2] * output.shape[3]
    return forward(0, np.concatenate(reads) * row_bytes, ends)


def _lower(bound: BoundOperator[TransposeConvAttributes]) -> KernelCall:
    x, output = bound.input(0), bound.output
    rows, columns = window_axes(bound)
    line = _line(columns, x.shape[2])
    depth = x.shape[3]
    streams: list[NDArray[np.uint32]] = []
    tables = []
    positions = []
    words = 0
    parts = list(_parts(bound))
    # The function of the longest columns, which has the shortest name, takes all others too.
    function = min((suffix(channels) for _, part in parts for _, channels in part), key=len)
    for row, part in parts:
        position = len(row.taps) * depth
        table: list[tuple[int, ...]] = []
        for phase, channels in part:
            table += _calls(phase, channels, position, line, words, columns.stride)
            streams.append(pack(channels, vector=False))
            words += len(streams[-1])
        tables.append(tuple(table))
        positions.append(position)
    channels = fold(bound)
    line_bytes = (line.end - line.start) * max(positions)
    padded_rows = any(
        p.taps and p.outputs and (p.first_read < 0 or p.end > x.shape[1]) for p in _phases(rows)
    )
    return KernelCall(
        library="mve",
        template="transpose_conv",
        values={
            "images": x.shape[0],
            "image_bytes": x.shape[1] * x.shape[2] * depth,
            "input_rows": x.shape[1],
            "row_bytes": x.shape[2] * depth,
            "input_depth": depth,
            "outputs": rows.size,
            "output_row_bytes": output.shape[2] * output.shape[3],
            "channels": output.shape[3],
            "window": (rows.window, columns.window),
            "stride": (rows.stride, columns.stride),
            "before": rows.before,
            "taps": tuple(len(p.taps) for p in _phases(rows)),
            "positions": tuple(positions),
            "tables": tuple(tables),
            "padded": padded_rows or line.padded,
            "padded_rows": padded_rows,
            "line_bytes": line_bytes,
            "length": len(line.on_image),
            "source": line.on_image.start * depth,
            "target": line.on_image.start - line.start,
            "input_zero_point": x.zero_point,
            "zero_point": channels.zero_point,
            "suffix": function,
            "clamped": channels.clamped,
            "lowest": channels.lowest,
            "highest": channels.highest,
            "outputs_in_all": output.elements,
        },
        parameters=(
            Parameter("input", "const int8_t *", "input"),
            Parameter("weights", "const uint32_t *", "constant"),
            Parameter("output", "int8_t *", "output"),
            Parameter("line", "int8_t *", "scratch"),
        ),
        constants=(Constant("weights", np.concatenate(streams)),),
        # A column that weights of zero make longer ends behind the line.
        scratch_bytes=line_bytes + STEP,
        includes=("mve", "mve_product", "mve_lines", *(("mve_clamp",) * channels.clamped)),
        overlaps=(_overlap(bound),),
    )


def _cost(bound: BoundOperator[TransposeConvAttributes], call: KernelCall) -> Cost:
    p = call.values
    rows, _ = window_axes(bound)
    short = "_short" in p["suffix"]
    total = Work()
    for phase, table in zip(_phases(rows), p["tables"], strict=True):
        line = _PHASED_ROW if len(p["tables"]) > 1 else Work(alu=2, branch=1)
        for _, _, _, pairs, _, first, steps, channels, _ in table:
            depth = first + STEP * steps
            line += work.product(
                pairs, channels, depth, positive="positive" in p["suffix"], short=short
            )
            line += _RUN if len(p["tables"]) > 1 else Work(alu=5, branch=1)
        if p["padded"]:
            line += work.fill(p["line_bytes"])
        total += phase.outputs * line
        first_rows = phase.last_read + np.arange(phase.outputs)
        taken = first_rows[:, None] - np.arange(len(phase.taps))
        copies = int(((taken >= 0) & (taken < p["input_rows"])).sum())
        copy = work.copy_pixels(p["length"], p["input_depth"]) + Work(alu=8, branch=2, load=1)
        total += copies * copy + (taken.size - copies) * Work(alu=4, branch=1)
    total = p["images"] * total + clamp_work(call) + work.INLINE_LOOP
    tables = sum(40 * len(table) for table in p["tables"])
    shared = {
        "mve_product": 330 if short else 760,
        "mve_lines": 106,
        **({"mve_clamp": 40} if p["clamped"] else {}),
    }
    code = 200 if len(p["tables"]) > 1 else 110
    return Cost(total, code + tables + 20 * len(p["tables"]), shared)


KERNEL = Kernel("transpose_conv", _supports, _lower, features=("mve",), cost=_cost)
