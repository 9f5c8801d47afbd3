"""What dot products with half-widened weights cost, and the columns they read.

Counts of the assembler are those of its text, `templates/kernels/include/dsp_product*.h.j2`
and `dsp_widen.h.j2`; those of the C around it are GCC 12's at -O2.
"""

from __future__ import annotations

from typing import Any

from uhost.ir.graph import BoundOperator
from uhost.kernels._cost import Cost
from uhost.kernels._kernel import KernelCall
from uhost.kernels.dsp._pieces import CLAMP_BYTES, SUMS_BYTES, clamping, summing, widening
from uhost.targets._work import Work

TILES = ("dsp_product_tiles:", "dsp_product_pipelined:")
CALL = Work(alu=4, branch=1)
"""Arguments in registers, and the call."""

_TILE_BYTES = {
    False: {(2, False): 714, (2, True): 610, (1, False): 654, (1, True): 602},
    True: {(2, False): 862, (2, True): 760, (1, False): 790, (1, True): 730},
}
"""The routines: by whether they are pipelined, by pixels, by whether two instructions requantise.

The tables below are by the same.
"""

_ENTER = {
    2: Work(store_many=3, load_many=1, words=20, alu=9, multiply=1, store=1),
    1: Work(store_many=3, load_many=1, words=18, alu=9, multiply=1),
}
_START = {
    False: {
        2: Work(load_many=2, words=8, load=1, branch=1),
        1: Work(load_many=1, words=4, load=1, branch=1),
    },
    True: {
        2: Work(load_many=2, words=8, load=4, branch=1),
        1: Work(load_many=1, words=4, load=2, branch=1),
    },
}
_STEP = {
    False: {
        2: Work(load_many=2, words=4, multiply=8, alu=2),
        1: Work(load_many=2, words=6, multiply=8, alu=4),
    },
    True: {
        2: Work(load=4, multiply=8, alu=2),
        1: Work(load_many=1, words=2, load=4, multiply=8, alu=4),
    },
}
"""One K pair of two pixels, two K pairs of one: four channels of each."""
_ROUND = Work(alu=1, load=1, branch=1)
"""The loop's end, after up to eight steps."""
_END = {
    False: {
        (2, False): Work(alu=43, load_many=5, words=14, multiply=8, store=3, load=1, branch=1),
        (2, True): Work(alu=19, load_many=3, words=10, multiply=8, store=3, load=1, branch=1),
        (1, False): Work(alu=22, load_many=3, words=14, multiply=4, store=2, branch=1),
        (1, True): Work(alu=10, load_many=2, words=10, multiply=4, store=2, branch=1),
    },
    True: {
        (2, False): Work(alu=43, load=12, multiply=8, store=3, branch=1),
        (2, True): Work(alu=14, load=8, multiply=8, store=9, branch=1),
        (1, False): Work(alu=22, load=13, multiply=4, store=2, branch=1),
        (1, True): Work(alu=7, load=9, multiply=4, store=5, branch=1),
    },
}
"""Requantisation and the stores of four channels."""
_LEAVE = Work(alu=1, load_many=1, words=9)


def product(
    pixels: int, pairs: int, channels: int, *, rectified: bool, pipelined: bool = False
) -> Work:
    """Returns the work of one call of the routine, for a multiple of four channels."""
    steps = pairs // (3 - pixels)
    four = _START[pipelined][pixels] + _STEP[pipelined][pixels] * steps
    four += _ROUND * -(-steps // 8) + _END[pipelined][pixels, rectified]
    return _ENTER[pixels] + four * (channels // 4) + _LEAVE


def is_rectified(call: KernelCall) -> bool:
    """True if two instructions requantise the sums."""
    return "_shift_" in call.values["suffix"]


def is_pipelined(call: KernelCall) -> bool:
    """True if the routines are those for cores that issue two instructions a cycle."""
    return "_pipelined" in call.values["suffix"]


def multiplying(call: KernelCall, pixels: int, tile: int = 0) -> Work:
    """Returns the work of the products of `pixels` pixels by all channels, and of the calls.

    `tile` pixels are multiplied of which `pixels` are kept.
    """
    tile = tile or pixels
    pairs, channels = call.values["pairs"], call.values["channels"]
    order = {"rectified": is_rectified(call), "pipelined": is_pipelined(call)}
    whole, rest = channels // 4 * 4, channels % 4
    work = Work()
    if call.values["summed"]:
        work += summing(call.values["summed"], tile)
    if whole:
        work += product(tile, pairs, whole, **order) + CALL
    if rest:
        work += product(tile, pairs, 4, **order) + CALL
        # Halfwords and bytes of the four that were multiplied.
        work += Work(load=1, store=1) * (pixels * (1 + rest // 3))
    if call.values["clamped"]:
        work += clamping(pixels * channels) + CALL
    return work


def multiplying_bytes(call: KernelCall, pixels: int) -> int:
    """Returns the code of these calls."""
    rest: int = call.values["channels"] % 4
    clamped: bool = call.values["clamped"]
    calls: int = (call.values["channels"] >= 4) + (rest > 0)
    calls += call.values["summed"] > 0
    return 16 * calls + 8 * pixels * (rest + 1) // 2 * (rest > 0) + 16 * clamped


def tile_bytes(call: KernelCall, tiles: tuple[int, ...]) -> dict[str, int]:
    """Returns the pieces that a call needs for tiles of so many pixels, with their code."""
    sizes, rectified = _TILE_BYTES[is_pipelined(call)], is_rectified(call)
    name = next(one for one in call.includes if one.startswith(TILES))
    pieces = {f"{name}#{tile}x4": sizes[tile, rectified] for tile in tiles}
    if call.values["summed"]:
        pieces |= {f"dsp_sums#{tile}": SUMS_BYTES[tile] for tile in tiles}
    return pieces | ({"dsp_clamp": CLAMP_BYTES} if call.values["clamped"] else {})


WIDEN_ALIGNED_BYTES = 64


def widening_two(elements: int, *, aligned: bool) -> Work:
    """Returns the work of `uhost_dsp_widen_two`, the call included if it is one."""
    if aligned:
        eight = Work(load_many=2, store_many=2, words=12, alu=9, branch=1)
        ends = Work(alu=1, load_many=1, store_many=1, words=16, branch=1)
        return CALL + ends + eight * (elements // 8)
    words, rest = divmod(elements, 4)
    # Spelled out by GCC where there are few.
    loop = Work(alu=2 + 1, branch=1) if words > 1 else Work()
    work = (Work(load=2, store=4, alu=4) + loop) * words + Work(alu=2) * (words > 1)
    if rest & 2:
        work += Work(load=4, store=2, alu=2)
    if rest & 1:
        work += Work(load=2, store=2, alu=2)
    return work


def widening_two_bytes(elements: int, *, aligned: bool) -> int:
    """Returns the code of it in line, or of the call."""
    if aligned:
        return 14
    rest = elements % 4
    return 52 * (elements > 3) + 36 * (rest // 2) + 20 * (rest % 2)


def pointwise_cost(_bound: BoundOperator[Any], call: KernelCall) -> Cost:
    """Returns the cost of a kernel that multiplies pixels that follow in memory."""
    pixels, depth, aligned = (call.values[name] for name in ("pixels", "depth", "aligned"))
    work = Work(alu=6, load=1, load_many=1, store_many=1, words=18)
    tiles: tuple[int, ...] = ()
    shared: dict[str, int] = {}
    code = 20
    if pixels > 1:
        pair = widening_two(depth, aligned=aligned) + multiplying(call, 2)
        work += (pair + Work(alu=3, branch=1)) * (pixels // 2)
        tiles = (2,)
        code += 16 + widening_two_bytes(depth, aligned=aligned) + multiplying_bytes(call, 2)
        if aligned:
            shared["dsp_widen"] = WIDEN_ALIGNED_BYTES
    if pixels % 2:
        work += widening(depth) + multiplying(call, 1)
        tiles = (*tiles, 1)
        code += 22 + 10 * (depth % 4) + multiplying_bytes(call, 1)
    return Cost(work, code, shared | tile_bytes(call, tiles))
