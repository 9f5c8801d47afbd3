"""Instructions of the blocked int8 kernels, as GCC compiles their C for Armv7-M.

Counted from the compiled loops; what is done once per block or pixel is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.reference._memory import copying, filling
from uhost.ops._window import Axis
from uhost.targets._work import Work

_ADDRESS_LIMIT = 4095
"""A load reaches so many bytes beyond a pointer."""


_SPELLED_OUT = 64
"""So many bytes are copied in line."""


def blocks_work(values: Mapping[str, Any]) -> Work:
    """Returns all blocks of a layer; `values` are those of `block_values`."""
    p: int = values["pixel_block"]
    c: int = values["channel_block"]
    depth: int = values["depth"]
    step = Work(load=p + c, multiply=p * c, alu=1, branch=1)
    # Beyond the reach of a load a second pointer goes along.
    step += Work(alu=1) * (((c - 1) * depth > _ADDRESS_LIMIT) + ((p - 1) * depth > _ADDRESS_LIMIT))
    finish = Work(load=1 + values["per_channel"] * 2, alu=2, branch=1) * c
    finish += Work(load=1, alu=12, multiply=1, store=1) * (p * c)
    channels: int = -(-values["channels_out"] // c)
    columns: int = -(-values["pixels"] // p)
    enter = Work(alu=12, load=4, store_many=1)
    if p > 1:
        # The last block may begin before the one before ends.
        place = 20 if values["channels_out"] % c else 6
        around = Work(load=10 + c, store=8 + c, alu=place, branch=2)
        if values["channels_out"] == c:
            return (step * depth + finish + Work(load=2, alu=2, branch=1)) * columns + enter
        block = step * depth + finish + around
        per_columns = Work(load=5, store=5, alu=12, branch=1)
        return (block * channels + per_columns) * columns + enter
    around = Work(load=3 + c // 2, store=2 + c // 2, alu=7, branch=2) if channels > 1 else Work()
    return (step * depth + finish + around) * channels + enter


def gathering_work(rows: Axis, columns: Axis, channels: int) -> Work:
    """Returns the gathering of all windows of an image; `channels` are bytes of one pixel."""
    padded = any(axis.starts_outside or axis.ends_outside for axis in (rows, columns))
    inside_y, inside_x = (axis.valid_taps() for axis in (rows, columns))
    pixels = rows.output * columns.output
    if not padded and columns.window * channels <= _SPELLED_OUT:
        words, rest = divmod(columns.window * channels, 4)
        line = Work(load=words + rest, store=words + rest) + Work(alu=3) * (rows.window > 1)
        return (Work(alu=10, load=3, store=2, branch=2) + line * rows.window) * pixels
    whole = int((inside_y == rows.window).sum()) * int((inside_x == columns.window).sum())
    work = Work(alu=22 if padded else 12, load=4, store=3, branch=2, untaken=2) * pixels
    work += filling(rows.window * columns.window * channels) * (pixels - whole)
    lines = int(inside_y.sum())
    for taps in inside_x.tolist():
        if columns.dilation == 1:
            copy = copying(taps * channels, channels)
        else:
            copy = (copying(channels, channels) + Work(alu=4, load=1, branch=1)) * taps
        work += (copy + Work(alu=6, load=1, branch=2)) * lines
    return work


def band_work(values: Mapping[str, Any], rows: Axis, columns: Axis) -> Work:
    """Returns a depthwise convolution over a band; `values` are those its template prints."""
    taps: int = values["window_y"] * values["window_x"]
    output = Work(load=2, multiply=1) * taps + Work(multiply=1, alu=13, store=1, branch=1)
    output += Work(load=1) if values["has_bias"] else Work(alu=1)
    if values["per_channel"]:
        output += Work(load=2)
    if not values["unrolled_y"]:
        turns = values["window_y"] * (1 if values["unrolled_x"] else 1 + values["window_x"])
        output += Work(alu=2, branch=1) * turns
    outputs: int = values["channels_out"]
    work = output * outputs
    if rows.output * columns.output > 1:
        work += Work(load=5, store=1, alu=5, branch=1)
        row = work * columns.output + Work(load=8, store=8, alu=10, branch=1)
        work = row * rows.output
    if values["padded"]:
        work += _band_rows(values, rows)
    batches: int = values["batches"]
    work = work * batches + Work(alu=24, load=4, store=8)
    if values["margins"]:
        band = values["window_y"] * values["band_columns"] * values["channels_in"]
        work += filling(band)
    return work


def _band_rows(values: Mapping[str, Any], rows: Axis) -> Work:
    """Returns the filling of the band for every row of outputs."""
    size, channels = values["row_elements"], values["channels_in"]
    work = Work()
    for top in range(-rows.before, rows.output * rows.stride - rows.before, rows.stride):
        for tap in range(rows.window):
            y = top + tap * rows.dilation
            target = (tap * values["band_columns"] + values["before_x"]) * channels
            if 0 <= y < rows.size:
                copy = copying(size, y * values["size_x"] * channels, target)
                work += copy + Work(alu=8, branch=2, untaken=1)
            else:
                work += filling(size, target) + Work(alu=8, branch=3)
    return work


GATHERING_BYTES = 160
"""Code that gathers one window."""


def blocks_bytes(values: Mapping[str, Any]) -> int:
    """Returns the code of `blocks_work`."""
    p: int = values["pixel_block"]
    c: int = values["channel_block"]
    if p > 1:
        return 219 + 4 * (p + c) + 14 * p * c
    return 124 + 12 * c if c < values["channels_out"] else 88 + 16 * c


def blocks_cost(call: KernelCall) -> Cost:
    """Returns the cost of a layer whose columns lie as they are multiplied."""
    return Cost(blocks_work(call.values), blocks_bytes(call.values))


def band_bytes(values: Mapping[str, Any]) -> int:
    """Returns the code of `band_work`."""
    taps: int = values["window_x"] if values["unrolled_x"] else 1
    if values["unrolled_y"]:
        taps *= values["window_y"]
    return 147 + 12 * taps + (110 if values["padded"] else 0)
