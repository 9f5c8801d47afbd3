"""Cycle model of the Cortex-M55: one instruction a cycle, vectors in two beats.

The facts are those of LLVM's scheduling model of the core, which Arm contributed. A
vector instruction holds its pipe (load and store, integer, multiply and float) for two
cycles, and one for another pipe may start in the second of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from uhost.targets._work import Work

_BEATS = 2


@dataclass(frozen=True, slots=True)
class Helium:
    """An in-order core whose vector pipes overlap. `branch` is a taken branch."""

    core: str
    branch: int = 3
    divide: int = 7

    def estimate(self, work: Work) -> int:
        """Returns the cycles of stated work: vectors alternate between pipes where they can."""
        scalar = work.multiply + work.alu + work.load + work.store + work.words + work.untaken
        scalar += work.float_alu + work.float_multiply
        scalar += self.divide * work.divide + self.branch * work.branch
        memory = work.vector_load + work.vector_store
        vectors = work.vector_alu + work.vector_multiply + memory
        return scalar + max(vectors, _BEATS * max(work.vector_alu, work.vector_multiply, memory))


CORTEX_M55 = Helium("cortex-m55")
