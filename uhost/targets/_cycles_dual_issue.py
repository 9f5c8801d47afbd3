"""Cycle model of the Cortex-M7, which issues up to two instructions a cycle, in order.

Arm publishes no instruction timings for it. The facts (which pipes there are, what must
issue alone, how long a result takes) are those of LLVM's scheduling model of the core,
which Arm contributed.
"""

from __future__ import annotations

from dataclasses import dataclass

from uhost.targets._work import Work


@dataclass(frozen=True, slots=True)
class DualIssue:
    """An in-order core with two ALUs, two load pipes, and one pipe of everything else.

    `pairs_percent` of the instructions that may share a cycle with another do, in code
    whose order is not known.
    """

    core: str
    pairs_percent: int = 50
    divide: int = 7

    def estimate(self, work: Work) -> int:
        """Returns the cycles of stated work, whose order is not known.

        Loads and stores of several registers issue alone and move two registers a cycle.
        The rest is bounded by its busiest pipe, and by the pairs that it finds.
        """
        alone = self.divide * work.divide + (work.words + 1) // 2
        floats = work.float_alu + work.float_multiply
        others = work.multiply + work.alu + work.load + work.store + floats
        others += work.branch + work.untaken
        issued = (others * (200 - self.pairs_percent) + 199) // 200
        return alone + max(issued, work.multiply, work.store, floats, work.branch + work.untaken)


CORTEX_M7 = DualIssue("cortex-m7")
