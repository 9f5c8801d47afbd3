"""The cycles of one basic block, by the way in which its last branch goes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BlockCycles:
    """Cycles from a block's first instruction to the next block's first.

    `taken` where the branch at its end is taken, `untaken` where it is not or there is none.
    `mispredicted` come on top for each execution that goes the rarer of the two ways: the
    model of a predictor that remembers which way a branch goes most.
    """

    taken: int
    untaken: int
    mispredicted: int = 0

    def total(self, executed: int, taken: int) -> int:
        """Returns the cycles of so many executions, after `taken` of which the branch was."""
        untaken = executed - taken
        wrong = self.mispredicted * min(taken, untaken)
        return taken * self.taken + untaken * self.untaken + wrong
