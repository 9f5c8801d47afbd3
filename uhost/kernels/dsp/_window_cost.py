"""What gathering windows into columns costs, on the image and beside it.

Counts of the C are those of GCC 12 at -O2; where it writes one loop or another according to
the constants, what it does for most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.dsp._pieces import PATCH_BYTES, patching, setting, widening
from uhost.kernels.dsp._product_cost import (
    CALL,
    WIDEN_ALIGNED_BYTES,
    multiplying,
    multiplying_bytes,
    tile_bytes,
    widening_two,
    widening_two_bytes,
)
from uhost.targets._work import Work

_SAVED = Work(alu=14, store=3, load_many=1, store_many=1, words=18)
"""Entry and return of a function that needs every register."""

FILL_PATCH_BYTES = 270
"""Code of `uhost_dsp_fill_patch`."""


def places(call: KernelCall) -> Iterator[tuple[int, int]]:
    """Yields row and column of the first tap of every output."""
    values = call.values
    for y in range(values["outputs"][0]):
        for x in range(values["outputs"][1]):
            yield (
                y * values["stride"][0] - values["before"][0],
                x * values["stride"][1] - values["before"][1],
            )


# Runs of one row each: `conv_2d`.


def _run(call: KernelCall, y: int, x: int) -> Work:
    """Returns the work of finding the run at row y and column x, `uhost_dsp_run` in line."""
    height, width = call.values["size"]
    taps: int = call.values["taps"]
    depth: int = call.values["depth"]
    if not call.values["padded"]:
        return Work(alu=1)
    if y < 0 or y >= height or x >= width or x <= -taps:
        return Work(alu=3, branch=2, untaken=1)
    if x >= 0 and x + taps <= width:
        return Work(alu=4, branch=2, untaken=2)
    outside = max(-x, 0), max(x + taps - int(width), 0)
    inside = taps - sum(outside)
    patch = patching(outside[0] * depth, inside * depth, outside[1] * depth)
    return patch + Work(alu=9, load=2, store=1, branch=2, untaken=1)


def window_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `conv_2d`, which widens two pixels' windows run by run."""
    values = call.values
    rows, taps = values["window"][0], values["window"][1] // values["taps"]
    row_step, tap_step = values["dilation"]
    run, aligned = values["taps"] * values["depth"], values["aligned"]
    runs, pixels = rows * taps, values["outputs"][0] * values["outputs"][1]
    work = _SAVED
    if values["padded"]:
        work += setting(0, run) + CALL
        for y, x in places(call):
            for row in range(rows):
                for tap in range(taps):
                    work += _run(call, y + row * row_step, x + tap * tap_step)
    # The loop over runs is not one for a single run.
    around = Work(alu=4, branch=1) if runs > 1 else Work(alu=1)
    pair = (widening_two(run, aligned=aligned) + around) * runs + multiplying(call, 2)
    pair += Work(alu=7, load=2, store=2, branch=2)
    work += pair * (pixels // 2)
    tiles = (2,) if pixels > 1 else ()
    code = 88 + (widening_two_bytes(run, aligned=aligned) + multiplying_bytes(call, 2)) * len(tiles)
    if pixels % 2:
        work += (widening(run) + around) * runs + multiplying(call, 1)
        tiles = (*tiles, 1)
        code += 60 + multiplying_bytes(call, 1)
    shared = tile_bytes(call, tiles)
    if values["padded"]:
        shared["dsp_run"] = PATCH_BYTES
        code += 116 * len(tiles)
    if aligned and pixels > 1:
        shared["dsp_widen"] = WIDEN_ALIGNED_BYTES
    return Cost(work, code, shared)


# Windows at once: `conv_2d_gathered`.


def gathering(rows: int, run: int) -> Work:
    """Returns the work of one call of the routine that gathers two windows."""
    words, rest = run // 4, run % 4
    left = rows * rest
    work = Work(load_many=3, store_many=1, words=22, alu=1)
    work += Work(load=2, alu=4, store_many=1, words=4) * (rows * words)
    work += Work(load=2) * left + Work(alu=2, store_many=1, words=2) * ((left + 1) // 2)
    return work + Work(alu=2) * (rows - 1)


def _gather_bytes(rows: int, run: int) -> int:
    """Returns the routine's code: 4 bytes an instruction, but for the shortest loads."""
    words, rest = run // 4, run % 4
    left = rows * rest
    return 14 + 26 * rows * words + 8 * left + 12 * ((left + 1) // 2) + 6 * (rows - 1)


def _filling(call: KernelCall, y: int, x: int) -> Work:
    """Returns the work of `uhost_dsp_fill_patch` for a window that is not all on the image."""
    (height, width), depth = call.values["size"], call.values["depth"]
    rows, columns = call.values["window"]
    run = columns * depth
    first = min(max(-x, 0) * depth, run)
    end = max(min((width - x) * depth, run), first)
    work = Work(alu=30, store=2, load_many=1, store_many=2, words=20, branch=2, untaken=1)
    for row in range(rows):
        at = row * run
        work += Work(alu=4, branch=2, untaken=1)
        written = 0
        if 0 <= y + row < height:
            if first:
                work += setting(at, first) + Work(alu=5, branch=1)
            work += Work(load=1, store=1, alu=2, branch=1) * (end - first)
            work += Work(load=3, alu=5, branch=1, untaken=1)
            written = end
        if written < run:
            work += setting(at + written, run - written) + Work(alu=6, branch=1)
    return work


def gathered_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `conv_2d_gathered`."""
    values = call.values
    (height, width), (rows, columns) = values["size"], values["window"]
    pixels, run = values["outputs"][0] * values["outputs"][1], columns * values["depth"]
    work = _SAVED
    if values["padded"]:
        for y, x in places(call):
            if y >= 0 and y + rows <= height and x >= 0 and x + columns <= width:
                work += Work(alu=9, store=2, branch=2, untaken=1)
            else:
                work += _filling(call, y, x) + CALL + Work(alu=4, store=2, branch=2)
    else:
        work += Work(alu=4, store=1, branch=1) * pixels
    gather = gathering(rows, run) + CALL
    work += (gather + multiplying(call, 2) + Work(alu=3, load=1, branch=1)) * (pixels // 2)
    code = 90 + multiplying_bytes(call, 2) + 110 * values["padded"]
    if pixels % 2:
        work += gather + multiplying(call, 1, 2) + Work(alu=6, store=4)
        code += 40 + multiplying_bytes(call, 1) + 30 * values["padded"]
    shared = tile_bytes(call, (2,))
    name = next(one for one in call.includes if one.startswith("dsp_gather:"))
    shared[name] = _gather_bytes(rows, run)
    if values["padded"]:
        shared["dsp_patch"] = FILL_PATCH_BYTES
    return Cost(work, code, shared)


# Windows on a framed image: `conv_2d_gathered_framed`.


def _copying(rows: int, size: int) -> Work:
    """Returns the work of `uhost_dsp_copy_rows` in line."""
    words = size // 4
    row = Work(load=1, store=1) * (words + size % 4) + Work(alu=3, branch=1)
    if words > 3:  # GCC spells out so few
        row += Work(alu=1, branch=1) * words + Work(alu=2)
    return row * rows + Work(alu=4)


def framed_cost(bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `conv_2d_gathered_framed`."""
    found = gathered_cost(bound, call)
    (height, width), (rows, columns) = call.values["frame"], call.values["copied"]
    depth = call.values["depth"]
    work = found.work + setting(0, height * width * depth) + CALL + _copying(rows, columns * depth)
    return replace(found, work=work, code_bytes=found.code_bytes + 72)
