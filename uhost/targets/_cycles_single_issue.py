"""Cycle models of cores that issue one instruction at a time: M0, M0+, M3, M4, M33.

The figures are those of the instruction set summaries in Arm's technical reference
manuals: DDI 0432 (M0), DDI 0484 (M0+), DDI 0337 (M3), DDI 0439 (M4). Arm publishes none
for the M33, whose pipeline has the M4's shape, and LLVM schedules it as an M4: so does this
model.
"""

from __future__ import annotations

from dataclasses import dataclass

from uhost.targets._work import Work


@dataclass(frozen=True, slots=True)
class SingleIssue:
    """Cycles by class of instruction.

    `load` is a load on its own and `load_behind` one right behind another load; of stated
    work, whose order is not known, every other load counts as the one and the rest as the
    other. LDM and STM take one cycle and `word` more per register. `branch` is a taken
    branch with the refill of the pipeline, `multiply_accumulate` counts for MLA and MLS.
    Divisions, which take 2 to 12 cycles by their operands, count with the middle.
    """

    core: str
    load: int
    load_behind: int
    store: int
    branch: int
    multiply: int = 1
    divide: int = 7
    float_multiply: int = 1

    def estimate(self, work: Work) -> int:
        """Returns the cycles of stated work, whose order is not known."""
        loads = work.load * (self.load + self.load_behind) // 2
        several = work.load_many + work.store_many + work.words
        return (
            work.alu
            + work.untaken
            + self.multiply * work.multiply
            + self.divide * work.divide
            + loads
            + self.store * work.store
            + several
            + self.branch * work.branch
            + work.float_alu
            + self.float_multiply * work.float_multiply
        )


CORTEX_M0 = SingleIssue("cortex-m0", load=2, load_behind=2, store=2, branch=3)
CORTEX_M0PLUS = SingleIssue("cortex-m0plus", load=2, load_behind=2, store=2, branch=2)
CORTEX_M3 = SingleIssue("cortex-m3", load=2, load_behind=1, store=1, branch=3, multiply=2)
CORTEX_M4 = SingleIssue("cortex-m4", load=2, load_behind=1, store=1, branch=3, float_multiply=3)
CORTEX_M33 = SingleIssue("cortex-m33", load=2, load_behind=1, store=1, branch=3, float_multiply=3)
