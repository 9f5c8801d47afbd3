"""What a transposed convolution costs.

Counts of the C are those of GCC 12 at -O2, which knows the image but not the phase.
"""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.dsp._pieces import (
    PATCH_BYTES,
    clamping,
    patching,
    summing,
)
from uhost.kernels.dsp._product_cost import (
    CALL,
    WIDEN_ALIGNED_BYTES,
    product,
    tile_bytes,
    widening_two,
)
from uhost.targets._work import Work

_SAVED = Work(alu=14, store=3, load_many=1, store_many=1, words=18)
_PHASE = Work(alu=14, load=8, store=4, load_many=1, store_many=4, words=10, branch=1)
_LINE = Work(alu=10, load=6, store=3, load_many=1, store_many=1, words=4, branch=1, untaken=1)
_PIXELS = Work(alu=6, load=5, store=2, load_many=1, words=2, branch=2, untaken=1)
_ROW = Work(alu=6, load=1, branch=1)
_INSIDE = Work(alu=6, load=2, branch=2, untaken=3)
_BEHIND = Work(alu=3, load=1, branch=2)
_BEFORE = Work(alu=4, load=2, branch=2, untaken=1)


def _run(phase: dict[str, int], values: Any, row: int, x: int) -> Work:
    """Returns the work of finding a run whose row is on the image, `uhost_dsp_run` in line."""
    width, depth, taps = values["size"][1], values["depth"], phase["taps"]
    if x >= width:
        return _BEHIND
    if x <= -taps:
        return _BEFORE
    before, after = max(-x, 0), max(x + taps - width, 0)
    if not before and not after:
        return _INSIDE
    patch = patching(before * depth, (taps - before - after) * depth, after * depth)
    return patch + Work(alu=9, load=3, store=1, branch=1, untaken=3)


def _widening(elements: int, pixels: int, *, aligned: bool) -> Work:
    """Returns the work of widening a run of a size that the compiler does not know."""
    if aligned and pixels == 2:
        return widening_two(elements, aligned=True)
    words, rest = divmod(elements, 4)
    work = Work(alu=4, load=1, branch=2, untaken=1)
    if words:
        four = (
            Work(load=2, store=4, alu=6, branch=1)
            if pixels == 2
            else Work(load=1, store=2, alu=4, branch=1)
        )
        work += four * words + Work(alu=5, load=3, store_many=1, words=2)
    work += Work(load=2 * pixels, store=pixels, alu=2 + 2 * pixels) * (rest // 2)
    return work + Work(load=pixels, store=pixels, alu=1 + pixels) * (rest % 2)


def _multiplying(phase: dict[str, int], values: Any, pixels: int) -> Work:
    whole, rest = values["channels"] // 4 * 4, values["channels"] % 4
    rectified = bool(values["suffix"])
    work = Work()
    if values["summed"]:
        work += summing(phase["summed"], pixels) + Work(load=1, alu=1)
    if whole:
        work += product(pixels, phase["pairs"], whole, rectified=rectified) + CALL
        work += Work(load=2, alu=1)
    if rest:
        work += product(pixels, phase["pairs"], 4, rectified=rectified) + CALL
        work += Work(load=1, store=1) * (pixels * (1 + rest // 3)) + Work(load=2, alu=1)
    return work


def phases_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `transpose_conv`."""
    values = call.values
    height, depth = values["size"][0], values["depth"]
    padded, aligned = values["padded"], values["aligned"]
    work = _SAVED
    if padded:
        work += Work(store=1, alu=1, branch=1) * (values["patch_bytes"] // 4)
    for row in values["phases"]:
        phase = dict(zip(values["fields"], row, strict=True))
        run = phase["taps"] * depth
        work += _PHASE + _LINE * phase["lines"]
        tiles = [(2, x) for x in range(0, phase["outputs"] - 1, 2)]
        tiles += [(1, phase["outputs"] - 1)] * (phase["outputs"] % 2)
        for pixels, x in tiles:
            line = _widening(run, pixels, aligned=aligned) + _ROW
            found = [_run(phase, values, 0, phase["left"] + x + pixel) for pixel in range(pixels)]
            on_image = sum(found, Work()) + Work(alu=1, untaken=1) if padded else Work(alu=2)
            rows = [
                0 <= phase["top"] + y + tap < height
                for y in range(phase["lines"])
                for tap in range(phase["rows"])
            ]
            work += line * len(rows) + on_image * sum(rows)
            work += Work(alu=3, branch=2) * (len(rows) - sum(rows))
            work += (_multiplying(phase, values, pixels) + _PIXELS) * phase["lines"]
    rest = values["channels"] % 4
    sizes = (2, 1) if values["single"] else (2,)
    shared = tile_bytes(call, sizes)
    if values["clamped"]:
        work += clamping(values["image"][0] * values["image"][1] * values["channels"]) + CALL
    if padded:
        shared["dsp_run"] = PATCH_BYTES
    if aligned:
        shared["dsp_widen"] = WIDEN_ALIGNED_BYTES
    each = 26 * (values["channels"] >= 4) + 58 * (rest > 0) + 16 * values["summed"]
    each += 190 * padded + (16 if aligned else 140)
    # What finds a run is in line for pairs of pixels, and for single ones again.
    code = 210 + each * (8 if values["single"] else 5) // 5 + 16 * values["clamped"]
    return Cost(work, code, shared)
