"""What a convolution of groups of channels costs.

Counts of the C are those of GCC 12 at -O2, for most sizes: it writes few taps one by one.
"""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.dsp._pieces import clamping, summing, widening
from uhost.kernels.dsp._product_cost import (
    CALL,
    WIDEN_ALIGNED_BYTES,
    product,
    tile_bytes,
    widening_two,
    widening_two_bytes,
)
from uhost.targets._work import Work

_SAVED = Work(alu=18, store=5, load_many=2, store_many=2, words=22)
_INSIDE = Work(alu=5, untaken=2)
_OUTSIDE = Work(alu=3, branch=2)
_TAP = Work(alu=4, branch=1)
_ROW = Work(alu=4, load=1, store=1, branch=1)
_PIXELS = Work(alu=8, load=3, store=2, branch=2)
_GROUP = Work(alu=8, load=2, store=2, branch=1)


def _inside(values: Any, axis: int) -> list[int]:
    """Returns of every output how many taps lie on the image, along one axis."""
    size, stride, dilation, before, window, outputs = (
        values[name][axis] for name in ("size", "stride", "dilation", "before", "window", "outputs")
    )
    return [
        sum(0 <= output * stride - before + tap * dilation < size for tap in range(window))
        for output in range(outputs)
    ]


def _multiplying(values: Any, pixels: int) -> Work:
    whole, rest = values["channels"] // 4 * 4, values["channels"] % 4
    rectified, pairs = bool(values["suffix"]), values["pairs"]
    work = Work()
    if values["summed"]:
        work += summing(values["summed"], pixels)
    if whole:
        work += product(pixels, pairs, whole, rectified=rectified) + CALL
    if rest:
        work += product(pixels, pairs, 4, rectified=rectified) + CALL
        work += Work(load=1, store=1) * (pixels * (1 + rest // 3))
    return work


def grouped_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `conv_2d_grouped`."""
    values = call.values
    depth, aligned, padded = values["depth"], values["aligned"], values["padded"]
    rows, columns = values["window"]
    pixels = values["outputs"][0] * values["outputs"][1]
    taps = rows * columns
    pair = (widening_two(depth, aligned=aligned) + _TAP) * taps + _ROW * rows
    group = _GROUP + (pair + _PIXELS + _multiplying(values, 2)) * (pixels // 2)
    if pixels % 2:
        group += (widening(depth) + _TAP) * taps + _ROW * rows + _multiplying(values, 1)
    if padded:
        on_image = sum(_inside(values, 0)) * sum(_inside(values, 1))
        group += _INSIDE * on_image + _OUTSIDE * (taps * pixels - on_image)
    else:
        group += Work(alu=2) * (taps * pixels)
    work = _SAVED + group * values["groups"]
    sizes = ((2,) if pixels > 1 else ()) + ((1,) if pixels % 2 else ())
    shared = tile_bytes(call, sizes)
    if values["clamped"]:
        work += clamping(pixels * values["groups"] * values["channels"]) + CALL
    if aligned and pixels > 1:
        shared["dsp_widen"] = WIDEN_ALIGNED_BYTES
    rest = values["channels"] % 4
    each = 20 * (values["channels"] >= 4) + (16 + 16 * (1 + rest // 3)) * (rest > 0) + 70 * padded
    code = 90 + 16 * values["clamped"] + each * len(sizes)
    if pixels > 1:
        code += widening_two_bytes(depth, aligned=aligned) + 20
    if pixels % 2:
        code += 30 + 10 * (depth % 4)
    return Cost(work, code, shared)
