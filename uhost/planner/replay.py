"""Replays the reads and writes of a run on a memory plan, byte by byte.

What an operator reads and writes is recorded where no two live blocks share a byte, so that
every address belongs to one block. On another plan of the same blocks the same accesses fall
elsewhere. That plan is sound for them if every byte that is read there was last written as
the same byte of the same block, as it was where it was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uhost.errors import VerifyError
from uhost.planner.plan import MemoryPlan

Integers = NDArray[np.int64]

_UNWRITTEN = -1


@dataclass(frozen=True, slots=True, eq=False)
class Accesses:
    """The accesses of one operator in their order, one byte each.

    `blocks` are indices of the plan's blocks, `offsets` bytes within them.
    """

    blocks: Integers
    offsets: Integers
    is_write: NDArray[np.bool_]


def check_replay(
    recorded: MemoryPlan, plan: MemoryPlan, inputs: Sequence[str], steps: Sequence[Accesses]
) -> None:
    """Raises `VerifyError` for the first byte that `plan` overwrites before its last read.

    `recorded` is the plan of disjoint blocks that `steps`, one per operator, were recorded on;
    both plans have the same blocks. `inputs` are the blocks written before the first step.
    The blocks that live to the last step must be whole after it.
    """
    names = [block.name for block in plan.blocks]
    if names != [block.name for block in recorded.blocks]:
        raise VerifyError("the plans are of different blocks")
    there, here = _Memory(recorded), _Memory(plan)
    for index, block in enumerate(plan.blocks):
        if block.name in inputs:
            whole = np.arange(block.size_bytes)
            ones = np.full(block.size_bytes, index)
            for memory in (there, here):
                memory.run(Accesses(ones, whole, np.ones(len(whole), np.bool_)))
    for step, accesses in enumerate(steps):
        expected, found = there.run(accesses), here.run(accesses)
        wrong = np.flatnonzero(expected & ~found)
        if len(wrong):
            at = int(wrong[0])
            raise VerifyError(
                f"operator {step} reads byte {accesses.offsets[at]} of "
                f"'{names[accesses.blocks[at]]}' after another has overwritten it"
            )
    last = max((block.last for block in plan.blocks), default=0)
    for index, block in enumerate(plan.blocks):
        if block.last == last and block.first < last and there.holds(index) > here.holds(index):
            raise VerifyError(f"'{block.name}' is not whole after the last operator")


class _Memory:
    """Which byte of which block each byte of an arena holds."""

    def __init__(self, plan: MemoryPlan) -> None:
        sizes = [block.size_bytes for block in plan.blocks]
        self._first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._offsets = np.array([plan.offsets[b.name] for b in plan.blocks], np.int64)
        self._bytes: Integers = np.full(plan.arena_bytes, _UNWRITTEN, np.int64)

    def run(self, accesses: Accesses) -> NDArray[np.bool_]:
        """Carries out accesses; returns for each whether it is a read of what it means to read."""
        meant = self._first[accesses.blocks] + accesses.offsets
        address = self._offsets[accesses.blocks] + accesses.offsets
        order = np.argsort(address, kind="stable")
        ordered, token, write = address[order], meant[order], accesses.is_write[order]
        # The last write to the same byte at or before each access, if there is one.
        place = np.where(write, np.arange(len(order)), _UNWRITTEN)
        start = np.flatnonzero(np.diff(ordered, prepend=-1))
        begins = np.repeat(start, np.diff(np.append(start, len(ordered))))
        latest = np.maximum.accumulate(place) if len(place) else place
        held = np.where(latest >= begins, token[latest], self._bytes[ordered])
        right = np.zeros(len(order), np.bool_)
        right[order] = ~write & (held == token)
        last = np.append(start[1:], len(ordered)) - 1 if len(start) else start
        self._bytes[ordered[last]] = held[last]
        return right

    def holds(self, index: int) -> int:
        """Returns how many bytes of block `index` are where they belong."""
        begin, end = self._first[index], self._first[index + 1]
        place = self._offsets[index]
        held = self._bytes[place : place + end - begin]
        return int((held == np.arange(begin, end)).sum())
