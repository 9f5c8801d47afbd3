"""Packs blocks with lifetimes into the smallest arena it finds.

Placing blocks one by one, each at the lowest offset where it touches nothing live
at the same time, gives an arena that depends only on the order of placing. A few
good orders are tried first; where none reaches the lower bound, a bounded local
search swaps orders. The problem is dynamic storage allocation, which is NP-hard;
largest-first is the "greedy by size" of Pisarchyk and Lee (2020). Blocks of an `Overlap`
may share bytes at the displacements it allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from uhost.planner.plan import Block, Overlap, shared_bytes

_SEARCH_ROUNDS = 200
_EFFORT = 1_500_000
"""Pairs of blocks that the search looks at; many blocks get fewer rounds for it."""

Pairs = Mapping[tuple[str, str], tuple[Overlap, bool]]
"""(placed block, block to place) → their overlap, and whether the latter is read in it."""

Beside = Mapping[str, Sequence[Block]]
"""Block → the other blocks that are live at some step of its life."""

Span = tuple[int, int]
"""Offsets where a block may not begin, the ends excluded."""


def lower_bound(blocks: Sequence[Block], overlaps: Sequence[Overlap] = ()) -> int:
    """Returns the largest sum of bytes live at one step, less what its blocks can share."""
    shared = shared_bytes(blocks, overlaps)
    steps = {step for block in blocks for step in (block.first, block.last)}
    return max(
        (
            sum(b.size_bytes for b in blocks if b.first <= step <= b.last) - shared.get(step, 0)
            for step in steps
        ),
        default=0,
    )


def _padded_bound(
    blocks: Sequence[Block], alignment_bytes: int, overlaps: Sequence[Overlap]
) -> int:
    """Returns bytes below which no aligned arena lies: the blocks live at one step, padded.

    One block may lie last and needs no padding. Steps where blocks may share bytes are left out.
    """
    shared = shared_bytes(blocks, overlaps)
    bound = 0
    for step in {step for block in blocks for step in (block.first, block.last)} - shared.keys():
        live = [b.size_bytes for b in blocks if b.first <= step <= b.last]
        paddings = [-size % alignment_bytes for size in live]
        bound = max(bound, sum(live) + sum(paddings) - max(paddings))
    return bound


def pack(
    blocks: Sequence[Block],
    alignment_bytes: int,
    overlaps: Sequence[Overlap] = (),
    goal_bytes: int | None = None,
) -> dict[str, int]:
    """Returns block name → offset, a multiple of `alignment_bytes`; repeatable.

    It is not searched for a smaller arena where none can be as small as `goal_bytes`.
    """
    bound = lower_bound(blocks, overlaps)
    least = max(bound + alignment_bytes - 1, _padded_bound(blocks, alignment_bytes, overlaps))
    pairs: dict[tuple[str, str], tuple[Overlap, bool]] = {}
    beside = {b.name: [o for o in blocks if o.name != b.name and o.overlaps(b)] for b in blocks}
    for one in overlaps:
        pairs[one.written, one.read] = (one, True)
        pairs[one.read, one.written] = (one, False)
    orders = [
        sorted(blocks, key=lambda b: (-b.size_bytes, b.first, b.name)),
        sorted(blocks, key=lambda b: (b.first - b.last, -b.size_bytes, b.name)),
        sorted(blocks, key=lambda b: (-b.size_bytes * (b.last - b.first + 1), b.name)),
        sorted(blocks, key=lambda b: (b.first, -b.size_bytes, b.name)),
        sorted(blocks, key=lambda b: (-b.last, -b.size_bytes, b.name)),
    ]
    orders += _into_one(orders[0], overlaps)
    best_order = orders[0]
    best = _place(best_order, alignment_bytes, pairs, beside)
    for order in orders[1:]:
        candidate = _place(order, alignment_bytes, pairs, beside)
        if _extent(blocks, candidate) < _extent(blocks, best):
            best_order, best = order, candidate
    if _extent(blocks, best) > bound:
        by_time = sorted(blocks, key=lambda b: (b.first, b.last, b.name))
        candidate = _place_from_both_ends(by_time, alignment_bytes, bound, pairs, beside)
        if _extent(blocks, candidate) < _extent(blocks, best):
            best = candidate
    if goal_bytes is not None and bound > goal_bytes:
        return best
    random = Random(len(blocks))
    for _ in range(min(_SEARCH_ROUNDS, _EFFORT // max(len(blocks) ** 2, 1))):
        if _extent(blocks, best) <= least or len(blocks) < 2:
            break
        order = list(best_order)
        source, target = random.sample(range(len(order)), 2)
        order.insert(target, order.pop(source))
        candidate = _place(order, alignment_bytes, pairs, beside)
        if _extent(blocks, candidate) <= _extent(blocks, best):
            best_order, best = order, candidate
    return best


def _into_one(order: Sequence[Block], overlaps: Sequence[Overlap]) -> list[list[Block]]:
    """Returns the order in which two blocks that may run into a third come before it, if any do.

    The shortest-lived is placed lowest, then the others: so the third begins within both.
    """
    writers: dict[str, set[str]] = {}
    for one in overlaps:
        writers.setdefault(one.read, set()).add(one.written)
    found = []
    for read, written in writers.items():
        if len(written) > 1:
            early = sorted(
                (b for b in order if b.name in written),
                key=lambda b: (b.last - b.first, -b.size_bytes, b.name),
            )
            source = [b for b in order if b.name == read]
            rest = [b for b in order if b.name not in written and b.name != read]
            found.append([*early, *source, *rest])
    return found


def _place(
    order: Sequence[Block], alignment_bytes: int, pairs: Pairs, beside: Beside
) -> dict[str, int]:
    offsets: dict[str, int] = {}
    for block in order:
        barred = _barred(beside[block.name], offsets, block, pairs)
        offsets[block.name] = _lowest(barred, alignment_bytes)
    return offsets


def _barred(
    beside: Sequence[Block], offsets: Mapping[str, int], block: Block, pairs: Pairs
) -> list[Span]:
    """Returns the spans in which `block` may not begin, lowest first.

    `offsets` are those of the blocks that are placed already.
    """
    barred: list[Span] = []
    for other in beside:
        if other.name not in offsets:
            continue
        start = offsets[other.name]
        low, high = start - block.size_bytes, start + other.size_bytes
        pair = pairs.get((other.name, block.name))
        if pair is None:
            barred.append((low, high))
            continue
        overlap, is_read = pair
        least, most = overlap.least, overlap.most
        if is_read:
            first = low if least is None else start + least
            last = high if most is None else start + most
        else:
            first = low if most is None else start - most
            last = high if least is None else start - least
        if first > low:
            barred.append((low, min(first, high)))
        if last < high:
            barred.append((max(last, low), high))
    return sorted(barred)


def _lowest(barred: Sequence[Span], alignment_bytes: int) -> int:
    """Returns the lowest offset in no span: spans begin in order, so one pass climbs them."""
    offset = 0
    climbs = True
    while climbs:
        climbs = False
        for low, high in barred:
            if low < offset < high:
                offset = -(-high // alignment_bytes) * alignment_bytes
                climbs = True
            elif offset <= low:
                break
    return offset


def _highest(barred: Sequence[Span], offset: int, alignment_bytes: int) -> int:
    """Returns the highest offset up to `offset` that is in no span; negative if there is none."""
    falls = True
    while falls:
        falls = False
        for low, high in barred:
            if low < offset < high:
                offset = low // alignment_bytes * alignment_bytes
                falls = True
    return offset


def _place_from_both_ends(
    order: Sequence[Block],
    alignment_bytes: int,
    ceiling_bytes: int,
    pairs: Pairs,
    beside: Beside,
) -> dict[str, int]:
    """Places blocks in order of time, in turn at the bottom and under the ceiling.

    In a chain only two tensors are live at once, so this reaches the bound of disjoint blocks.
    """
    ceiling = -(-ceiling_bytes // alignment_bytes) * alignment_bytes
    offsets: dict[str, int] = {}
    for turn, block in enumerate(order):
        barred = _barred(beside[block.name], offsets, block, pairs)
        top = (ceiling - block.size_bytes) // alignment_bytes * alignment_bytes
        high = _highest(barred, top, alignment_bytes)
        low = _lowest(barred, alignment_bytes)
        offsets[block.name] = high if turn % 2 and high >= 0 else low
    return offsets


def _extent(blocks: Sequence[Block], offsets: Mapping[str, int]) -> int:
    return max((offsets[b.name] + b.size_bytes for b in blocks), default=0)
