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

_SEARCH_ROUNDS = 400


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
    random = Random(len(blocks))
    for _ in range(_SEARCH_ROUNDS):
        if _extent(blocks, best) <= bound + alignment_bytes - 1 or len(blocks) < 2:
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
        busy = sorted(
            (offsets[p.name], offsets[p.name] + p.size_bytes) for p in placed if p.overlaps(block)
        )
        offset = 0
        for start, end in busy:
            if offset + block.size_bytes <= start:
                break
            offset = max(offset, -(-end // alignment_bytes) * alignment_bytes)
        offsets[block.name] = offset
        placed.append(block)
    return offsets


def _extent(blocks: Sequence[Block], offsets: dict[str, int]) -> int:
    return max((offsets[b.name] + b.size_bytes for b in blocks), default=0)
