"""Instructions of MEMCPY and MEMSET as newlib has them for Armv7-M, along the path they take.

The call itself is counted, its arguments are not. Addresses count by their distance to a word.
"""

from __future__ import annotations

from uhost.targets._work import Work


def copying(size: int, source: int = 0, target: int = 0) -> Work:
    """Returns a call of MEMCPY for `size` bytes from `source` to `target`.

    Words are copied whatever their addresses; only where the two ends differ in theirs, and
    neither is at a word, single bytes come first until the target is.
    """
    work = Work(alu=3, branch=2, untaken=1)
    if (source - target) % 4:
        if size < 8:
            work += Work(alu=2, branch=2)
            if size >= 4:
                single = size - 3
                work += Work(alu=1 + single, load=single + 3, store=single + 3, branch=single)
                return work + Work(alu=1, untaken=1)
            return work + _last_bytes(size)
        work += Work(alu=2, branch=1, untaken=1)
        if source % 4:
            work += Work(alu=1, branch=1)
            head = -target % 4
            if head:
                work += Work(alu=4, load=1, store=1, branch=1)
                if head > 1:
                    work += Work(load=1, store=1, branch=1)
            size -= head
    work += Work(alu=3, branch=2, untaken=1)
    words = size // 4
    # Blocks of sixteen words, then of four, then single ones: each counts and branches.
    blocks = words // 16 + words % 16 // 4 + words % 4
    work += Work(load=1, store=1) * words + Work(alu=1, branch=1) * blocks
    return work + _last_bytes(size % 4)


def _last_bytes(size: int) -> Work:
    work = Work(alu=2, branch=2)
    if size:
        work += Work(alu=2, load=1, store=1, branch=1)
    if size > 1:
        work += Work(load=1, store=1)
    return work


def filling(size: int, target: int = 0) -> Work:
    """Returns a call of MEMSET for `size` bytes at `target`.

    Single bytes come first until the target is at a word, then sixteen bytes at a time.
    """
    work = Work(alu=1, load_many=1, store_many=1, words=6, branch=1)
    head = min(-target % 4, size)
    if head:
        work += Work(alu=4, branch=1, untaken=2)
        work += Work(alu=2, store=1, branch=1, untaken=1) * head
        size -= head
    else:
        work += Work(alu=2, branch=2)
    blocks, words, rest = size // 16, size % 16 // 4, size % 4
    single = Work(alu=1, store=1, branch=1)
    work += Work(alu=1, untaken=1)
    if size >= 4:
        work += Work(alu=4, untaken=1)
        work += (
            Work(alu=10, untaken=1) + Work(alu=2, store=4, branch=1) * blocks
            if blocks
            else (Work(alu=2, branch=1))
        )
        if words:
            work += Work(alu=5) + single * words
        else:
            work += Work(alu=3)
        work += Work(untaken=1)
    if rest:
        work += Work(alu=2) + single * rest
    return work
