"""Packs blocks with lifetimes into the smallest arena it finds.

Placing blocks one by one, each at the lowest offset where it touches nothing live
at the same time, gives an arena that depends only on the order of placing. A few
good orders are tried first; where none reaches the lower bound, a bounded local
search swaps orders. The problem is dynamic storage allocation, which is NP-hard;
largest-first is the "greedy by size" of Pisarchyk and Lee (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from uhost.planner.plan import Block

_SEARCH_ROUNDS = 200


def lower_bound(blocks: Sequence[Block]) -> int:
    """Returns the largest sum of bytes live at one step."""
    steps = {step for block in blocks for step in (block.first, block.last)}
    return max(
        (sum(b.size_bytes for b in blocks if b.first <= step <= b.last) for step in steps),
        default=0,
    )


def pack(blocks: Sequence[Block], alignment_bytes: int) -> dict[str, int]:
    """Returns block name → offset, a multiple of `alignment_bytes`; repeatable."""
    bound = lower_bound(blocks)
    orders = [
        sorted(blocks, key=lambda b: (-b.size_bytes, b.first, b.name)),
        sorted(blocks, key=lambda b: (b.first - b.last, -b.size_bytes, b.name)),
        sorted(blocks, key=lambda b: (-b.size_bytes * (b.last - b.first + 1), b.name)),
        sorted(blocks, key=lambda b: (b.first, -b.size_bytes, b.name)),
    ]
    best_order = orders[0]
    best = _place(best_order, alignment_bytes)
    for order in orders[1:]:
        candidate = _place(order, alignment_bytes)
        if _extent(blocks, candidate) < _extent(blocks, best):
            best_order, best = order, candidate
    if _extent(blocks, best) > bound:
        by_time = sorted(blocks, key=lambda b: (b.first, b.last, b.name))
        candidate = _place_from_both_ends(by_time, alignment_bytes, bound)
        if _extent(blocks, candidate) < _extent(blocks, best):
            best = candidate
    random = Random(len(blocks))
    for _ in range(_SEARCH_ROUNDS):
        if _extent(blocks, best) < bound + alignment_bytes or len(blocks) < 2:
            break
        order = list(best_order)
        source, target = random.sample(range(len(order)), 2)
        order.insert(target, order.pop(source))
        candidate = _place(order, alignment_bytes)
        if _extent(blocks, candidate) <= _extent(blocks, best):
            best_order, best = order, candidate
    return best


def _place(order: Sequence[Block], alignment_bytes: int) -> dict[str, int]:
    offsets: dict[str, int] = {}
    placed: list[Block] = []
    for block in order:
        busy = _busy(placed, offsets, block)
        offsets[block.name] = _lowest(busy, block.size_bytes, alignment_bytes)
        placed.append(block)
    return offsets


def _busy(placed: Sequence[Block], offsets: dict[str, int], block: Block) -> list[tuple[int, int]]:
    """Returns the byte ranges taken while `block` lives, lowest first."""
    return sorted(
        (offsets[p.name], offsets[p.name] + p.size_bytes) for p in placed if p.overlaps(block)
    )


def _lowest(busy: Sequence[tuple[int, int]], size_bytes: int, alignment_bytes: int) -> int:
    offset = 0
    for start, end in busy:
        if offset + size_bytes <= start:
            break
        offset = max(offset, -(-end // alignment_bytes) * alignment_bytes)
    return offset


def _highest(
    busy: Sequence[tuple[int, int]], size_bytes: int, alignment_bytes: int, ceiling_bytes: int
) -> int:
    offset = (ceiling_bytes - size_bytes) // alignment_bytes * alignment_bytes
    for start, end in reversed(busy):
        if offset >= end:
            break
        offset = min(offset, (start - size_bytes) // alignment_bytes * alignment_bytes)
    return offset


def _place_from_both_ends(
    order: Sequence[Block], alignment_bytes: int, ceiling_bytes: int
) -> dict[str, int]:
    """Places blocks in order of time, in turn at the bottom and under the ceiling.

    In a chain only two tensors are live at once, so this reaches the lower bound.
    """
    ceiling = -(-ceiling_bytes // alignment_bytes) * alignment_bytes
    offsets: dict[str, int] = {}
    placed: list[Block] = []
    for turn, block in enumerate(order):
        busy = _busy(placed, offsets, block)
        high = _highest(busy, block.size_bytes, alignment_bytes, ceiling)
        low = _lowest(busy, block.size_bytes, alignment_bytes)
        offsets[block.name] = high if turn % 2 and high >= 0 else low
        placed.append(block)
    return offsets


def _extent(blocks: Sequence[Block], offsets: dict[str, int]) -> int:
    return max((offsets[b.name] + b.size_bytes for b in blocks), default=0)
