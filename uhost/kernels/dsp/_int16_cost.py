"""What layers with int16 activations cost.

Counts of the sums are those of `templates/kernels/include/dsp_int16.h.j2`; what gathers a column
and requantises is C, of which GCC 12 at -O2 makes about this.
"""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.reference._memory import copying, filling
from uhost.targets._work import Work

SUMS_BYTES = 94
"""Code of `uhost_dsp_int16_sums`."""

_CALL = Work(alu=5, load_many=1, store_many=2, words=22)
_QUAD = Work(load_many=3, words=6, multiply=8, alu=9, branch=1)
"""Four elements of four channels."""

_CHANNEL = {
    True: Work(multiply=4, alu=20, load=5, load_many=1, words=2, store=1, branch=4),
    False: Work(multiply=2, alu=26, load=5, store=1, branch=5),
}
"""Requantisation of one sum, in 64 bits and in 32."""

_GROUP = {True: Work(alu=16, load=10, store=4, branch=1), False: Work(alu=6, load=4, branch=2)}
_PIXEL = {True: Work(alu=20, load=7, store=5, branch=2), False: Work(alu=8, load=3, store=2)}
_TAP = Work(alu=4, branch=1)
_ELEMENT = Work(alu=1, load=1, store=1, branch=1)
_ELEMENT_INSIDE = Work(alu=7, load=1, store=1, branch=2)
_TAP_OUTSIDE = Work(alu=8, store=2, branch=2)
_ELEMENT_OUTSIDE = Work(alu=3, store=1, branch=1)
"""Of a depth that is no multiple of four; GCC fills others several at a time."""


def _inside(call: KernelCall, axis: int) -> int:
    """Returns how many taps of all windows lie on the image, along one axis."""
    size, stride, dilation, before, window, outputs = (
        call.values[name][axis]
        for name in ("size", "stride", "dilation", "before", "window", "outputs")
    )
    return sum(
        0 <= output * stride - before + tap * dilation < size
        for output in range(outputs)
        for tap in range(window)
    )


def _gathering(call: KernelCall) -> Work:
    """Returns the work of gathering the columns of all pixels."""
    values = call.values
    depth: int = values["depth"]
    taps: int = values["pixels"] * values["window"][0] * values["window"][1]
    if not values["padded"]:
        return _TAP * taps + _ELEMENT * (taps * depth)
    inside = _inside(call, 0) * _inside(call, 1)
    outside = _TAP_OUTSIDE + _ELEMENT_OUTSIDE * (depth % 4 and depth)
    return _ELEMENT_INSIDE * (inside * depth) + outside * (taps - inside)


def int16_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of a call that `int16_call` made."""
    values = call.values
    wide, channels = bool(values["wide"]), values["channels"]
    group = _CALL + _QUAD * values["quads"] + _GROUP[wide]
    pixel = group * -(-channels // 4) + _CHANNEL[wide] * channels
    pixel += _PIXEL[wide] if channels > 4 else Work(alu=8)
    work = pixel * values["pixels"]
    code = 205
    if not values["in_place"]:
        work += _gathering(call)
        code = 340 if values["padded"] else 245
    return Cost(work, code, {"dsp_int16": SUMS_BYTES})


# Depthwise, two channels at a time.

_PAIRED_CHANNEL = {
    True: Work(multiply=4, alu=21, load=5, load_many=1, words=2, store=1, branch=4),
    False: Work(multiply=2, alu=24, load=4, store=1, branch=5),
}


def _band_rows(values: Any) -> Work:
    """Returns the work of filling the band for every row of outputs."""
    (height, width), channels = values["size"], values["channels"]
    (rows, _), (stride, _), (dilation, _) = values["window"], values["stride"], values["dilation"]
    before, offset = values["before"]
    line_bytes = 2 * values["line_elements"]
    work = Work()
    for top in range(-before, values["outputs"][0] * stride - before, stride):
        for row in range(rows):
            y = top + row * dilation
            target = 2 * (row * values["band_columns"] + offset) * channels
            if 0 <= y < height:
                copy = copying(line_bytes, 2 * y * width * channels, target)
                work += copy + Work(alu=7, load=1, branch=2, untaken=1)
            else:
                work += filling(line_bytes, target) + Work(alu=8, branch=3)
    return work


def depthwise_int16_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `depthwise_conv_2d_int16`."""
    values = call.values
    rows, columns = values["window"]
    pairs, rest = divmod(values["channels"], 2)
    wide, taps = bool(values["wide"]), rows * columns
    two, one = Work(load=2, multiply=2) * taps, Work(load=2, multiply=1) * taps
    if not values["unrolled"]:
        around = Work(alu=4, branch=1) * rows
        if not values["unrolled_line"]:
            around = Work(alu=1, branch=1) * taps + Work(alu=5, load=2, branch=1) * rows
        two, one = two + around, one + around
    two += _PAIRED_CHANNEL[wide] * 2 + Work(alu=5, branch=1)
    one += _PAIRED_CHANNEL[wide]
    pixel = two * pairs + one * rest + Work(alu=4, load=5, store=3, branch=1)
    work = pixel * (values["outputs"][0] * values["outputs"][1])
    work += Work(alu=8, load=4, store=4, branch=1) * values["outputs"][0]
    work += Work(alu=12, load=4, load_many=1, store_many=1, words=18, store=4)
    if values["banded"]:
        work += _band_rows(values)
    if values["margins"]:
        work += filling(2 * rows * values["band_columns"] * values["channels"])
    spelled_out = taps if values["unrolled"] else columns if values["unrolled_line"] else 2
    products = 14 * spelled_out + 30 * (not values["unrolled"])
    code = 90 + (products + 210) * (pairs > 0) + (products + 100) * rest + 110 * values["banded"]
    return Cost(work, code)


_GATHERED_CHANNEL = {
    True: Work(multiply=4, alu=30, load=7, store=1, branch=5),
    False: Work(multiply=2, alu=25, load=6, store=1, branch=6),
}


def _moving(size: int, *, copy: bool) -> Work:
    """Returns the work of moving a tap's bytes to the column, spelled out where they are few."""
    if size > (64 if copy else 16):
        return copying(size) if copy else filling(size)
    words = size // 4 + size % 4 // 2
    return Work(load=words * copy, store=words, alu=4 if copy else 1)


def transpose_int16_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `transpose_conv_int16`."""
    values = call.values
    (height, width), depth, channels = values["size"], values["depth"], values["channels"]
    wide, padded = bool(values["wide"]), values["padded"]
    copy, clear = (_moving(2 * depth, copy=inside) for inside in (True, False))
    copy += Work(alu=3, branch=1, untaken=2 * padded)
    clear += Work(alu=9, branch=3) if 2 * depth > 16 else Work(alu=3, branch=2)
    work = Work(alu=14, load=4, store=6, load_many=1, store_many=1, words=18)
    for top, left, rows, taps, quads, _, _, lines, outputs in values["phases"]:
        pixels = lines * outputs
        inside = sum(0 <= top + y + row < height for y in range(lines) for row in range(rows))
        inside *= sum(0 <= left + x + tap < width for x in range(outputs) for tap in range(taps))
        work += copy * inside + clear * (rows * taps * pixels - inside)
        work += Work(alu=10, load=3, store=1, branch=2) * (rows * pixels)
        group = _CALL + _QUAD * quads + Work(alu=4, load=5, store=1, branch=1)
        pixel = group * -(-channels // 4) + _GATHERED_CHANNEL[wide] * channels
        work += (pixel + Work(alu=4, load=3, store=2, branch=2)) * pixels
        work += Work(alu=8, load=5, store=3, branch=1) * lines
        work += Work(alu=12, load=8, store=4, branch=2)
    code = 540 + 60 * padded + 2 * depth * (depth <= 32)
    return Cost(work, code, {"dsp_int16": SUMS_BYTES})
