"""Which of several memory pools the arena or the weights go into."""

from __future__ import annotations

from collections.abc import Sequence

from uhost.config.compilation import Pool
from uhost.errors import OutOfMemoryError


def has_room(pool: Pool, needed_bytes: int) -> bool:
    """True if the pool holds `needed_bytes`."""
    return pool.size_bytes is None or needed_bytes <= pool.size_bytes


def by_room(pools: Sequence[Pool]) -> tuple[Pool, ...]:
    """Returns `pools` in the order in which they are tried: the largest once more at the end.

    So the last one tried, where none has room, is the one that lacks the least.
    """
    largest = max(pools, key=lambda p: float("inf") if p.size_bytes is None else p.size_bytes)
    return (*pools, largest) if len(pools) > 1 else tuple(pools)


def check_room(what: str, pools: Sequence[Pool], needed_bytes: int, board: str) -> Pool:
    """Returns the first pool that holds `needed_bytes` of `what`.

    Raises `OutOfMemoryError` with what the largest of them lacks.
    """
    for pool in pools:
        if has_room(pool, needed_bytes):
            return pool
    largest = by_room(pools)[-1]
    size = largest.size_bytes or 0
    raise OutOfMemoryError(
        f"{what} not fit: the pool '{largest.name}' has {size:,} B, {needed_bytes:,} B are needed, "
        f"{needed_bytes - size:,} B are missing",
        where=f"board '{board}', pools: {', '.join(pool.name for pool in pools)}",
        fix="enlarge the pool, add another, or choose a smaller model",
    )
