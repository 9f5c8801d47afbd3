"""CONV_2D of any window, dilation and groups: the windows of a row of outputs side by side.

Every tap is copied for all outputs of the row at once. The rest is the product of
`mve_product`, once per group of channels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import Constant, Kernel, KernelCall
from uhost.kernels._overlap import Overlap, forward
from uhost.kernels.mve import _work as work
from uhost.kernels.mve._channels import Channels, fold, why_not_int8
from uhost.kernels.mve._overlaps import lowest_lines, moved
from uhost.kernels.mve._product import (
    clamp_work,
    code_bytes,
    pack,
    product_call,
    product_work,
    why_not_product,
)
from uhost.ops._window import Axis
from uhost.ops.conv_2d import Conv2DAttributes, window_axes
from uhost.targets._work import Work


def _supports(bound: BoundOperator[Conv2DAttributes]) -> str:
    return why_not_int8(bound) or why_not_product(fold(bound))


def _groups(channels: Channels, count: int) -> Iterator[Channels]:
    """Yields the output channels of each group."""
    size = len(channels.weights) // count
    for first in range(0, size * count, size):
        part = slice(first, first + size)
        yield replace(
            channels,
            weights=channels.weights[part],
            bias=channels.bias[part],
            multipliers=channels.multipliers[part],
            shifts=channels.shifts[part],
            reach=channels.reach[part],
        )


def _taps(columns: Axis, pixel: int, depth: int, column: int) -> tuple[tuple[int, ...], ...]:
    """Returns per tap of a row: outputs on the image, first input byte and first column byte."""
    found = {
        tap: (outputs.stop - outputs.start, read.start * pixel, outputs.start * column)
        for tap, outputs, read in columns.taps()
    }
    return tuple(found.get(tap, (0, 0, 0)) for tap in range(columns.window))


def _overlap(bound: BoundOperator[Conv2DAttributes], taps: tuple[tuple[int, ...], ...]) -> Overlap:
    """Returns the overlap: of each row, a group's windows are in scratch before it is written."""
    x, output, depth = bound.input(0), bound.output, bound.input(1).shape[3]
    rows, columns = window_axes(bound)
    group = np.arange(x.shape[3] // depth)
    count = output.shape[3] // len(group)
    first = min((source for outputs, source, _ in taps if outputs), default=0)
    end = (columns.output - 1) * output.shape[3] + count
    steps = (first + group * depth, end + group * count)
    images = np.arange(x.shape[0])[:, None]
    reads = images * rows.size + lowest_lines(rows)
    writes = images * rows.output + np.arange(rows.output)
    read_bytes, write_bytes = x.shape[2] * x.shape[3], output.shape[2] * output.shape[3]
    return forward(
        0, *moved(steps, (reads * read_bytes).reshape(-1), (writes * write_bytes).reshape(-1))
    )


def _lower(bound: BoundOperator[Conv2DAttributes]) -> KernelCall:
    rows, columns = window_axes(bound)
    x, output, depth = bound.input(0), bound.output, bound.input(1).shape[3]
    groups = x.shape[3] // depth
    parts = list(_groups(fold(bound), groups))
    column = rows.window * columns.window * depth
    streams = [pack(part, vector=columns.output == 1) for part in parts]
    values: dict[str, Any] = {
        "images": x.shape[0],
        "image_bytes": x.shape[1] * x.shape[2] * x.shape[3],
        "groups": groups,
        "stream_words": len(streams[0]),
        "size": (rows.size, columns.size),
        "input_channels": x.shape[3],
        "input_depth": depth,
        "window": (rows.window, columns.window),
        "stride": (rows.stride, columns.stride),
        "dilation": (rows.dilation, columns.dilation),
        "before": rows.before,
        "outputs": rows.output,
        "output_channels": output.shape[3],
        "padded_rows": rows.starts_outside or rows.ends_outside,
        "padded": any(axis.starts_outside or axis.ends_outside for axis in (rows, columns)),
        "input_zero_point": x.zero_point,
        "column_bytes": column,
        "taps": _taps(columns, x.shape[3], depth, column),
    }
    call = product_call(
        "conv_2d_gathered",
        bound,
        parts[0],
        pixels=columns.output,
        pitch=column,
        values=values,
        stride=output.shape[3],
        scratch_bytes=column * columns.output,
        includes=("mve_lines",),
        overlaps=(_overlap(bound, values["taps"]),),
    )
    return replace(call, constants=(Constant("weights", np.concatenate(streams)),))


def _cost(bound: BoundOperator[Conv2DAttributes], call: KernelCall) -> Cost:
    rows, _ = window_axes(bound)
    p = call.values
    lines = p["images"] * p["groups"] * p["outputs"]
    tap_rows = p["images"] * p["groups"] * int(rows.valid_taps().sum())
    tap = Work(alu=8 if p["groups"] > 1 else 4, load=2, branch=2)
    row = Work(alu=3, branch=1)
    for pixels, *_ in p["taps"]:
        row += work.copy_pixels(pixels, p["input_depth"]) + tap
    total = tap_rows * row + lines * (product_work(call) + Work(alu=6, load=2, branch=1))
    total += (lines * p["window"][0] - tap_rows) * Work(alu=4, branch=1)
    if p["padded"]:
        total += lines * work.fill(call.scratch_bytes)
    shared = {"mve_product": code_bytes(call), **({"mve_clamp": 40} if p["clamped"] else {})}
    total += clamp_work(call) + work.INLINE_LOOP
    return Cost(total, 200, {**shared, "mve_lines": 106})


KERNEL = Kernel("conv_2d", _supports, _lower, features=("mve",), cost=_cost)
