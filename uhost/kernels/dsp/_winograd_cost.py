"""What Winograd's convolution costs.

Counts of the assembler are those of its text, `templates/kernels/include/dsp_winograd*.h.j2`;
those of the C around it are GCC 12's at -O2.
"""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.dsp._pieces import CLAMP_BYTES, clamping, setting
from uhost.targets._work import Work

_CALL = Work(alu=4, branch=1)
_INPUT_BYTES = 136 + 192 + 220
"""The routines for rows and for tiles, and the C that brings columns."""


def transforming_rows(columns: int, depth: int) -> Work:
    """Returns the work of `uhost_dsp_winograd_rows_N` for so many columns."""
    work = Work(store_many=1, load_many=2, words=22, alu=2)
    return work + Work(load=4, alu=18, store=8, branch=1) * (columns * depth // 4)


def transforming_tiles(depth: int) -> Work:
    """Returns the work of `uhost_dsp_winograd_tiles_N`: two tiles."""
    quad = Work(load_many=6, words=28, alu=20, store_many=8, branch=1)
    plane = Work(store=1, alu=5, load=1, branch=1) + quad * (depth // 4)
    return Work(store_many=1, load_many=1, words=18, alu=6) + plane * 4


def multiplying_tiles(
    depth: int, channels: int, rounds: int, *, rectified: bool, pipelined: bool
) -> Work:
    """Returns the work of the routine that multiplies two tiles by all filters."""
    loads = Work(load=8) if pipelined else Work(load_many=2, words=8)
    position = (loads + Work(multiply=8)) * (depth // 4) + Work(store_many=1, words=4)
    around = Work(load=1, alu=3 if pipelined else 1, branch=1)
    pair = Work(load=1) + position * 16 + around * rounds
    # A' and A on both sides, requantisation and stores of 2x2x2 outputs of two channels.
    end = Work(load=70, alu=124, load_many=4, words=8, multiply=16, store=18, branch=1)
    if not rectified:
        end += Work(load=4, alu=48)
    ends = Work(store_many=2, load_many=1, words=20, alu=4, store=1)
    return ends + (pair + end) * (channels // 2)


def is_rectified(call: KernelCall) -> bool:
    """True if two instructions requantise the sums."""
    return not call.values["routine"].endswith("_shift_0")


def is_pipelined(call: KernelCall) -> bool:
    """True if the routine is the one for cores that issue two instructions a cycle."""
    return "_pipelined" in call.values["routine"]


def tile_product(call: KernelCall) -> Work:
    """Returns the work of one call of the product's routine."""
    return multiplying_tiles(
        call.values["depth"],
        call.values["channels"],
        call.values["rounds"],
        rectified=is_rectified(call),
        pipelined=is_pipelined(call),
    )


def _product_bytes(call: KernelCall) -> int:
    """Returns the code of the product's routine."""
    instructions, around = (16, 890) if is_pipelined(call) else (10, 882)
    position = 4 * instructions * (call.values["depth"] // 4) + 2
    size_bytes: int = (
        around + 208 * (not is_rectified(call)) + 16 // call.values["rounds"] * position
    )
    return size_bytes


def _bringing(call: KernelCall, x: int) -> Work:
    """Returns the work of bringing the columns from `x` on into half the ring."""
    depth: int = call.values["depth"]
    width: int = call.values["size"][1]
    inside = max(min(x + 4, width) - max(x, 0), 0)
    work = Work(alu=12, load=4, store=4, load_many=1, store_many=1, words=18)
    work += Work(alu=5, branch=3) * 4
    column = setting(0, 2 * depth) * 3 + Work(alu=24, load=1, branch=4)
    column += Work(store=2, alu=2, branch=1) * (depth // 4)
    work += column * (4 - inside)
    if inside:
        rows = Work(alu=5, store=1, branch=2) * 4 + Work(alu=16, load=5, multiply=1, branch=1)
        work += rows + transforming_rows(inside, depth)
    return work + _CALL


def winograd_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of `conv_2d_winograd`."""
    values = call.values
    depth, channels, rounds = values["depth"], values["channels"], values["rounds"]
    rows, columns = values["outputs"]
    name = next(i for i in call.includes if i.startswith("dsp_winograd_product"))
    tiles = transforming_tiles(depth) + _CALL
    tiles += tile_product(call) + _CALL
    tiles += Work(alu=7, load=3, store_many=1, words=2, branch=1)
    row = tiles * (columns // 4) + Work(alu=8, load=3, store=4, branch=1)
    for x in range(0, columns + 4, 4):
        row += _bringing(call, x - values["before"][1])
    work = row * (rows // 2) + setting(0, 4 * depth)
    work += Work(alu=16, load=1, store=8 + 2 * rounds, load_many=1, store_many=1, words=18)
    shared = {
        next(i for i in call.includes if i.startswith("dsp_winograd_input:")): _INPUT_BYTES,
        name: _product_bytes(call),
    }
    if values["clamped"]:
        work += clamping(rows * columns * channels)
        shared["dsp_clamp"] = CLAMP_BYTES
    return Cost(work, 150 + 4 * min(rounds, 8) + 20 * values["clamped"], shared)
