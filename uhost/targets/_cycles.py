"""What a cycle model of a core is, and which cores have one.

A model says how many cycles instructions take that are fetched and whose data arrive
without waiting: flash without wait states, caches and tightly coupled memory that always
hit. It is built from public documents alone and is a model, not silicon;
`docs/cycle-models.md` has the rules, their sources and what they leave out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from uhost.targets._block_cycles import BlockCycles
from uhost.targets._cycles_dual_issue import CORTEX_M7
from uhost.targets._cycles_helium import CORTEX_M55
from uhost.targets._cycles_single_issue import (
    CORTEX_M0,
    CORTEX_M0PLUS,
    CORTEX_M3,
    CORTEX_M4,
    CORTEX_M33,
)
from uhost.targets._instruction import Instruction
from uhost.targets._work import Work


class CycleModel(Protocol):
    """The cycles of instructions on one core."""

    @property
    def core(self) -> str:
        """The core's name, as `Target.cpu` has it."""

    def estimate(self, work: Work) -> int:
        """Returns the cycles of stated work, whose order is not known."""

    def block(self, instructions: Sequence[Instruction]) -> BlockCycles:
        """Returns the cycles of a basic block of at least one instruction."""


def cycle_model(cpu: str) -> CycleModel | None:
    """Returns the model of a CPU of `uhost.targets`, or None where there is none."""
    models: tuple[CycleModel, ...] = (
        CORTEX_M0,
        CORTEX_M0PLUS,
        CORTEX_M3,
        CORTEX_M4,
        CORTEX_M33,
        CORTEX_M7,
        CORTEX_M55,
    )
    core = cpu.partition("+")[0]
    return next((model for model in models if model.core == core), None)
